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
    let cluster = Cluster::start(site, &program, &area, Some(DEVICE))?;
    let mut runs = Vec::new();
    for round in 0..site.rounds {
        for (pattern, name) in PATTERNS.iter().zip(&left) {
            for turn in 0..POLICIES.len() {
                let policy = POLICIES[(turn + round) % POLICIES.len()];
                runs.push(load.read(&cluster, name, pattern, policy)?);
            }
        }
        println!("   round {} of {}", round + 1, site.rounds);
    }
    cluster.stop()?;
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
        let cluster = Cluster::start(self.site, self.program, area, None)?;
        let points = cluster.points();
        let mut left = Vec::new();
        for pattern in PATTERNS {
            self.bench(pattern, &points, &["--operation", "write", "--keep"])?;
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
        Ok(Run { pattern, policy, makespan, counts: cluster.counts()? - before })
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
        "   {:18} {:6} {:>10} {:>9} {:>12} {:>14} {:>12}",
        "", "policy", "makespan", "vs fifo", "request KiB", "windows met %", "time met %"
    );
    for pattern in PATTERNS {
        let fifo = median(runs, pattern, POLICIES[0], |run| run.makespan);
        for policy in POLICIES {
            let of = |what: fn(&Run) -> f64| median(runs, pattern, policy, what);
            let makespan = of(|run| run.makespan);
            println!(
                "   {pattern:18} {policy:6} {makespan:>8.3} s {:>+8.1}% {:>12.1} {:>14.1} {:>12.1}",
                100.0 * (makespan / fifo - 1.0),
                of(|run| run.counts.size_kib()),
                of(|run| run.counts.shared_windows()),
                of(|run| run.counts.shared_time()),
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
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

const PATTERNS: [&str; 3] = ["strided", "contiguous", "file-per-process"];
const POLICIES: [&str; 3] = ["fifo", "hbrr", "twins"];
const PROCESSES: &str = "64";
const SIZE: &str = "64M";
/// A disk that takes one command at a time, as behind a server that does.
const DEVICE: &str = "hdd,depth=1";
/// What the thesis measured with windows of 1 ms, about.
const SIZE_BAR_KIB: f64 = 120.0;
const SLOWER_BAR: f64 = 1.03;
