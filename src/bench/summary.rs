//! What all runs together say: medians, intervals, and which settings differ.

use std::path::PathBuf;

use super::conductor::Measured;
use super::plan::Plan;
use super::series::Record;
use super::statistics::{CONFIDENCE, holm, margin, mean, median, welch};

/// Everything that was measured.
#[derive(Debug)]
pub struct Results {
    /// What was planned.
    pub plan: Plan,
    /// Every run, in the order in which they were done.
    pub records: Vec<Record>,
    /// Where the files are, if they were kept.
    pub kept: Option<PathBuf>,
}

/// What is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Seconds until the slowest process had finished, with everybody running.
    Makespan,
    /// The same, with the other applications at rest.
    Alone,
    /// The first divided by the second (the TWINS thesis, section 5.6).
    Interference,
    /// Bytes a second, with everybody running.
    Bandwidth,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 4] =
        [Metric::Makespan, Metric::Alone, Metric::Interference, Metric::Bandwidth];

    /// As it stands in reports, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Makespan => "makespan_s",
            Metric::Alone => "makespan_alone_s",
            Metric::Interference => "interference",
            Metric::Bandwidth => "bytes_per_second",
        }
    }
}

/// A metric over all rounds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Which compared value, if there are any.
    pub setting: Option<usize>,
    /// Which application.
    pub application: usize,
    /// `read` or `write`.
    pub operation: &'static str,
    /// What.
    pub metric: Metric,
    /// One value for each round.
    pub values: Vec<f64>,
}

/// Two settings side by side.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Which application.
    pub application: usize,
    /// `read` or `write`.
    pub operation: &'static str,
    /// What is compared.
    pub metric: Metric,
    /// The two compared values.
    pub settings: [usize; 2],
    /// By how much the mean of the second lies above that of the first, as a share of the first.
    pub difference: f64,
    /// How likely that would be if there were no difference, corrected for the number of pairs;
    /// nothing if there are too few runs to tell.
    pub likelihood: Option<f64>,
}

impl Summary {
    /// The value in the middle.
    pub fn median(&self) -> f64 {
        median(&self.values)
    }

    /// The average.
    pub fn mean(&self) -> f64 {
        mean(&self.values)
    }

    /// The interval around the mean reaches so far to both sides.
    pub fn margin(&self) -> Option<f64> {
        margin(&self.values)
    }
}

impl Pair {
    /// Whether the two differ, as surely as this can be said.
    pub fn is_different(&self) -> bool {
        self.likelihood.is_some_and(|likelihood| likelihood < 1.0 - CONFIDENCE)
    }

    /// In words.
    pub fn verdict(&self) -> &'static str {
        if self.is_different() { "different" } else { "not distinguishable" }
    }
}

impl Results {
    /// Every metric of every application under every setting.
    pub fn summaries(&self) -> Vec<Summary> {
        let mut summaries = Vec::new();
        for setting in self.settings() {
            for application in 0..self.plan.applications.len() {
                for operation in OPERATIONS {
                    for metric in Metric::ALL {
                        let values = self.values(setting, application, operation, metric);
                        if !values.is_empty() {
                            let one = Summary { setting, application, operation, metric, values };
                            summaries.push(one);
                        }
                    }
                }
            }
        }
        summaries
    }

    /// Every pair of settings, by makespan and by interference.
    pub fn pairs(&self) -> Vec<Pair> {
        let summaries = self.summaries();
        let mut pairs = Vec::new();
        for metric in [Metric::Makespan, Metric::Interference] {
            for application in 0..self.plan.applications.len() {
                for operation in OPERATIONS {
                    let same = |one: &&Summary| {
                        (one.metric, one.application, one.operation)
                            == (metric, application, operation)
                    };
                    pairs.append(&mut compare(&summaries.iter().filter(same).collect::<Vec<_>>()));
                }
            }
        }
        pairs
    }

    /// The compared value that a run had, as it was typed.
    pub fn setting(&self, setting: Option<usize>) -> Option<&str> {
        self.plan.comparison.as_ref().zip(setting).map(|(known, one)| known.values[one].as_str())
    }

    fn settings(&self) -> Vec<Option<usize>> {
        match &self.plan.comparison {
            Some(comparison) => (0..comparison.values.len()).map(Some).collect(),
            None => vec![None],
        }
    }

    fn values(
        &self,
        setting: Option<usize>,
        application: usize,
        operation: &str,
        metric: Metric,
    ) -> Vec<f64> {
        let find = |round, alone| self.find(round, setting, alone, application, operation);
        let seconds = |measured: &Measured| measured.makespan_ns as f64 / 1e9;
        let value = |round| match metric {
            Metric::Makespan => find(round, false).map(seconds),
            Metric::Alone => find(round, true).map(seconds),
            Metric::Interference => {
                let (together, alone) = find(round, false).zip(find(round, true))?;
                Some(together.makespan_ns as f64 / alone.makespan_ns as f64)
            }
            Metric::Bandwidth => {
                let total = find(round, false)?.total();
                Some(total.bytes as f64 / (total.io_ns.max(1) as f64 / 1e9))
            }
        };
        (0..self.plan.repeat).filter_map(value).collect()
    }

