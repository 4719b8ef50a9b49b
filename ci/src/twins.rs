//! TWINS end to end: 64 processes read through four agents from four data servers as slow as disks. The
//! policies take turns within each round, so that what drifts meanwhile hits all of them alike.

mod cluster;
mod counts;

use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::program::Program;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

use cluster::{COUNT, Cluster, WINDOW};
use counts::Counts;

pub(crate) fn twins(site: &Site) -> Verdict {
    let (Program::Iofwd(program) | Program::Remote { path: program, .. }) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself has agents and servers".into()));
    };
    let area = Area::in_memory(site, "twins")?;
    let load = Load { site, program: &program };
    let left = load.lay_out(&area)?;
    let mut runs = Vec::new();
    for round in 0..site.rounds {
        let cluster = Cluster::start(site, &program, &area, &devices(round))?;
        for (pattern, name) in PATTERNS.iter().zip(&left) {
            for turn in 0..POLICIES.len() {
                let policy = POLICIES[(turn + round) % POLICIES.len()];
                runs.push(load.read(&cluster, name, pattern, policy)?);
            }
        }
        cluster.stop()?;
        println!("   round {} of {}", round + 1, site.rounds);
    }
    area.clear();
    judge(&runs)
}

/// One run of one policy.
struct Run {
    pattern: &'static str,
    policy: &'static str,
    makespan: f64,
    counts: Counts,
}

/// What is read.
struct Load<'a> {
    site: &'a Site,
    program: &'a Path,
}

impl Load<'_> {
    /// Writes the files of every pattern, to servers that are as fast as they can be. Where they lie.
    fn lay_out(&self, area: &Area) -> Result<Vec<String>, String> {
        let cluster = Cluster::start(self.site, self.program, area, &[])?;
        let points = cluster.points();
        let mut left = Vec::new();
        for pattern in PATTERNS {
            self.bench(pattern, &points, &["--operation", "write", "--keep", "--verify"])?;
            let made = directories(&points[0])?;
            left.extend(made.into_iter().filter(|name| !left.contains(name)).collect::<Vec<_>>());
        }
        cluster.stop()?;
        Ok(left)
    }

    fn read(
        &self,
        cluster: &Cluster<'_>,
        name: &str,
        pattern: &'static str,
        policy: &'static str,
    ) -> Result<Run, String> {
        cluster.set_policy(policy)?;
        let ways: Vec<PathBuf> = cluster.points().iter().map(|point| point.join(name)).collect();
        let before = cluster.counts()?;
        let options = ["--operation", "read", "--reuse", "--caches", "keep", "--verify"];
        let makespan = self.bench(pattern, &ways, &options)?;
        let run = Run { pattern, policy, makespan, counts: cluster.counts()? - before };
        println!(
            "   {pattern:18} {policy:6} {makespan:>8.3} s {:>12.1} KiB",
            run.counts.size_kib()
        );
        Ok(run)
    }

    /// How many seconds it took.
    fn bench(&self, pattern: &str, ways: &[PathBuf], options: &[&str]) -> Result<f64, String> {
        let step = Step::new(self.program).args(["bench", "--format", "csv", "--seed", "1"]);
        let step = step.args(["-n", PROCESSES, "-r", "32K", "-s", SIZE, "-p", pattern]);
        let others = ways[1..].iter().map(|way| format!("--also={}", way.display()));
        let step = step.args(options).args(others).arg(&ways[0]).limit(300).quiet();
        let table = step.run(self.site)?;
        let all = table.lines().find(|line| line.split(',').nth(6) == Some("all"));
        let nanos = all.and_then(|line| line.split(',').nth(7)?.parse::<f64>().ok());
        nanos.map(|nanos| nanos / 1e9).ok_or_else(|| format!("no makespan in:\n{table}"))
    }
}

/// Other disks in every round: how far apart the files lie on them, and where they have turned to when
/// something is wanted, is luck, and helps one order more than another.
fn devices(round: usize) -> Vec<String> {
    (1..=COUNT).map(|number| format!("{DEVICE},places={}", round * COUNT + number)).collect()
}

fn directories(place: &Path) -> Result<Vec<String>, String> {
    let explain = |e: std::io::Error| format!("{}: {e}", place.display());
    let names = std::fs::read_dir(place).map_err(explain)?;
    names.map(|name| Ok(name.map_err(explain)?.file_name().to_string_lossy().into())).collect()
}

