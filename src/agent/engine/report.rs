//! What an engine has done so far, in numbers that can be sent and shown.

use std::cmp::Reverse;

use iofwd_scheduler::scheduler::Scheduler;
use iofwd_scheduler::stats::Stats;

use crate::job::Job;
use crate::report::Report;

use super::cost::Costs;

pub(super) fn report(scheduler: &Scheduler, costs: &Costs) -> Report {
    let stats = scheduler.stats();
    let mut report = Report::default();
    report.add("policy", scheduler.policy().name());
    report.add("agent_index", scheduler.setup().agent);
    report.add("agent_count", scheduler.setup().agents);
    report.add("queued", scheduler.queued());
    report.add("in_flight", scheduler.in_flight());
    let sum = |of: fn(&iofwd_scheduler::stats::Counters) -> u64| {
        stats.servers.iter().map(of).sum::<u64>()
    };
    report.add("reads", sum(|server| server.completed.reads));
    report.add("writes", sum(|server| server.completed.writes));
    report.add("bytes_read", sum(|server| server.completed.bytes_read));
    report.add("bytes_written", sum(|server| server.completed.bytes_written));
    report.add("failed", sum(|server| server.failed));
    report.add("cancelled", sum(|server| server.cancelled));
    report.add("batches", stats.batch_members.count());
    report.add("request_bytes_in", stats.size_in());
    report.add("request_bytes_out", stats.size_out());
    report.add("ordered_behind_another", stats.parked);
    report.add("wait_ns_p50", stats.waits.quantile(500));
    report.add("wait_ns_p99", stats.waits.quantile(990));
    report.add("scheduler_cost_ns_p50", costs.median().as_nanos());
    report.add("servers", stats.servers.len());
    for (server, counters) in stats.servers.iter().enumerate() {
        report.add(&format!("server_{server}_requests"), counters.completed.requests());
        report.add(&format!("server_{server}_bytes"), counters.completed.bytes());
    }
    add_jobs(&mut report, stats);
    report
}

/// The jobs that moved the most.
fn add_jobs(report: &mut Report, stats: &Stats) {
    let mut jobs: Vec<_> = stats.jobs.iter().collect();
    jobs.sort_by_key(|(job, counters)| (Reverse(counters.completed.bytes()), *job));
    for (job, counters) in jobs.into_iter().take(JOBS_SHOWN) {
        let name = Job::show(job.0);
        report.add(&format!("job_{name}_requests"), counters.completed.requests());
        report.add(&format!("job_{name}_bytes"), counters.completed.bytes());
    }
}

const JOBS_SHOWN: usize = 8;
