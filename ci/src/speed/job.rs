//! What is measured: small and large direct I/O by fio, metadata by our own load, and reading
//! again what the page cache has.

use std::path::Path;

use crate::site::Site;
use crate::speed::load;
use crate::step::Step;

/// One row of the table.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    kind: Kind,
    jobs: usize,
}

enum Kind {
    Fio { rw: &'static str, block: &'static str, direct: bool },
    Metadata,
}

impl Job {
    /// Its result on a directory, in its unit.
    pub(crate) fn run(&self, site: &Site, directory: &Path) -> Result<f64, String> {
        match &self.kind {
            Kind::Fio { rw, block, direct } => {
                let output = self.fio(rw, block, *direct).arg("--directory").arg(directory);
                let output = output.quiet().run(site)?;
                self.value(&output).ok_or_else(|| format!("fio gave no result: {output}"))
            }
            Kind::Metadata => load::measure(site, directory, self.jobs, SECONDS),
        }
    }

    fn fio(&self, rw: &str, block: &str, direct: bool) -> Step {
        Step::new("fio").args(FILES).args(["--time_based", "--minimal", "--group_reporting"]).args(
            [
                format!("--rw={rw}"),
                format!("--bs={block}"),
                format!("--direct={}", u8::from(direct)),
                format!("--numjobs={}", self.jobs),
                format!("--runtime={}ms", SECONDS * 1000.0),
            ],
        )
    }

    /// fio's terse line: bandwidth in KiB/s and operations per second, of reads, then of writes.
    fn value(&self, output: &str) -> Option<f64> {
        let line = output.lines().rfind(|line| line.starts_with("3;"))?;
        let fields: Vec<_> = line.split(';').collect();
        let number = |index: usize| fields.get(index)?.parse::<f64>().ok();
        if self.unit == "MB/s" {
            Some((number(6)? + number(47)?) * 1024.0 / 1e6)
        } else {
            Some(number(7)? + number(48)?)
        }
    }
}

/// Lays out the files that all jobs use, so that none measures allocation.
pub(crate) fn prepare(site: &Site, directory: &Path) -> Result<(), String> {
    let layout = ["--rw=write", "--bs=1m", "--numjobs=8"];
    let step = Step::new("fio").args(FILES).args(layout).arg("--directory").arg(directory);
    step.quiet().run(site).map(drop)
}

const fn fio(name: &'static str, rw: &'static str, block: &'static str, jobs: usize) -> Job {
    let unit = if block.len() == 2 && block.as_bytes()[1] == b'm' { "MB/s" } else { "/s" };
    Job { name, unit, kind: Kind::Fio { rw, block, direct: true }, jobs }
}

pub(crate) const JOBS: &[Job] = &[
    fio("4k-random-read-1", "randread", "4k", 1),
    fio("4k-random-read-8", "randread", "4k", 8),
    fio("4k-random-write-1", "randwrite", "4k", 1),
    fio("4k-random-write-8", "randwrite", "4k", 8),
    fio("1m-sequential-read-1", "read", "1m", 1),
    fio("1m-sequential-read-8", "read", "1m", 8),
    fio("1m-sequential-write-1", "write", "1m", 1),
    fio("1m-sequential-write-8", "write", "1m", 8),
    Job { name: "metadata-1", unit: "/s", kind: Kind::Metadata, jobs: 1 },
    Job { name: "metadata-8", unit: "/s", kind: Kind::Metadata, jobs: 8 },
    Job {
        name: "re-read",
        unit: "MB/s",
        kind: Kind::Fio { rw: "read", block: "128k", direct: false },
        jobs: 1,
    },
];

/// Those that no cache may answer.
pub(crate) const UNCACHED_JOBS: &[Job] = JOBS.split_at(JOBS.len() - 1).0;

const SECONDS: f64 = 1.5;

/// The page cache is left as it is, and nothing waits for a disk.
const FILES: [&str; 5] = [
    "--name=speed",
    "--size=32m",
    "--ioengine=psync",
    "--invalidate=0",
    "--filename_format=speed.$jobnum",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_taken_from_the_terse_line() {
        let mut fields = vec!["0"; 130];
        (fields[0], fields[6], fields[7], fields[47], fields[48]) = ("3", "2000", "10", "0", "5");
        let line = format!("fio: a warning\n{}\n", fields.join(";"));
        assert_eq!(JOBS[0].value(&line), Some(15.0));
        assert_eq!(JOBS[4].value(&line), Some(2.048));
        assert_eq!(JOBS[0].value("fio: no line"), None);
    }
}
