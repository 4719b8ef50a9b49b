//! What is to be simulated: the machines, the jobs, and the lists of values that are tried.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::{Job, Pattern, Platform, Scenario};
use iofwd_scheduler::time::Span;

use crate::quantity::{show_bytes, show_span};

use super::scheduler::{Daemon, Scheduler, UNFORWARDED};

/// Everything that a simulation depends on, with lists where several values are tried.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Where all random numbers come from.
    pub seed: u64,
    /// How often everything is simulated, each time with the next seed.
    pub repeat: u32,
    /// The machines.
    pub platform: Platform,
    /// The applications.
    pub jobs: Vec<Job>,
    /// The program on the agents.
    pub daemon: Daemon,
    /// Whether requests wait within a window for those that went with the last batch.
    pub gather: bool,
    /// What is tried, in all combinations.
    pub sweep: Sweep,
}

/// The values that are tried. An empty list of what concerns jobs leaves them as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Schedulers by name.
    pub policies: Vec<String>,
    /// Lengths of windows, for schedulers that have any; none: each one's default.
    pub windows: Vec<Span>,
    /// Numbers of agents.
    pub agents: Vec<u32>,
    /// Patterns, for all jobs.
    pub patterns: Vec<Pattern>,
    /// Operations, for all jobs.
    pub operations: Vec<Operation>,
    /// Request sizes, for all jobs.
    pub requests: Vec<u64>,
}

/// One combination.
#[derive(Clone, Debug)]
pub struct Case {
    /// The scheduler.
    pub scheduler: Scheduler,
    /// Number of agents; none without forwarding.
    pub agents: u32,
    /// The applications.
    pub jobs: Vec<Job>,
}

impl Spec {
    /// Every combination once, those of one load together.
    pub fn cases(&self) -> Result<Vec<Case>, String> {
        if self.sweep.agents.contains(&0) {
            return Err("the number of agents is 0; for none write policy 'unforwarded'".into());
        }
        for name in &self.sweep.policies {
            self.daemon.check(name)?;
        }
        let mut cases = Vec::new();
        for jobs in self.loads() {
            for (scheduler, agents) in self.layers() {
                cases.push(Case { scheduler, agents, jobs: jobs.clone() });
            }
        }
        Ok(cases)
    }

    /// The scenario of a case, as it is run for the seed that is this many further on.
    pub fn scenario(&self, case: &Case, repetition: u32) -> Result<Scenario, String> {
        let scenario = Scenario {
            seed: self.seed.wrapping_add(repetition.into()),
            platform: self.platform,
            forwarding: case.scheduler.forwarding(self.daemon, case.agents)?,
            jobs: case.jobs.clone(),
            timeline: false,
        };
        scenario.check().map_err(|error| error.to_string())?;
        Ok(scenario)
    }

    /// Every forwarding layer: without agents only once, and each window only where there are windows.
    fn layers(&self) -> Vec<(Scheduler, u32)> {
        let mut layers = Vec::new();
        for name in &self.sweep.policies {
            let own_default = vec![None];
            let windows = match Scheduler::has_window(name) && !self.sweep.windows.is_empty() {
                true => self.sweep.windows.iter().copied().map(Some).collect(),
                false => own_default,
            };
            let agents = if name == UNFORWARDED { &[0][..] } else { &self.sweep.agents };
            for &agents in agents {
                for &window in &windows {
                    let scheduler = Scheduler::with_window(name, window);
                    layers.push((Scheduler { gather: self.gather, ..scheduler }, agents));
                }
            }
        }
        layers
    }

    /// Every set of jobs.
    fn loads(&self) -> Vec<Vec<Job>> {
        let Sweep { patterns, operations, requests, .. } = &self.sweep;
        let mut loads = Vec::new();
        for pattern in each_or_none(patterns) {
            for operation in each_or_none(operations) {
                for request in each_or_none(requests) {
                    let changed = |job: &Job| Job {
                        pattern: pattern.unwrap_or(job.pattern),
                        operation: operation.unwrap_or(job.operation),
                        request: request.unwrap_or(job.request),
                        ..*job
                    };
                    loads.push(self.jobs.iter().map(changed).collect());
                }
            }
        }
        loads
    }
}

impl Case {
    /// The load in words: that of the first job, and how many there are.
    pub fn load(&self) -> Load {
        let first = &self.jobs[0];
        Load {
            pattern: pattern_name(first.pattern),
            operation: operation_name(first.operation),
            request: show_bytes(first.request),
            jobs: self.jobs.len(),
        }
    }

    /// The length of the windows in words; a dash if there are none.
    pub fn window(&self) -> String {
        self.scheduler.window.map_or_else(|| "-".into(), show_span)
    }
}

/// A load in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The pattern of the first job.
    pub pattern: &'static str,
    /// What the first job does.
    pub operation: &'static str,
    /// The size of its requests.
    pub request: String,
    /// How many jobs there are.
    pub jobs: usize,
}

/// Every pattern, by name.
pub const PATTERNS: [(&str, Pattern); 4] = [
    ("file-per-process", Pattern::FilePerProcess),
    ("contiguous", Pattern::SharedContiguous),
    ("strided", Pattern::SharedStrided),
    ("random", Pattern::Random),
];

/// Every operation, by name.
pub const OPERATIONS: [(&str, Operation); 2] =
    [("read", Operation::Read), ("write", Operation::Write)];

/// The name of a pattern.
pub fn pattern_name(pattern: Pattern) -> &'static str {
    PATTERNS.iter().find(|(_, one)| *one == pattern).map_or("", |(name, _)| name)
}

/// The name of an operation.
pub fn operation_name(operation: Operation) -> &'static str {
    OPERATIONS.iter().find(|(_, one)| *one == operation).map_or("", |(name, _)| name)
}

fn each_or_none<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    if values.is_empty() { vec![None] } else { values.iter().copied().map(Some).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::preset;
    use super::*;

    #[test]
    fn a_sweep_has_every_combination_that_means_anything_once() {
        let mut spec = preset::by_name("thesis").expect("a preset");
        spec.sweep.policies = ["unforwarded", "fifo", "twins"].map(String::from).to_vec();
        spec.sweep.windows = vec![Span::from_millis(1), Span::from_millis(8)];
        spec.sweep.agents = vec![1, 4];
        spec.sweep.requests = vec![32 << 10, 256 << 10];
        let cases = spec.cases().expect("all is well");
        // One without agents, two with FIFO, four with TWINS; for two request sizes.
        assert_eq!(cases.len(), (1 + 2 + 4) * 2);
        assert!(cases.iter().all(|case| spec.scenario(case, 0).is_ok()));
        let twins = cases.iter().filter(|case| case.scheduler.name == "twins");
        assert_eq!(twins.map(Case::window).collect::<Vec<_>>()[..2], ["1ms", "8ms"]);
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let mut spec = preset::by_name("thesis").expect("a preset");
        spec.sweep.agents = vec![0];
        assert!(spec.cases().expect_err("no agents").contains("unforwarded"));
        spec.sweep.agents = vec![4];
        spec.sweep.policies = vec!["wfq".into()];
        assert!(spec.cases().expect_err("not in IOFSL").contains("no scheduler 'wfq'"));
    }
}
