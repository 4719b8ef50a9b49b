//! The stages that cargo does by itself.

use crate::open_device::OpenDevice;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn format(site: &Site) -> Verdict {
    cargo(site, &["fmt", "--all", "--check"])
}

pub(crate) fn lint(site: &Site) -> Verdict {
    let strict = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    cargo(site, &strict)
}

/// Counts the tests, because a run of none would pass too.
pub(crate) fn test(site: &Site) -> Verdict {
    // Where it cannot be opened the tests of ordinary users say so, and are skipped.
    let _device = OpenDevice::to_all();
    let words = ["test", "--workspace", "--no-fail-fast", "--", "--show-output"];
    // What the tests mount and leave behind when killed is cleared with our room.
    let step = Step::new("cargo").args(words).dir(&site.workspace).env("TMPDIR", &site.room);
    let step = step.env("IOFWD_FAULTS", FAULTS_SECONDS.to_string());
    let output = step.limit(MINUTES * 60).run(site)?;
    let passed: usize = output.lines().filter_map(passed).sum();
    if passed == 0 {
        return Err("no test ran".into());
    }
    // What to know of a test that passed: its seed, or that it did not really run.
    for line in output.lines().filter(|line| line.contains("seed ") || line.contains("skipped:")) {
        println!("   {line}");
    }
    Ok(Outcome::Passed(format!("{passed} tests")))
}

/// Everything that can be done to agents and clients, at random and for long.
pub(crate) fn faults(site: &Site) -> Verdict {
    let test = "e2e::faults::run";
    let words = ["test", "--release", "--test", "e2e", test, "--", "--nocapture"];
    let step = Step::new("cargo").args(words).dir(&site.workspace).env("TMPDIR", &site.room);
    let minutes = site.minutes.unwrap_or(FAULTS_MINUTES);
    let step = step.env("IOFWD_FAULTS", (minutes * 60).to_string());
    let output = step.limit((minutes + MINUTES) * 60).run(site)?;
    let told = summary(&output);
    if told.is_empty() {
        return Ok(Outcome::Skipped("it cannot be run here".into()));
    }
    Ok(Outcome::Passed(told))
}

/// What the fault tests say of themselves: what they were over, their seeds, faults and operations.
fn summary(output: &str) -> String {
    let is_told = |line: &&str| {
        let what =
            line.split_once(": ").filter(|(what, _)| matches!(*what, "directory" | "servers"));
        what.is_some_and(|(_, said)| said.starts_with("seed ") || said.starts_with("faults "))
    };
    output.lines().filter(is_told).collect::<Vec<_>>().join("; ")
}

/// Builds all that the later stages run.
pub(crate) fn build(site: &Site) -> Verdict {
    site.program()?;
    Ok(Outcome::Passed(String::new()))
}

fn cargo(site: &Site, words: &[&str]) -> Verdict {
    Step::new("cargo").args(words).dir(&site.workspace).limit(MINUTES * 60).run(site)?;
    Ok(Outcome::Passed(String::new()))
}

/// The number of tests in a line of cargo's report.
fn passed(line: &str) -> Option<usize> {
    line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse().ok()
}

/// What a stage of cargo may take on a slow machine that builds everything anew.
const MINUTES: u64 = 25;
/// For how long agents are killed among the other tests: over a directory, and as long over data servers.
const FAULTS_SECONDS: u64 = 180;
/// And for how long by themselves.
const FAULTS_MINUTES: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_tests_are_summed_up() {
        let said =
            "running 2 tests\nservers: seed 5, 9 s\nservers: faults 3 {}; done [1]\nservers: x\n";
        assert_eq!(summary(said), "servers: seed 5, 9 s; servers: faults 3 {}; done [1]");
        assert_eq!(summary("running 0 tests"), "");
    }

    #[test]
    fn tests_are_counted_from_the_report() {
        assert_eq!(passed("test result: ok. 12 passed; 0 failed; 1 ignored"), Some(12));
        assert_eq!(passed("running 12 tests"), None);
    }
}
