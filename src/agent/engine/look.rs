//! What an engine does, for those who watch it: copied under the lock, put into words without it.

use std::cmp::Reverse;

use iofwd_scheduler::policy;
use iofwd_scheduler::request::{FileId, ServerId};
use iofwd_scheduler::stats::{Counters, Histogram, Stats};
use iofwd_scheduler::time::Time;

use crate::job::Job as JobName;
use crate::telemetry::snapshot::{Export, File, Issue, Job, Server, Window};
use crate::telemetry::spread::Spread;

use super::Engine;
use super::levels::Levels;
use super::recent::Left;

/// What is copied under the lock.
struct Copied {
    now: Time,
    stats: Stats,
    policy: &'static str,
    window: Option<policy::Window>,
    in_flight: Vec<u32>,
    oldest: Vec<Option<Time>>,
    depth: u32,
    recent: Vec<Left>,
    levels: Levels,
    decision_ns: u64,
}

impl Engine {
    /// What it does now and has done so far. Files are called what `name` calls them.
    pub(crate) fn look(&self, name: &dyn Fn(FileId) -> String) -> Export {
        let copied = self.copy();
        let offset = self.core.clock.offset();
        let (waiting, limit) = self.core.budget.used();
        let mut export = copied.export(offset);
        export.waiting_bytes = waiting as u64;
        export.waiting_bytes_limit = limit as u64;
        export.files = files(&copied.stats, name);
        export
    }

    fn copy(&self) -> Copied {
        let state = self.core.lock();
        let now = self.core.clock.now();
        let scheduler = state.scheduler.scheduler();
        let room = scheduler.room();
        Copied {
            now,
            stats: scheduler.stats().clone(),
            policy: scheduler.policy().name(),
            window: scheduler.policy().window(now),
            in_flight: (0..room.servers()).map(|s| room.in_flight(ServerId(s))).collect(),
            oldest: scheduler.oldest_in_flight(),
            depth: room.each().requests,
            recent: state.scheduler.recent().in_order(),
            levels: state.levels,
            decision_ns: state.costs.median().as_nanos(),
        }
    }
}

impl Copied {
    fn export(&self, offset: i64) -> Export {
        let wall = |time: Time| time.as_nanos().saturating_add_signed(offset);
        let issue =
            |left: &Left| Issue { at_ns: wall(left.at), server: left.server, bytes: left.bytes };
        Export {
            policy: self.policy.into(),
            switches: self.stats.switches,
            window: self.window.map(|window| Window {
                length_ns: window.length.as_nanos(),
                end_ns: wall(window.end),
                turn: window.turn,
                groups: window.groups,
                size: window.size,
                agent: window.agent,
                agents: window.agents,
            }),
            depth: self.depth.into(),
            held: self.stats.parked,
            decision_ns: self.decision_ns,
            levels: self.levels.all(&self.stats),
            servers: (0..self.stats.servers.len()).map(|number| self.server(number)).collect(),
            jobs: jobs(&self.stats),
            recent: self.recent.iter().map(issue).collect(),
            ..Export::default()
        }
    }

    fn server(&self, number: usize) -> Server {
        let (counters, pace) = (&self.stats.servers[number], &self.stats.paces[number]);
        let ago = |time: Time| self.now.since(time).as_nanos();
        Server {
            name: String::new(),
            queued: queued(counters),
            in_flight: self.in_flight.get(number).copied().unwrap_or(0).into(),
            oldest_ns: self.oldest[number].map_or(0, ago),
            reads: counters.completed.reads,
            writes: counters.completed.writes,
            bytes_read: counters.completed.bytes_read,
            bytes_written: counters.completed.bytes_written,
            issued: counters.issued.requests(),
            batches: pace.batches,
            failed: counters.failed,
            failed_ago_ns: pace.failed.map(ago),
            cancelled: counters.cancelled,
            busy_ns: pace.busy(self.now).as_nanos(),
            wait: spread(&pace.waits),
            service: spread(&pace.services),
        }
    }
}

/// Requests that arrived and neither left nor were taken back.
fn queued(counters: &Counters) -> u64 {
    counters.arrived.requests() - counters.issued.requests() - counters.cancelled
}

fn jobs(stats: &Stats) -> Vec<Job> {
    let mut jobs: Vec<_> = stats.jobs.iter().collect();
    jobs.sort_by_key(|(job, counters)| (Reverse(counters.completed.bytes()), *job));
    let job = |(id, counters): (_, &Counters)| {
        let iofwd_scheduler::request::JobId(id) = id;
        Job {
            name: JobName::show(id),
            queued: queued(counters),
            requests: counters.completed.requests(),
            bytes_read: counters.completed.bytes_read,
            bytes_written: counters.completed.bytes_written,
            failed: counters.failed,
        }
    };
    jobs.into_iter().take(JOBS_MOST).map(job).collect()
}

fn files(stats: &Stats, name: &dyn Fn(FileId) -> String) -> Vec<File> {
    let mut files: Vec<_> = stats.files.iter().collect();
    files.sort_by_key(|(id, moved)| (Reverse(moved.bytes_read + moved.bytes_written), *id));
    let file = |(id, moved): (FileId, &iofwd_scheduler::stats::Moved)| File {
        name: name(id),
        requests: moved.requests,
        bytes_read: moved.bytes_read,
        bytes_written: moved.bytes_written,
    };
    files.into_iter().take(FILES_MOST).map(file).collect()
}

fn spread(histogram: &Histogram) -> Spread {
    Spread {
        count: histogram.count(),
        sum: u64::try_from(histogram.sum()).unwrap_or(u64::MAX),
        largest: histogram.largest(),
        buckets: histogram.buckets().collect(),
    }
}

/// Jobs that are shown: names that Prometheus has to keep.
const JOBS_MOST: usize = 64;
const FILES_MOST: usize = 16;
