//! What was published, read from the file that it was transcribed into.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Everything that the thesis printed and the model can speak to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Thesis {
    pub(super) size: Vec<Size>,
    pub(super) distance: Vec<Distance>,
    pub(super) improvement: Vec<Improvement>,
    pub(super) time: Vec<Times>,
    pub(super) pair: Vec<Pair>,
}

/// Mean request sizes in KB, in the order of [`super::measure::COLUMNS`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Size {
    pub(super) scheduler: String,
    pub(super) window: Option<String>,
    pub(super) leaving: [f64; 4],
    pub(super) arriving: [f64; 4],
    #[expect(dead_code, reason = "for whoever reads the file")]
    place: String,
}

/// Mean distances of offsets in MB, in the same order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Distance {
    pub(super) scheduler: String,
    pub(super) megabytes: [f64; 4],
    #[expect(dead_code, reason = "for whoever reads the file")]
    place: String,
}

/// By how much one scheduler is faster than another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Improvement {
    pub(super) of: String,
    pub(super) over: String,
    pub(super) operation: String,
    pub(super) pattern: String,
    pub(super) request: String,
    pub(super) percent: f64,
    pub(super) place: String,
}

/// Makespans of one load, by scheduler.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Times {
    pub(super) operation: String,
    pub(super) pattern: String,
    pub(super) request: String,
    pub(super) seconds: BTreeMap<String, f64>,
    pub(super) place: String,
}

/// By how much two applications at once gain, at most.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) what: String,
    pub(super) of: String,
    pub(super) over: String,
    pub(super) percent: f64,
}

impl Thesis {
    /// What was printed.
    pub(super) fn read() -> Result<Thesis, String> {
        toml::from_str(include_str!("thesis.toml")).map_err(|error| format!("thesis.toml: {error}"))
    }

    /// The published makespan of a load with a scheduler, and where it stands.
    pub(super) fn time(&self, load: [&str; 3], scheduler: &str) -> Option<(f64, &str)> {
        let same = |one: &&Times| [&*one.operation, &*one.pattern, &*one.request] == load;
        let times = self.time.iter().find(same)?;
        Some((*times.seconds.get(scheduler)?, &times.place))
    }

    /// The published makespan as a part of the one without forwarding, if the printed numbers allow to
    /// work it out: from times, or from improvements in one step or two.
    pub(super) fn relative(&self, load: [&str; 3], scheduler: &str) -> Option<f64> {
        if scheduler == "unforwarded" {
            return Some(1.0);
        }
        let of_time = |name| self.time(load, name).map(|(seconds, _)| seconds);
        if let (Some(some), Some(none)) = (of_time(scheduler), of_time("unforwarded")) {
            return Some(some / none);
        }
        let ratio = |of: &str, over: &str| {
            let same = |one: &&Improvement| {
                [&*one.operation, &*one.pattern, &*one.request] == load
                    && (&*one.of, &*one.over) == (of, over)
            };
            self.improvement.iter().find(same).map(|one| 1.0 - one.percent / 100.0)
        };
        // Chapter 5 measures TWINS against each of the others, and so the others against each other.
        let through_twins = || Some(ratio("twins", "unforwarded")? / ratio("twins", scheduler)?);
        let through = |other: &str| Some(ratio(scheduler, other)? * self.relative(load, other)?);
        ratio(scheduler, "unforwarded")
            .filter(|_| ratio("twins", scheduler).is_none())
            .or_else(through_twins)
            .or_else(|| ratio(scheduler, "unforwarded"))
            .or_else(|| {
                ["fifo", "hbrr"].into_iter().filter(|one| *one != scheduler).find_map(through)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_can_be_read_and_names_known_things() {
        let thesis = Thesis::read().expect("it is part of the program");
        assert_eq!(thesis.size.len(), 8);
        let known = crate::sim::scheduler::Daemon::Iofsl.schedulers();
        for one in &thesis.improvement {
            assert!(known.contains(&&*one.of) && known.contains(&&*one.over), "{one:?}");
            assert!(one.place.contains("figure"), "{one:?}");
        }
        let names = thesis.time.iter().flat_map(|times| times.seconds.keys());
        assert!(names.clone().count() >= 30 && names.clone().all(|name| known.contains(&&**name)));
    }

    #[test]
    fn relative_times_follow_from_what_is_printed() {
        let thesis = Thesis::read().expect("it is part of the program");
        let about = |load, scheduler: &str, expected: f64| {
            let found = thesis.relative(load, scheduler).expect("it can be worked out");
            assert!((found - expected).abs() < 0.001, "{load:?} {scheduler}: {found}");
        };
        let strided = ["read", "strided", "32K"];
        about(strided, "twins", 0.5307);
        about(strided, "fifo", 0.5307 / 0.7597);
        about(strided, "mlf", 0.8583 * 0.5307 / 0.7597);
        about(["read", "file-per-process", "32K"], "fifo", 0.642);
        about(["write", "strided", "256K"], "twins", 104.8 / 107.6);
        assert_eq!(thesis.relative(["read", "strided", "256K"], "mlf"), None);
    }
}
