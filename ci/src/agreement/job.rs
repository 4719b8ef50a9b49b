//! What is compared: jobs that both tools can do alike, and how each is told.

use std::path::{Path, PathBuf};

use crate::step::Step;

/// One job, the same for both.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    operation: &'static str,
    random: bool,
    /// Bytes of a request, as text and as number.
    block: &'static str,
    pub(super) bytes: u64,
    extra: Extra,
    size: &'static str,
    /// How often the file is gone through: a single pass is slower with both tools.
    times: u32,
}

/// What the files lie on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Memory,
    Disk,
}

/// Who does it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tool {
    Bench,
    Fio,
}

#[derive(Clone, Copy, PartialEq)]
enum Extra {
    Nothing,
    Direct,
    Sync,
}

/// How much is done.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    size: &'static str,
    times: u32,
}

impl Job {
    /// What is measured.
    pub(super) const fn full(&self) -> Amount {
        Amount { size: self.size, times: self.times }
    }

    /// Enough to see which calls there are.
    pub(super) fn little(&self) -> Amount {
        Amount { size: "8M", times: self.times.min(2) }
    }

    /// Whether the order of requests is each tool's own.
    pub(super) const fn is_random(&self) -> bool {
        self.random
    }

    /// The command of one tool, on the directory or on what lies there to be read.
    pub(super) fn step(
        &self,
        tool: Tool,
        program: &Path,
        directory: &Path,
        left: &[PathBuf; 2],
        amount: Amount,
    ) -> Step {
        let left = &left[usize::from(self.place == Place::Disk)];
        match tool {
            Tool::Bench => self.bench(Step::new(program).arg("bench"), directory, left, amount),
            Tool::Fio => self.fio(Step::new("fio"), directory, left, amount),
        }
    }

    fn bench(&self, step: Step, directory: &Path, left: &Path, amount: Amount) -> Step {
        let pattern = if self.random { "random" } else { "contiguous" };
        let step = step.args(["-n", "1", "--format", "csv", "-p", pattern, "-r", self.block]);
        let step = step.args(["-s", amount.size, "--periods", &amount.times.to_string()]);
        let step = step.args(["--operation", self.operation]);
        let step = match self.extra {
            Extra::Nothing => step,
            Extra::Direct => step.arg("--direct"),
            Extra::Sync => step.arg("--fsync"),
        };
        match self.operation {
            "read" => step.args(["--caches", "keep", "--reuse"]).arg(left),
            _ => step.arg(directory),
        }
    }

    /// fio's defaults that have nothing to do with the requests are switched off: a buffer that need not
    /// begin at a page (reads of 1 MiB are up to a sixth slower), changes to it before each request,
    /// space allocated beforehand, hints to the kernel, pages forgotten within the measured time.
    fn fio(&self, step: Step, directory: &Path, left: &Path, amount: Amount) -> Step {
        let order = if self.random { "rand" } else { "" };
        let file = match self.operation {
            "read" => left.join(LEFT),
            _ => directory.join(WRITTEN),
        };
        let step = step.args(["--name=agreement", "--minimal", "--ioengine=psync"]).args([
            "--iomem_align=4k",
            "--scramble_buffers=0",
            "--fallocate=none",
            "--fadvise_hint=0",
            "--invalidate=0",
        ]);
        let step = step.args([
            format!("--rw={order}{}", self.operation),
            format!("--bs={}", self.block),
            format!("--size={}", amount.size),
            format!("--loops={}", amount.times),
            format!("--filename={}", file.display()),
        ]);
        match self.extra {
            Extra::Nothing => step,
            Extra::Direct => step.arg("--direct=1"),
            Extra::Sync => step.arg("--end_fsync=1"),
        }
    }
}

/// Bytes a second in what a tool printed, in millions.
pub(super) fn rate(tool: Tool, output: &str) -> Option<f64> {
    let number = |text: Option<&&str>| text?.parse::<f64>().ok();
    match tool {
        Tool::Bench => {
            let mut lines = output.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let all = lines.find(|fields| fields.get(6) == Some(&"all"))?;
            Some(number(all.get(9))? / number(all.get(8))? * 1e3)
        }
        // KiB and milliseconds, of reads and of writes; one of them is nothing.
        Tool::Fio => {
            let line = output.lines().rfind(|line| line.starts_with("3;"))?;
            let fields: Vec<_> = line.split(';').collect();
            let sum = |read, write| Some(number(fields.get(read))? + number(fields.get(write))?);
            Some(sum(5, 46)? * 1024.0 / sum(8, 49)? / 1e3)
        }
    }
}

const fn memory(name: &'static str, operation: &'static str, block: &'static str, kib: u64) -> Job {
    Job {
        name,
        place: Place::Memory,
        operation,
        random: false,
        block,
        bytes: kib << 10,
        extra: Extra::Nothing,
        size: READ_SIZE,
        times: 4,
    }
}

/// A file that is written over and over: finding room for it is a matter of what else the machine has in
/// memory, and differs by more from run to run than the tools do.
const fn rewrite(name: &'static str, block: &'static str, kib: u64) -> Job {
    Job { size: "64M", times: 96, ..memory(name, "write", block, kib) }
}

pub(super) const JOBS: &[Job] = &[
    memory("memory read 64K", "read", "64K", 64),
    memory("memory read 256K", "read", "256K", 256),
    memory("memory read 1M", "read", "1M", 1024),
    Job { random: true, ..memory("memory random read 32K", "read", "32K", 32) },
    rewrite("memory write 32K", "32K", 32),
    rewrite("memory write 256K", "256K", 256),
    Job {
        place: Place::Disk,
        extra: Extra::Direct,
        times: 2,
        ..memory("disk read 1M direct", "read", "1M", 1024)
    },
    Job {
        place: Place::Disk,
        extra: Extra::Direct,
        times: 8,
        ..rewrite("disk write 256K direct", "256K", 256)
    },
    Job {
        place: Place::Disk,
        extra: Extra::Sync,
        times: 4,
        ..rewrite("disk write 256K fsync", "256K", 256)
    },
    Job { place: Place::Disk, times: 32, ..memory("disk read 256K cached", "read", "256K", 256) },
];

/// The file that is read; a multiple of every request.
pub(super) const READ_SIZE: &str = "512M";
/// What `iofwd bench --keep` calls it.
const LEFT: &str = "A.shared";
/// What fio writes.
pub(super) const WRITTEN: &str = "fio.written";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_taken_from_what_the_tools_print() {
        let mut fields = vec!["0"; 130];
        (fields[0], fields[5], fields[8]) = ("3", "1000", "2");
        let terse = format!("a warning\n{}\n", fields.join(";"));
        assert_eq!(rate(Tool::Fio, &terse), Some(512.0));
        let csv = "order,...\n0,0,,false,A,read,all,7,1000,5000\n0,0,,false,A,read,0,7,1,1\n";
        assert_eq!(rate(Tool::Bench, csv), Some(5000.0));
        assert_eq!(rate(Tool::Bench, "nothing"), None);
    }
}
