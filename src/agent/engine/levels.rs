//! How large requests are at each level they pass, as in table 5.1 of the TWINS thesis (Bez, 2016).

use iofwd_scheduler::stats::Stats;

use crate::telemetry::snapshot::Level;

/// Requests that passed a level which the scheduler does not see.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

impl Passed {
    pub(super) fn note(&mut self, requests: u64, bytes: u64) {
        self.requests += requests;
        self.bytes += bytes;
    }
}

/// The levels before and behind the scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levels {
    /// Reads and writes as the kernels of the clients sent them.
    pub(super) calls: Passed,
    /// Operations on the backing.
    pub(super) operations: Passed,
}

impl Levels {
    /// All four, from the clients to the servers.
    pub(super) fn all(&self, stats: &Stats) -> Vec<Level> {
        let sum = |of: fn(&iofwd_scheduler::stats::Counters) -> u64| {
            stats.servers.iter().map(of).sum::<u64>()
        };
        let level = |name: &str, requests, bytes| Level { name: name.into(), requests, bytes };
        vec![
            level("leaving clients", self.calls.requests, self.calls.bytes),
            level("arriving at queues", sum(|s| s.arrived.requests()), sum(|s| s.arrived.bytes())),
            level("leaving agent", stats.batch_members.count(), sum(|s| s.issued.bytes())),
            level("arriving at servers", self.operations.requests, self.operations.bytes),
        ]
    }
}
