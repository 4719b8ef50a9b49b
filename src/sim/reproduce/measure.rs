//! Simulates every experiment that the sections ask for, once, and answers from what was found.

use std::collections::{BTreeMap, BTreeSet};

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::preset::{thesis, thesis_job};
use iofwd_scheduler::sim::{Job, Pattern, Scenario};
use iofwd_scheduler::time::Span;

use crate::bench::statistics;

use super::Effort;
use crate::sim::output::Numbers;
use crate::sim::scheduler::{Daemon, Scheduler};
use crate::sim::spec::{Case, operation_name, pattern_name};
use crate::sim::sweep::{self, Outcome};

/// An experiment: a load, a scheduler, a number of I/O nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    write: bool,
    pattern: usize,
    pub(super) request: u64,
    pub(super) scheduler: String,
    pub(super) window: Option<Span>,
    pub(super) agents: u32,
}

/// What came out of it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) numbers: Numbers,
    /// Mean distance between the offsets of consecutive lists of an I/O node, in MB.
    pub(super) distance: f64,
}

/// Everything that was simulated.
#[derive(Debug)]
pub(super) struct Laboratory {
    found: BTreeMap<Key, Found>,
}

impl Key {
    /// An experiment on 4 I/O nodes, with the window that the thesis begins with.
    pub(super) fn new(load: Load, scheduler: &str) -> Key {
        let window = match scheduler {
            "twins" => Some(Span::from_millis(1)),
            "sw" => Some(Span::from_secs(1)),
            _ => None,
        };
        let Load { operation, pattern, request } = load;
        let place = PATTERNS.iter().position(|one| *one == pattern).unwrap_or_default();
        let agents = if scheduler == "unforwarded" { 0 } else { 4 };
        let write = operation == Operation::Write;
        Key { write, pattern: place, request, scheduler: scheduler.into(), window, agents }
    }

    /// The same with windows of another length.
    pub(super) fn window(self, window: Span) -> Key {
        Key { window: Some(window), ..self }
    }

    /// The same with another number of I/O nodes.
    pub(super) fn agents(self, agents: u32) -> Key {
        Key { agents, ..self }
    }

    fn scheduler(&self) -> Scheduler {
        Scheduler::with_window(&self.scheduler, self.window)
    }

    fn job(&self, effort: Effort) -> Job {
        let operation = if self.write { Operation::Write } else { Operation::Read };
        let whole = thesis_job(PATTERNS[self.pattern], operation, self.request);
        Job { volume: whole.volume / effort.share(), ..whole }
    }

    /// The published repetitions where the thesis compares schedulers, fewer in the sweeps.
    fn repetitions(&self, effort: Effort) -> u64 {
        let usual = Key::new(self.load(), &self.scheduler);
        match effort {
            Effort::Full if *self == usual => 8,
            Effort::Full => 3,
            Effort::Quick if *self == usual => 2,
            Effort::Quick => 1,
        }
    }

    fn load(&self) -> Load {
        let operation = if self.write { Operation::Write } else { Operation::Read };
        Load { operation, pattern: PATTERNS[self.pattern], request: self.request }
    }

    fn scenario(&self, effort: Effort, seed: u64) -> Result<Scenario, String> {
        let forwarding = self.scheduler().forwarding(Daemon::Iofsl, self.agents)?;
        Ok(Scenario { seed, ..thesis(self.job(effort), forwarding) })
    }
}

impl Laboratory {
    /// Simulates these experiments.
    pub(super) fn of(effort: Effort, seed: u64, keys: Vec<Key>) -> Result<Laboratory, String> {
        let keys: Vec<Key> = keys.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let mut scenarios = Vec::new();
        for key in &keys {
            for repetition in 0..key.repetitions(effort) {
                scenarios.push(key.scenario(effort, seed.wrapping_add(repetition))?);
            }
        }
        let mut reports = sweep::each(&scenarios)?.into_iter();
        let mut found = BTreeMap::new();
        for key in keys {
            let taken = reports.by_ref().take(key.repetitions(effort) as usize).collect();
            let jobs = vec![key.job(effort)];
            let case = Case { scheduler: key.scheduler(), agents: key.agents, jobs };
            let outcome = Outcome { case, reports: taken };
            found.insert(key, Found::of(&outcome, effort));
        }
        Ok(Laboratory { found })
    }

    /// What came out of an experiment.
    pub(super) fn get(&self, key: &Key) -> Result<&Found, String> {
        self.found.get(key).ok_or_else(|| format!("{key:?} was not simulated"))
    }

    /// The makespan of an experiment in seconds.
    pub(super) fn makespan(&self, key: &Key) -> Result<f64, String> {
        Ok(self.get(key)?.numbers.makespan)
    }
}

impl Found {
    fn of(outcome: &Outcome, effort: Effort) -> Found {
        let scale = effort.share() as f64;
        let mut numbers = Numbers::of(outcome);
        numbers.makespan *= scale;
        // Two values hardly say how far they spread.
        let enough = outcome.reports.len() > 2;
        numbers.margin = numbers.margin.filter(|_| enough).map(|margin| margin * scale);
        let distances: Vec<f64> = outcome
            .reports
            .iter()
            .map(|report| report.distance.times(1000) as f64 / 1000.0 / (1 << 20) as f64)
            .collect();
        Found { numbers, distance: statistics::mean(&distances) }
    }
}

impl Effort {
    /// What part of the published volume is simulated.
    pub(super) const fn share(self) -> u64 {
        match self {
            Effort::Full => 1,
            Effort::Quick => 32,
        }
    }
}

/// What processes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) operation: Operation,
    pub(super) pattern: Pattern,
    pub(super) request: u64,
}

impl Load {
    /// The load in the words of the transcription.
    pub(super) fn names(&self) -> [String; 3] {
        let request = crate::quantity::show_bytes(self.request);
        [operation_name(self.operation).into(), pattern_name(self.pattern).into(), request]
    }
}

/// The patterns of the thesis, in the order of its figures.
pub(super) const PATTERNS: [Pattern; 3] =
    [Pattern::FilePerProcess, Pattern::SharedStrided, Pattern::SharedContiguous];

/// The request sizes of the thesis.
pub(super) const REQUESTS: [u64; 2] = [32 << 10, 256 << 10];

/// The loads of the columns of the tables.
pub(super) const COLUMNS: [Load; 4] = [
    small(Operation::Read, Pattern::SharedStrided),
    small(Operation::Write, Pattern::SharedStrided),
    small(Operation::Read, Pattern::SharedContiguous),
    small(Operation::Write, Pattern::SharedContiguous),
];

/// A load of small requests.
pub(super) const fn small(operation: Operation, pattern: Pattern) -> Load {
    Load { operation, pattern, request: REQUESTS[0] }
}