/// Prints what was found, and holds it against the bars.
fn judge(runs: &[Run]) -> Verdict {
    println!(
        "   {COUNT} agents, {COUNT} servers with {DEVICE}, {PROCESSES} processes, 32K reads of {SIZE}"
    );
    println!(
        "   {:18} {:6} {:>10} {:>9} {:>12} {:>14} {:>12} {:>7}",
        "", "policy", "makespan", "vs fifo", "request KiB", "windows met %", "time met %", "busy %"
    );
    for pattern in PATTERNS {
        let fifo = median(runs, pattern, POLICIES[0], |run| run.makespan);
        for policy in POLICIES {
            let of = |what: fn(&Run) -> f64| median(runs, pattern, policy, what);
            let makespan = of(|run| run.makespan);
            println!(
                "   {pattern:18} {policy:6} {makespan:>8.3} s {:>+8.1}% {:>12.1} {:>14.1} {:>12.1} {:>7.1}",
                100.0 * (makespan / fifo - 1.0),
                of(|run| run.counts.size_kib()),
                of(|run| run.counts.shared_windows()),
                of(|run| run.counts.shared_time()),
                of(|run| run.counts.busy(run.makespan * COUNT as f64)),
            );
        }
    }
    let missed = missed(runs);
    if missed.is_empty() {
        let note = format!("windows of {WINDOW}, {} runs, medians", runs.len());
        Ok(Outcome::Passed(note))
    } else {
        Err(missed.join("; "))
    }
}

/// The bars that do not hold.
fn missed(runs: &[Run]) -> Vec<String> {
    let mut missed = Vec::new();
    let makespan = |pattern, policy| median(runs, pattern, policy, |run| run.makespan);
    let [strided, others @ ..] = PATTERNS;
    for other in ["fifo", "hbrr"] {
        if makespan(strided, "twins") >= makespan(strided, other) {
            missed.push(format!("{strided}: twins is not faster than {other}"));
        }
    }
    let size = median(runs, strided, "twins", |run| run.counts.size_kib());
    if size < SIZE_BAR_KIB {
        missed.push(format!("{strided}: {size:.0} KiB leave the agents, bar {SIZE_BAR_KIB}"));
    }
    for pattern in others {
        let ratio = makespan(pattern, "twins") / makespan(pattern, "fifo");
        if ratio > SLOWER_BAR {
            missed.push(format!("{pattern}: twins takes {ratio:.3} of fifo, bar {SLOWER_BAR}"));
        }
    }
    missed
}

fn median(runs: &[Run], pattern: &str, policy: &str, what: impl Fn(&Run) -> f64) -> f64 {
    let these = runs.iter().filter(|run| run.pattern == pattern && run.policy == policy);
    let mut values: Vec<f64> = these.map(what).collect();
    values.sort_by(f64::total_cmp);
    let [lower, upper] = [values.len().saturating_sub(1) / 2, values.len() / 2];
    match (values.get(lower), values.get(upper)) {
        (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
        _ => f64::NAN,
    }
}

const PATTERNS: [&str; 3] = ["strided", "contiguous", "file-per-process"];
const POLICIES: [&str; 3] = ["fifo", "hbrr", "twins"];
const PROCESSES: &str = "64";
const SIZE: &str = "128M";
/// A disk that takes one command at a time, as behind a server that does.
const DEVICE: &str = "hdd,depth=1";
/// What the thesis measured with windows of 1 ms, about.
const SIZE_BAR_KIB: f64 = 120.0;
const SLOWER_BAR: f64 = 1.03;

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(makespans: [f64; 3], size_kib: f64) -> Vec<Run> {
        let report = format!(
            "device_commands 1\ndevice_bytes {}\nwindows_used 1\nwindows_shared 0\nused_ns 1\n\
             shared_ns 0\ndevice_busy_ns 1\n",
            size_kib * 1024.0
        );
        let counts = Counts::parse(&report).unwrap();
        let each = |pattern| {
            let policies = POLICIES.into_iter().zip(makespans);
            policies.map(move |(policy, makespan)| Run { pattern, policy, makespan, counts })
        };
        PATTERNS.into_iter().flat_map(each).collect()
    }

    #[test]
    fn bars_that_do_not_hold_are_named() {
        assert_eq!(missed(&runs([2.0, 2.0, 1.0], 121.0)), [""; 0]);
        let missed = missed(&runs([1.0, 1.2, 1.1], 100.0));
        assert_eq!(missed.len(), 4, "{missed:?}");
        assert_eq!(missed[0], "strided: twins is not faster than fifo");
        assert_eq!(missed[1], "strided: 100 KiB leave the agents, bar 120");
        assert_eq!(missed[2], "contiguous: twins takes 1.100 of fifo, bar 1.03");
    }

    #[test]
    fn a_median_lies_in_the_middle() {
        let mut all = runs([3.0, 3.0, 3.0], 1.0);
        all.extend(runs([1.0, 1.0, 1.0], 1.0));
        assert_eq!(median(&all, "strided", "fifo", |run| run.makespan), 2.0);
        all.extend(runs([9.0, 9.0, 9.0], 1.0));
        assert_eq!(median(&all, "strided", "fifo", |run| run.makespan), 3.0);
    }
}
