//! What a scheduler counts: per server, per job, and the shape of what arrives and leaves.
//!
//! Integers only; averages are sums and counts until somebody asks. The sizes and distances are
//! those of the tables of the TWINS thesis (Bez, 2016: 3.1, 3.2, 5.1).

mod files;
mod histogram;
mod jobs;
mod pace;

pub use files::{Files, Moved};
pub use histogram::Histogram;
pub use jobs::Jobs;
pub use pace::Pace;

use crate::batch::Batch;
use crate::policy::Done;
use crate::request::{Extent, FileId, Operation, Request};
use crate::time::Time;

/// Requests and bytes that passed a point, reads and writes apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes of the reads.
    pub bytes_read: u64,
    /// Bytes of the writes.
    pub bytes_written: u64,
}

/// What happened to the requests of a server or a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Submitted.
    pub arrived: Flow,
    /// Issued, one by one whatever batch they were in.
    pub issued: Flow,
    /// Came back without an error, with the bytes that were really moved.
    pub completed: Flow,
    /// Came back with an error.
    pub failed: u64,
    /// Taken back before they were issued.
    pub cancelled: u64,
}

/// How far apart consecutive accesses to one file at one server are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distance {
    /// Sum of the distances in bytes, each from the end of one access to the start of the next.
    pub sum: u64,
    /// Number of distances.
    pub count: u64,
}

/// All counts of one scheduler.
#[derive(Clone, Debug)]
pub struct Stats {
    /// By server.
    pub servers: Vec<Counters>,
    /// How long requests wait for each server and how long it takes.
    pub paces: Vec<Pace>,
    /// By job.
    pub jobs: Jobs,
    /// The files that were used last.
    pub files: Files,
    /// Nanoseconds from arrival to issue.
    pub waits: Histogram,
    /// Members of a batch.
    pub batch_members: Histogram,
    /// Bytes of a batch.
    pub batch_bytes: Histogram,
    /// Distances between requests as they arrive.
    pub distance_in: Distance,
    /// Distances between batches as they leave.
    pub distance_out: Distance,
    /// Requests that had to wait for a conflicting one.
    pub parked: u64,
    /// Changes of policy.
    pub switches: u64,
    last_in: Vec<Option<(FileId, u64)>>,
    last_out: Vec<Option<(FileId, u64)>>,
}

impl Stats {
    pub(crate) fn new(servers: u32) -> Stats {
        let servers = servers as usize;
        Stats {
            servers: vec![Counters::default(); servers],
            paces: vec![Pace::default(); servers],
            jobs: Jobs::default(),
            files: Files::default(),
            waits: Histogram::default(),
            batch_members: Histogram::default(),
            batch_bytes: Histogram::default(),
            distance_in: Distance::default(),
            distance_out: Distance::default(),
            parked: 0,
            switches: 0,
            last_in: vec![None; servers],
            last_out: vec![None; servers],
        }
    }

    pub(crate) fn grow(&mut self, servers: u32) {
        let servers = servers as usize;
        self.servers.resize(servers, Counters::default());
        self.paces.resize(servers, Pace::default());
        self.last_in.resize(servers, None);
        self.last_out.resize(servers, None);
    }

    /// Average size in bytes of the requests that arrived; zero if none did.
    pub fn size_in(&self) -> u64 {
        let (requests, bytes) = self.sum(|counters| counters.arrived);
        bytes.checked_div(requests).unwrap_or(0)
    }

    /// Average size in bytes of the batches that left; zero if none did.
    pub fn size_out(&self) -> u64 {
        let (_, bytes) = self.sum(|counters| counters.issued);
        bytes.checked_div(self.batch_members.count()).unwrap_or(0)
    }

    fn sum(&self, of: impl Fn(&Counters) -> Flow) -> (u64, u64) {
        let flows = self.servers.iter().map(of);
        flows.fold((0, 0), |(n, bytes), flow| (n + flow.requests(), bytes + flow.bytes()))
    }

    pub(crate) fn arrived(&mut self, request: &Request) {
        let server = request.server.index();
        self.distance_in.note(&mut self.last_in[server], request.file, request.local_extent());
        self.each(request, |counters| counters.arrived.note(request.operation, request.length()));
    }

    pub(crate) fn issued(&mut self, now: Time, batch: &Batch) {
        let (server, extent) = (batch.server().index(), batch.local_extent());
        self.distance_out.note(&mut self.last_out[server], batch.file(), extent);
        self.batch_members.record(batch.members() as u64);
        self.batch_bytes.record(extent.length);
        self.paces[server].launch(now, batch.members());
        for request in batch.requests() {
            let wait = now.since(request.arrived);
            self.waits.record(wait.as_nanos());
            self.paces[server].waits.record(wait.as_nanos());
            self.each(request, |counters| {
                counters.issued.note(request.operation, request.length());
            });
        }
    }

    pub(crate) fn completed(&mut self, now: Time, done: &Done) {
        self.paces[done.request.server.index()].land(now, done);
        self.files.note(done.request.file, done.request.operation, done.bytes);
        self.each(&done.request, |counters| {
            if done.failed {
                counters.failed += 1;
            } else {
                counters.completed.note(done.request.operation, done.bytes);
            }
        });
    }

    pub(crate) fn cancelled(&mut self, request: &Request) {
        self.each(request, |counters| counters.cancelled += 1);
    }

    fn each(&mut self, request: &Request, note: impl Fn(&mut Counters)) {
        note(&mut self.servers[request.server.index()]);
        note(self.jobs.of(request.job));
    }
}

impl Flow {
    /// Reads and writes.
    pub const fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Bytes of reads and writes.
    pub const fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    fn note(&mut self, operation: Operation, bytes: u64) {
        match operation {
            Operation::Read => {
                self.reads += 1;
                self.bytes_read += bytes;
            }
            Operation::Write => {
                self.writes += 1;
                self.bytes_written += bytes;
            }
        }
    }

    fn add(&mut self, other: &Flow) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}

impl Counters {
    fn add(&mut self, other: &Counters) {
        self.arrived.add(&other.arrived);
        self.issued.add(&other.issued);
        self.completed.add(&other.completed);
        self.failed += other.failed;
        self.cancelled += other.cancelled;
    }
}

impl Distance {
    /// The average in bytes; zero if there is none.
    pub fn average(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }

    fn note(&mut self, last: &mut Option<(FileId, u64)>, file: FileId, extent: Extent) {
        if let Some((_, end)) = last.filter(|&(before, _)| before == file) {
            self.sum = self.sum.saturating_add(extent.offset.abs_diff(end));
            self.count += 1;
        }
        *last = Some((file, extent.end()));
    }
}
