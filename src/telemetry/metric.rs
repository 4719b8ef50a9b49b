//! The names under which an agent publishes numbers: one table, with unit, meaning and stability.
//!
//! Prometheus' text, `docs/metrics.md` and the tests of the dashboard come from it.

use std::fmt::Write;

use super::snapshot::{Export, Job, Level, Server, Snapshot};
use super::spread::Spread;

/// One published number.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name; counters end in `_total`, units stand in the name.
    pub name: &'static str,
    /// What it measures, in a sentence.
    pub meaning: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Whether it only grows.
    pub kind: Kind,
    /// Whether it may be relied on.
    pub stability: Stability,
    /// Where it comes from.
    pub source: Source,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// How a number behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the agent is started again.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts of values by size.
    Histogram,
}

/// What is promised of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Name, labels and meaning stay until the first number of the version changes.
    Stable,
    /// May change with any version; the changelog says so.
    Trial,
}

/// Where a number comes from, and with it its labels.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The agent; nothing if it has no such number.
    Agent(fn(&Snapshot) -> Option<f64>),
    /// Version and policy of each export, as labels; always 1.
    Info,
    /// Each export.
    Export(fn(&Export) -> f64),
    /// Each level that requests pass.
    Level(fn(&Level) -> f64),
    /// Each server.
    Server(fn(&Server) -> f64),
    /// The times of each server.
    Times(fn(&Server) -> &Spread),
    /// Each job.
    Job(fn(&Job) -> f64),
}

impl Source {
    /// The labels of its numbers.
    pub const fn labels(&self) -> &'static [&'static str] {
        match self {
            Source::Agent(_) => &[],
            Source::Info => &["version", "export", "policy"],
            Source::Export(_) => &["export"],
            Source::Level(_) => &["export", "level"],
            Source::Server(_) | Source::Times(_) => &["export", "server", "name"],
            Source::Job(_) => &["export", "job"],
        }
    }
}

impl Unit {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Bytes => "bytes",
            Unit::Seconds => "seconds",
        }
    }
}

impl Kind {
    /// As Prometheus writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

impl Stability {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Stability::Stable => "stable",
            Stability::Trial => "trial",
        }
    }
}

/// The table as the operators' reference has it.
pub fn reference() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         An agent publishes these at `http://ADDRESS/metrics`, in Prometheus' text form, where \
         `[telemetry] listen` (or `iofwd mount --metrics`) says. This page is made from the table in \
         `src/telemetry/metric.rs`; a test compares them.\n\n\
         *Stable* names keep their labels and meaning until the first number of the version changes; \
         *trial* ones may change, and the changelog says so. Counters begin at zero when the agent \
         is started. Histograms have a bucket for each power of two nanoseconds.\n\n\
         | name | kind | unit | labels | stability | meaning |\n|---|---|---|---|---|---|\n",
    );
    for metric in METRICS {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} |",
            metric.name,
            metric.kind.name(),
            metric.unit.name(),
            metric.source.labels().join(", "),
            metric.stability.name(),
            metric.meaning
        );
    }
    text
}

const fn metric(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    source: Source,
    meaning: &'static str,
) -> Metric {
    Metric { name, meaning, unit, kind, stability: Stability::Stable, source }
}

impl Metric {
    const fn on_trial(mut self) -> Metric {
        self.stability = Stability::Trial;
        self
    }
}

use Kind::{Counter, Gauge};
use Unit::{Bytes, Count, Seconds};

