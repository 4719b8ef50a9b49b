//! How often file systems were asked for layouts, and how long they took to answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use iofwd_scheduler::stats::Histogram;

use crate::layout::Engine;
use crate::report::Report;

#[derive(Debug, Default)]
pub(super) struct Counts {
    hits: AtomicU64,
    asked: [AtomicU64; Engine::ALL.len()],
    costs: Mutex<Histogram>,
}

impl Counts {
    /// A layout was known without asking.
    pub(super) fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// This one was asked, and it took so many nanoseconds.
    pub(super) fn asked(&self, engine: Engine, nanos: u64) {
        if let Some(place) = Engine::ALL.iter().position(|other| *other == engine) {
            self.asked[place].fetch_add(1, Ordering::Relaxed);
        }
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).record(nanos);
    }

    pub(super) fn report(&self, report: &mut Report) {
        let asked: Vec<(Engine, u64)> = Engine::ALL
            .into_iter()
            .zip(&self.asked)
            .map(|(engine, count)| (engine, count.load(Ordering::Relaxed)))
            .collect();
        report.add("layouts_asked", asked.iter().map(|(_, count)| count).sum::<u64>());
        report.add("layouts_known", self.hits.load(Ordering::Relaxed));
        for (engine, count) in asked.iter().filter(|(_, count)| *count > 0) {
            report.add(&format!("layouts_asked_{engine}"), count);
        }
        let costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        report.add("layout_cost_ns_p50", costs.quantile(500));
    }
}
