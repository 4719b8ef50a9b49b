//! What a sweep found out, one row for each case: as a table for people, as JSON and CSV for programs.

mod csv;
mod json;
mod table;

pub use csv::csv;
pub use json::json;
pub use table::table;

use iofwd_scheduler::request::ServerId;
use iofwd_scheduler::sim::Report;
use iofwd_scheduler::time::Span;

use crate::bench::statistics;

use super::sweep::Outcome;

/// The numbers of one case; of several repetitions their means.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// From the first request to the last answer, in seconds.
    pub makespan: f64,
    /// Half the width of the interval that holds the true mean of the makespan with 99.7 %
    /// confidence; only from several repetitions.
    pub margin: Option<f64>,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Mean size of what leaves the agents, in bytes; zero without agents.
    pub leaving: f64,
    /// Mean size of what reaches a server, in bytes.
    pub arriving: f64,
    /// Share of the messages that reach a server while another sender has work there.
    pub collisions: f64,
    /// Share of the time that the servers work.
    pub busy: f64,
    /// Mean wait of a process for an answer, in seconds.
    pub latency: f64,
    /// The wait that 99 of 100 answers stay below, in seconds.
    pub latency_p99: f64,
    /// Mean wait of a request in the queue of an agent, in seconds.
    pub wait: f64,
    /// Jain's index of the jobs' bandwidths per process.
    pub fairness: f64,
    /// Requests answered.
    pub requests: u64,
}

impl Numbers {
    /// The numbers of a case.
    pub fn of(outcome: &Outcome) -> Numbers {
        let reports = &outcome.reports;
        let mean = |number: fn(&Report) -> f64| {
            statistics::mean(&reports.iter().map(number).collect::<Vec<_>>())
        };
        let makespans: Vec<f64> = reports.iter().map(|one| seconds(one.makespan)).collect();
        Numbers {
            makespan: statistics::mean(&makespans),
            margin: statistics::margin(&makespans),
            bandwidth: mean(|one| one.bandwidth() as f64),
            leaving: mean(|one| one.sizes.leaving_agents.times(1000) as f64 / 1000.0),
            arriving: mean(|one| one.sizes.arriving_servers.times(1000) as f64 / 1000.0),
            collisions: mean(|one| {
                one.collisions() as f64 / one.sizes.arriving_servers.count.max(1) as f64
            }),
            busy: mean(busy),
            latency: mean(|one| one.latencies.mean.mean() as f64 / 1e9),
            latency_p99: mean(|one| one.latencies.quantile(990) as f64 / 1e9),
            wait: mean(|one| one.waits.mean.mean() as f64 / 1e9),
            fairness: mean(|one| one.fairness() as f64 / 1000.0),
            requests: reports.iter().flat_map(|one| &one.jobs).map(|job| job.requests).sum(),
        }
    }
}

fn busy(report: &Report) -> f64 {
    let servers = report.servers.len() as u32;
    let sum: u64 = (0..servers).map(|server| report.utilisation(ServerId(server))).sum();
    sum as f64 / 1000.0 / f64::from(servers.max(1))
}

/// Seconds as a number.
pub(super) fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}
