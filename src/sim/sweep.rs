//! Runs every case of a spec, on as many threads as there are processors. What comes out does not depend on
//! how many those are: every run has its own seed, and results are kept in the order of the cases.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use iofwd_scheduler::sim::{Report, Scenario, run};

use super::spec::{Case, Spec};

/// What became of one case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// One report for each repetition.
    pub reports: Vec<Report>,
}

/// Simulates all cases of a spec.
pub fn all(spec: &Spec) -> Result<Vec<Outcome>, String> {
    let cases = spec.cases()?;
    let mut scenarios = Vec::new();
    for case in &cases {
        for repetition in 0..spec.repeat.max(1) {
            scenarios.push(spec.scenario(case, repetition)?);
        }
    }
    let mut reports = each(&scenarios)?.into_iter();
    let take = |case| Outcome {
        case,
        reports: reports.by_ref().take(spec.repeat.max(1) as usize).collect(),
    };
    Ok(cases.into_iter().map(take).collect())
}

/// Runs scenarios side by side; the reports are in their order.
pub fn each(scenarios: &[Scenario]) -> Result<Vec<Report>, String> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Report, String>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(index) else { return };
            let report = run(scenario).map_err(|error| error.to_string());
            done.lock().expect("no thread fails while it holds the lock").push((index, report));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(scenarios.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().expect("no thread fails while it holds the lock");
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, report)| report).collect()
}
