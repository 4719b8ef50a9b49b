//! What it costs to queue a request and to choose one, at a steady depth of the queue.
//!
//! `policy/...` is a policy alone: push and next. `scheduler/...` is the whole way of a request:
//! submit, poll, complete, with hazards and counters. The workloads are 4 KiB requests at random
//! offsets of one file, and the same spread over 10,000 files; `reads` and `mixed` (half writes) apart
//! where hazards matter. One criterion element is one request; times are those of the processor.

#[path = "policies/cpu.rs"]
mod cpu;

use std::hint::black_box;
use std::time::Duration;

use cpu::CpuTime;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use iofwd_scheduler::policy::{ALL, Decision, Entry, Limit, Policy, Room, Setup};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Config, Outcome, Scheduler};
use iofwd_scheduler::time::{Span, Time};

const SERVERS: u32 = 4;
const LENGTH: u64 = 4 << 10;
const STRIPE: u64 = 64 << 10;
const DEPTHS: [usize; 3] = [1_000, 20_000, 1_000_000];

/// Requests at random offsets of some files.
struct Source {
    state: u64,
    made: u64,
    files: u64,
    writes: bool,
    now: Time,
}

impl Source {
    fn new(files: u64, writes: bool) -> Source {
        Source { state: 1, made: 0, files, writes, now: Time::ZERO }
    }

    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }

    fn next(&mut self) -> Request {
        let random = self.random();
        let offset = random % (1 << 28) * LENGTH;
        let server = offset / STRIPE % u64::from(SERVERS);
        let row = offset / (STRIPE * u64::from(SERVERS));
        self.made += 1;
        self.now += Span::from_nanos(100);
        let write = self.writes && random >> 63 == 1;
        Request {
            id: RequestId(self.made),
            file: FileId((random >> 32) % self.files),
            job: JobId(random >> 60),
            server: ServerId(u32::try_from(server).expect("a remainder of a u32")),
            operation: if write { Operation::Write } else { Operation::Read },
            extent: Extent::new(offset, LENGTH),
            local: row * STRIPE + offset % STRIPE,
            arrived: self.now,
        }
    }
}

/// A policy alone, kept at a depth.
struct Alone {
    policy: Box<dyn Policy>,
    source: Source,
    room: Room,
    depth: usize,
}

impl Alone {
    fn new(entry: &Entry, files: u64, depth: usize) -> Alone {
        let policy = (entry.make)(&Setup::new(SERVERS));
        let room = Room::unbounded(SERVERS);
        let mut alone = Alone { policy, source: Source::new(files, true), room, depth };
        (0..depth).for_each(|_| alone.push());
        alone
    }

    fn push(&mut self) {
        let request = self.source.next();
        self.policy.push(self.source.now, request);
    }

    /// Lets one request in, and out whatever makes the queue deeper than it should be.
    fn step(&mut self) {
        self.push();
        while self.policy.len() > self.depth {
            match self.policy.next(self.source.now, &self.room) {
                Decision::Issue(batch) => drop(black_box(batch)),
                Decision::WaitUntil(time) => self.source.now = time,
                Decision::Empty => unreachable!("the queue is deep"),
            }
        }
    }
}

/// The whole scheduler, kept at a depth; what is issued completes at once.
struct Whole {
    scheduler: Scheduler,
    source: Source,
    depth: usize,
}

impl Whole {
    fn new(entry: &Entry, files: u64, writes: bool, depth: usize) -> Whole {
        let setup = Setup::new(SERVERS);
        let config = Config { each: Limit::NONE, total: Limit::NONE, ..Config::new(setup) };
        let scheduler = Scheduler::new(&config, (entry.make)(&setup));
        let mut whole = Whole { scheduler, source: Source::new(files, writes), depth };
        (0..depth).for_each(|_| whole.submit());
        whole
    }

    fn submit(&mut self) {
        let request = self.source.next();
        self.scheduler.submit(self.source.now, request);
    }

    fn step(&mut self) {
        self.submit();
        while self.scheduler.queued() > self.depth {
            match self.scheduler.poll(self.source.now) {
                Decision::Issue(batch) => {
                    for request in batch.requests() {
                        let outcome = Outcome { bytes: LENGTH, failed: false };
                        self.scheduler.complete(self.source.now, request.id, outcome);
                    }
                }
                Decision::WaitUntil(time) => self.source.now = time,
                Decision::Empty => unreachable!("the queue is deep"),
            }
        }
    }
}

fn policies(criterion: &mut Criterion<CpuTime>) {
    for (workload, files) in [("one-file", 1), ("10k-files", 10_000)] {
        let mut group = criterion.benchmark_group(format!("policy/{workload}"));
        group.throughput(Throughput::Elements(1));
        for entry in ALL {
            for depth in DEPTHS {
                let mut state = None;
                group.bench_function(BenchmarkId::new(entry.name, depth), |bencher| {
                    let alone = state.get_or_insert_with(|| Alone::new(entry, files, depth));
                    bencher.iter(|| alone.step());
                });
            }
        }
    }
}

fn schedulers(criterion: &mut Criterion<CpuTime>) {
    for (workload, files, writes) in [
        ("one-file-reads", 1, false),
        ("one-file-mixed", 1, true),
        ("10k-files-mixed", 10_000, true),
    ] {
        let mut group = criterion.benchmark_group(format!("scheduler/{workload}"));
        group.throughput(Throughput::Elements(1));
        for entry in ALL {
            for depth in DEPTHS {
                let mut state = None;
                group.bench_function(BenchmarkId::new(entry.name, depth), |bencher| {
                    let whole =
                        state.get_or_insert_with(|| Whole::new(entry, files, writes, depth));
                    bencher.iter(|| whole.step());
                });
            }
        }
    }
}

/// Short runs: there are many, and the differences looked for are large.
fn settings() -> Criterion<CpuTime> {
    Criterion::default()
        .with_measurement(CpuTime)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
}

criterion_group! {
    name = benches;
    config = settings();
    targets = policies, schedulers
}
criterion_main!(benches);
