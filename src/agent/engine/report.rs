//! What an engine has done so far, in numbers that can be sent and shown.

use std::fmt::Write;

use iofwd_scheduler::scheduler::Scheduler;

use super::cost::Costs;

/// Named numbers, in the order in which they are to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    lines: Vec<(String, String)>,
}

impl Report {
    pub(super) fn new(scheduler: &Scheduler, costs: &Costs) -> Report {
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

    /// Add a number.
    pub fn add(&mut self, name: &str, value: impl ToString) {
        self.lines.push((name.into(), value.to_string()));
    }

    /// A value by its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// One name and value a line.
    pub fn to_text(&self) -> String {
        self.lines.iter().fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{name} {value}");
            text
        })
    }

    /// What [`Report::to_text`] wrote; lines that it would not write are passed over.
    pub fn from_text(text: &str) -> Report {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        Report { lines: lines.map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_being_sent() {
        let mut report = Report::default();
        report.add("reads", 7);
        report.add("policy", "twins");
        assert_eq!(Report::from_text(&report.to_text()), report);
        assert_eq!(report.get("reads"), Some("7"));
        assert_eq!(report.get("writes"), None);
    }
}
