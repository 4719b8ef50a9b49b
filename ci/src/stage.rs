//! The stages, in the order of the default run: cheap ones first, and a failing one does not keep
//! the others from running.

use std::fmt;
use std::time::Instant;

use crate::site::Site;
use crate::{agreement, cargo, crowd, judge, overload, package, packages, speed, twins};

/// One thing that is checked.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    about: &'static str,
    /// Whether `cargo ci` without a name runs it.
    by_default: bool,
    /// Whether it mounts, which not every machine allows.
    mounts: bool,
    run: fn(&Site) -> Verdict,
}

/// How a stage ended, or why it failed.
pub(crate) type Verdict = Result<Outcome, String>;

/// How a stage that did not fail ended.
pub(crate) enum Outcome {
    /// With what is worth knowing about it.
    Passed(String),
    /// With the reason.
    Skipped(String),
}

/// How many stages ended how.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    pub(crate) failed: usize,
    skipped: usize,
    pub(crate) failures: Vec<&'static str>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

/// Prints what stages there are.
pub(crate) fn list() {
    for stage in STAGES {
        let note = if stage.by_default { "" } else { " (only when named)" };
        println!("{:16} {}{note}", stage.name, stage.about);
    }
}

/// The stages of those names, or those of the default run.
pub(crate) fn choose(names: &[String]) -> Result<Vec<&'static Stage>, String> {
    if names.is_empty() {
        return Ok(STAGES.iter().filter(|stage| stage.by_default).collect());
    }
    let find = |name: &String| {
        let stage = STAGES.iter().find(|stage| stage.name == *name);
        stage.ok_or_else(|| format!("no stage '{name}'; `cargo ci list` lists them"))
    };
    names.iter().map(find).collect()
}

/// Runs the stages one after the other.
pub(crate) fn run_all(site: &Site, stages: &[&'static Stage]) -> Tally {
    let mut tally = Tally::default();
    for stage in stages {
        println!("== {}: {}", stage.name, stage.about);
        let start = Instant::now();
        site.enter(stage.name);
        let verdict = match site.cannot_mount() {
            Some(why) if stage.mounts => Ok(Outcome::Skipped(why.into())),
            _ => (stage.run)(site),
        };
        let seconds = start.elapsed().as_secs_f64();
        match verdict {
            Ok(Outcome::Passed(note)) => {
                tally.passed += 1;
                println!("ok {} in {seconds:.1} s{}", stage.name, after_colon(&note));
            }
            Ok(Outcome::Skipped(reason)) => {
                tally.skipped += 1;
                println!("SKIPPED {}{}", stage.name, after_colon(&reason));
            }
            Err(failure) => {
                tally.failed += 1;
                tally.failures.push(stage.name);
                println!("FAILED {} in {seconds:.1} s{}", stage.name, after_colon(&failure));
            }
        }
    }
    tally
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

const fn stage(name: &'static str, about: &'static str, run: fn(&Site) -> Verdict) -> Stage {
    Stage { name, about, by_default: true, mounts: false, run }
}

const fn judge(name: &'static str, about: &'static str, run: fn(&Site) -> Verdict) -> Stage {
    Stage { name, about, by_default: true, mounts: true, run }
}

const fn named(name: &'static str, about: &'static str, run: fn(&Site) -> Verdict) -> Stage {
    Stage { name, about, by_default: false, mounts: true, run }
}

const STAGES: &[Stage] = &[
    stage("format", "the sources are as rustfmt writes them", cargo::format),
    stage("packages", "the tools that the judges need are there", packages::install),
    stage("lint", "clippy has nothing to say, in any target", cargo::lint),
    stage("test", "the tests of the workspace", cargo::test),
    stage("build", "the release build", cargo::build),
    stage("package", "the Debian package, in target/", package::build),
    judge("package-trial", "installed on a copy of this system, used, removed", package::try_it),
    judge("guide", "the operator's guide, typed on five nodes with the package", package::guide),
    judge("demo", "the demonstration of the README leaves nothing behind", judge::demo),
    judge("idle", "an idle mount uses next to no processor", judge::idle),
    judge("helper", "mount(8), an fstab line, and unmounting by hand", judge::helper),
    judge("user", "an ordinary user mounts", judge::user),
    judge("pjdfstest", "POSIX, call by call, as the bare directory has it", judge::pjdfstest),
    judge("trees", "tar and rsync carry a tree with everything in it", judge::trees),
    judge("git", "clone, check, commit", judge::git),
    judge("cargo-build", "a crate is built and run on the mount", judge::cargo_build),
    judge("sqlite", "write-ahead log, memory mapping, concurrent writers", judge::sqlite),
    judge("dbench", "the load of a file server", judge::dbench),
    judge("fio", "what was written is read, 32 KiB and 1 MiB, direct and buffered", judge::fio),
    judge("memory", "64 writers, and memory stays bounded", judge::memory),
    judge("fsx", "100,000 random operations on a file, in each cache mode", judge::fsx),
    judge("direct-fsx", "random operations on a disk, around its cache", judge::direct_fsx),
    judge("stress-ng", "the file system stressors, verifying", judge::stress_ng),
    judge(
        "device",
        "POSIX and random operations, with requests read from the device",
        judge::device,
    ),
    judge("remote-pjdfstest", "POSIX, with client and agent apart", judge::remote_pjdfstest),
    judge("remote-fio", "fio verifies, with client and agent apart", judge::remote_fio),
    judge("remote-fsx", "random operations, with client and agent apart", judge::remote_fsx),
    judge(
        "servers-pjdfstest",
        "POSIX, on four data servers and two agents",
        judge::servers_pjdfstest,
    ),
    judge("servers-fio", "fio verifies, on four data servers and two agents", judge::servers_fio),
    judge("servers-fsx", "fsx through two agents, while data servers die", judge::servers_fsx),
    named("speed", "against the bare directory, bindfs and the yardstick", speed::local),
    named("speed-remote", "client and agent apart, against sshfs and GlusterFS", speed::remote),
    named("twins", "TWINS against fifo and hbrr, four agents and four slow servers", twins::twins),
    named(
        "bench-fio",
        "iofwd bench measures what fio does, in memory and on a disk",
        agreement::agreement,
    ),
    named(
        "faults",
        "agents and clients are killed, stopped and cut off, for an hour",
        cargo::faults,
    ),
    named(
        "overload",
        "64 writers on a server that is too slow, and nobody else waits, for 10 minutes",
        overload::overload,
    ),
    named("crowd", "256 clients of one agent, four processes on each, for a minute", crowd::crowd),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_run_leaves_out_what_must_be_named() {
        let names: Vec<_> = choose(&[]).unwrap().iter().map(|stage| stage.name).collect();
        assert!(names.contains(&"pjdfstest") && !names.contains(&"speed"));
        assert_eq!(choose(&["speed".into()]).unwrap()[0].name, "speed");
        assert!(choose(&["nonsense".into()]).is_err());
    }

    #[test]
    fn the_last_line_is_plain() {
        let mut tally = Tally { passed: 3, failed: 1, skipped: 0, failures: vec!["fsx"] };
        assert_eq!(tally.to_string(), "3 passed, 1 failed");
        tally.skipped = 2;
        assert_eq!(tally.to_string(), "3 passed, 1 failed, 2 skipped");
    }
}
