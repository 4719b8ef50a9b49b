//! What an engine has done so far, in numbers that can be sent and shown.

use iofwd_scheduler::scheduler::Scheduler;

use crate::report::Report;

use super::cost::Costs;

pub(super) fn report(scheduler: &Scheduler, costs: &Costs) -> Report {
    let stats = scheduler.stats();
    let mut report = Report::default();
    report.add("policy", scheduler.policy().name());
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
    report
}
