//! The stages that cargo does by itself.

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
    let step = step.env("IOFWD_FAULTS", (site.minutes * 60).to_string());
    let output = step.limit((site.minutes + MINUTES) * 60).run(site)?;
    let told = |word: &str| output.lines().find(|line| line.starts_with(word)).unwrap_or_default();
    let (seed, faults) = (told("seed "), told("faults "));
    if faults.is_empty() {
        return Ok(Outcome::Skipped("it cannot be run here".into()));
    }
    Ok(Outcome::Passed(format!("{seed}; {faults}")))
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
const MINUTES: u64 = 15;
/// For how long agents are killed among the other tests.
const FAULTS_SECONDS: u64 = 180;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_from_the_report() {
        assert_eq!(passed("test result: ok. 12 passed; 0 failed; 1 ignored"), Some(12));
        assert_eq!(passed("running 12 tests"), None);
    }
}