    fn find(
        &self,
        round: u32,
        setting: Option<usize>,
        alone: bool,
        application: usize,
        operation: &str,
    ) -> Option<&Measured> {
        let alone = alone.then_some(application);
        let is_it = |one: &&Record| {
            (one.run.round, one.run.setting, one.run.alone) == (round, setting, alone)
        };
        let measured = &self.records.iter().find(is_it)?.measured;
        measured.iter().find(|one| (one.application, one.operation) == (application, operation))
    }
}

/// Each with each; the level is corrected over these pairs.
fn compare(summaries: &[&Summary]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (index, one) in summaries.iter().enumerate() {
        for two in &summaries[index + 1..] {
            let (Some(first), Some(second)) = (one.setting, two.setting) else { continue };
            pairs.push(Pair {
                application: one.application,
                operation: one.operation,
                metric: one.metric,
                settings: [first, second],
                difference: two.mean() / one.mean() - 1.0,
                likelihood: welch(&one.values, &two.values),
            });
        }
    }
    let likelihoods: Option<Vec<f64>> = pairs.iter().map(|pair| pair.likelihood).collect();
    if let Some(likelihoods) = likelihoods {
        for (pair, corrected) in pairs.iter_mut().zip(holm(&likelihoods)) {
            pair.likelihood = Some(corrected);
        }
    }
    pairs
}

/// In the order in which an application does them.
const OPERATIONS: [&str; 2] = ["write", "read"];

#[cfg(test)]
pub(super) mod tests {
    use super::super::conductor::Process;
    use super::super::plan::tests::{application, plan};
    use super::super::plan::{Comparison, Work};
    use super::super::series::Run;
    use super::*;

    /// Two applications, two settings, makespans given by round, setting and who runs.
    pub(in crate::bench) fn results(
        repeat: u32,
        makespan_ms: impl Fn(u32, usize, Option<usize>) -> u64,
    ) -> Results {
        let mut plan = plan(vec![application("A", Work::Read), application("B", Work::Read)]);
        plan.repeat = repeat;
        let values = vec!["fifo".into(), "twins".into()];
        plan.comparison = Some(Comparison { key: "policy".into(), values, options: Vec::new() });
        let mut records = Vec::new();
        for round in 0..repeat {
            for setting in 0..2 {
                for alone in [None, Some(0), Some(1)] {
                    let nanos = makespan_ms(round, setting, alone) * 1_000_000;
                    let process =
                        Process { io_ns: nanos, bytes: 1_000_000, latency: Default::default() };
                    let measured = |application| Measured {
                        application,
                        operation: "read",
                        makespan_ns: nanos,
                        io_ns: nanos,
                        processes: vec![process.clone(), process.clone()],
                    };
                    let who = alone.map_or(vec![0, 1], |one| vec![one]);
                    let run = Run { round, setting: Some(setting), alone };
                    let measured = who.into_iter().map(measured).collect();
                    records.push(Record { run, measured });
                }
            }
        }
        Results { plan, records, kept: None }
    }

    fn one(results: &Results, setting: usize, metric: Metric) -> Summary {
        let mut all = results.summaries().into_iter();
        all.find(|it| it.setting == Some(setting) && it.metric == metric).expect("it was measured")
    }

    #[test]
    fn interference_is_time_with_others_by_time_alone() {
        let results = results(3, |round, _, alone| match alone {
            None => 300 + u64::from(round) * 30,
            Some(_) => 200,
        });
        assert_eq!(one(&results, 0, Metric::Interference).values, [1.5, 1.65, 1.8]);
        assert_eq!(one(&results, 0, Metric::Makespan).median(), 0.33);
        assert_eq!(one(&results, 0, Metric::Alone).values, [0.2; 3]);
        let bandwidth = one(&results, 0, Metric::Bandwidth).values[0];
        assert!((bandwidth - 2_000_000.0 / 0.3).abs() < 1.0, "{bandwidth}");
    }

    #[test]
    fn a_clear_difference_is_one_and_noise_is_none() {
        let noise = |round: u32| [3, 9, 1, 7, 5, 2, 8, 6][round as usize];
        let clear = results(8, |round, setting, _| 500 - 100 * setting as u64 + noise(round));
        let pair = &clear.pairs()[0];
        assert!(pair.is_different());
        assert!((pair.difference + 0.198).abs() < 0.001, "{}", pair.difference);
        let unclear = results(8, |round, setting, _| 500 - setting as u64 + noise(round));
        assert_eq!(unclear.pairs()[0].verdict(), "not distinguishable");
    }

    #[test]
    fn a_single_run_says_nothing_about_differences() {
        let results = results(1, |_, setting, _| 500 - 400 * setting as u64);
        assert!(results.pairs().iter().all(|pair| pair.likelihood.is_none()));
        assert!(!results.pairs()[0].is_different());
        assert_eq!(one(&results, 0, Metric::Makespan).margin(), None);
    }
}