/// Every metric there is.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    metric("iofwd_up_seconds", Gauge, Seconds, Source::Agent(|s| Some(s.uptime_ns as f64 / 1e9)), "time since the agent was started"),
    metric("iofwd_info", Gauge, Count, Source::Info, "which version and policy: always 1"),
    metric("iofwd_problems", Gauge, Count, Source::Agent(|s| Some(super::health::problems(s).len() as f64)), "things that are wrong, as `iofwd status` tells them; 0 is well"),
    metric("iofwd_clients", Gauge, Count, Source::Agent(|s| s.service.as_ref().map(|c| c.clients as f64)), "clients that are connected"),
    metric("iofwd_clients_limit", Gauge, Count, Source::Agent(|s| s.service.as_ref().map(|c| c.clients_limit as f64)), "clients that may be connected"),
    metric("iofwd_client_requests_total", Counter, Count, Source::Agent(|s| s.service.as_ref().map(|c| c.requests as f64)), "requests of clients that were let in, of every kind"),
    metric("iofwd_client_errors_total", Counter, Count, Source::Agent(|s| s.service.as_ref().map(|c| c.failed as f64)), "requests of clients that were answered with an error; many are a program's everyday business"),
    metric("iofwd_memory_bytes", Gauge, Bytes, Source::Agent(|s| s.service.as_ref().map(|c| c.memory_bytes as f64)), "requests and answers of clients held in memory"),
    metric("iofwd_memory_limit_bytes", Gauge, Bytes, Source::Agent(|s| s.service.as_ref().map(|c| c.memory_bytes_limit as f64)), "the most that may be held"),

    metric("iofwd_nodes", Gauge, Count, Source::Export(|e| e.nodes as f64), "files and directories that clients know"),
    metric("iofwd_open_files", Gauge, Count, Source::Export(|e| e.open_files as f64), "files that are open"),
    metric("iofwd_waiting_bytes", Gauge, Bytes, Source::Export(|e| e.waiting_bytes as f64), "writes that wait for their turn"),
    metric("iofwd_waiting_limit_bytes", Gauge, Bytes, Source::Export(|e| e.waiting_bytes_limit as f64), "the most that may wait; then applications do"),
    metric("iofwd_held_total", Counter, Count, Source::Export(|e| e.held as f64), "requests kept back because one before them touches the same bytes"),
    metric("iofwd_policy_switches_total", Counter, Count, Source::Export(|e| e.switches as f64), "changes of policy"),
    metric("iofwd_window_seconds", Gauge, Seconds, Source::Export(|e| e.window.map_or(0.0, |w| w.length_ns as f64 / 1e9)), "length of a time window; 0 where there are none"),
    metric("iofwd_decision_seconds", Gauge, Seconds, Source::Export(|e| e.decision_ns as f64 / 1e9), "time that half of the scheduler's decisions take").on_trial(),

    metric("iofwd_level_requests_total", Counter, Count, Source::Level(|l| l.requests as f64), "requests that passed this level: from clients, in queues, in batches, to servers"),
    metric("iofwd_level_bytes_total", Counter, Bytes, Source::Level(|l| l.bytes as f64), "bytes of them"),

    metric("iofwd_server_queued", Gauge, Count, Source::Server(|s| s.queued as f64), "requests that wait for their turn"),
    metric("iofwd_server_in_flight", Gauge, Count, Source::Server(|s| s.in_flight as f64), "requests on their way"),
    metric("iofwd_server_oldest_seconds", Gauge, Seconds, Source::Server(|s| s.oldest_ns as f64 / 1e9), "time since the oldest request on its way left"),
    metric("iofwd_server_reads_total", Counter, Count, Source::Server(|s| s.reads as f64), "reads that came back well"),
    metric("iofwd_server_writes_total", Counter, Count, Source::Server(|s| s.writes as f64), "writes that came back well"),
    metric("iofwd_server_read_bytes_total", Counter, Bytes, Source::Server(|s| s.bytes_read as f64), "bytes read"),
    metric("iofwd_server_written_bytes_total", Counter, Bytes, Source::Server(|s| s.bytes_written as f64), "bytes written"),
    metric("iofwd_server_issued_total", Counter, Count, Source::Server(|s| s.issued as f64), "requests that left, one by one"),
    metric("iofwd_server_batches_total", Counter, Count, Source::Server(|s| s.batches as f64), "batches they left in; issued over batches is the merge ratio"),
    metric("iofwd_server_failed_total", Counter, Count, Source::Server(|s| s.failed as f64), "requests that came back with an error"),
    metric("iofwd_server_cancelled_total", Counter, Count, Source::Server(|s| s.cancelled as f64), "requests taken back before they left"),
    metric("iofwd_server_busy_seconds_total", Counter, Seconds, Source::Server(|s| s.busy_ns as f64 / 1e9), "time in which the server had anything on its way; the rest is its idle share"),
    metric("iofwd_server_wait_seconds", Kind::Histogram, Seconds, Source::Times(|s| &s.wait), "time from arrival to leaving"),
    metric("iofwd_server_service_seconds", Kind::Histogram, Seconds, Source::Times(|s| &s.service), "time from leaving to coming back"),

    metric("iofwd_job_queued", Gauge, Count, Source::Job(|j| j.queued as f64), "requests of a job that wait"),
    metric("iofwd_job_requests_total", Counter, Count, Source::Job(|j| j.requests as f64), "requests of a job that came back well; a job that was not seen for long leaves the list"),
    metric("iofwd_job_read_bytes_total", Counter, Bytes, Source::Job(|j| j.bytes_read as f64), "bytes that a job read"),
    metric("iofwd_job_written_bytes_total", Counter, Bytes, Source::Job(|j| j.bytes_written as f64), "bytes that a job wrote"),
    metric("iofwd_job_failed_total", Counter, Count, Source::Job(|j| j.failed as f64), "requests of a job that failed"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_are() {
        for (at, metric) in METRICS.iter().enumerate() {
            let name = metric.name;
            assert!(name.starts_with("iofwd_"), "{name}");
            assert_eq!(name.ends_with("_total"), metric.kind == Counter, "{name}");
            let unit = name.trim_end_matches("_total");
            let says = |word: &str| unit.ends_with(word);
            assert_eq!(says("_bytes"), metric.unit == Bytes, "{name}");
            assert_eq!(says("_seconds"), metric.unit == Seconds, "{name}");
            assert!(metric.meaning.len() > 8, "{name}");
            assert!(METRICS[at + 1..].iter().all(|other| other.name != name), "{name} twice");
        }
    }

    #[test]
    fn only_times_are_histograms() {
        for metric in METRICS {
            let times = matches!(metric.source, Source::Times(_));
            assert_eq!(times, metric.kind == Kind::Histogram, "{}", metric.name);
        }
    }
}
