//! Behaviour as pictures: what each policy issues in a few scenarios, line by line.
//!
//! A change of behaviour shows as a change of `golden/<scenario>.<policy>.txt`. `IOFWD_BLESS=1` in the
//! environment rewrites the files; the diff is for the reviewer.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use iofwd_scheduler::policy::{ALL, Batch, Decision, Entry, Limit, Setup};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Config, Outcome, Scheduler};
use iofwd_scheduler::time::{Span, Time};

const SERVERS: u64 = 4;
const STRIPE: u64 = 64 << 10;

/// Requests with the times of their arrival, in order.
struct Scenario {
    name: &'static str,
    requests: Vec<Request>,
}

impl Scenario {
    fn new(name: &'static str) -> Scenario {
        Scenario { name, requests: Vec::new() }
    }

    /// Adds one request of `kib` KiB, on a simple stripe over all servers.
    fn add(
        &mut self,
        micros: u64,
        job: u64,
        file: u64,
        operation: Operation,
        at_kib: u64,
        kib: u64,
    ) {
        let offset = at_kib << 10;
        let server = (file + offset / STRIPE) % SERVERS;
        self.requests.push(Request {
            id: RequestId(self.requests.len() as u64 + 1),
            file: FileId(file),
            job: JobId(job),
            server: ServerId(server as u32),
            operation,
            extent: Extent::new(offset, kib << 10),
            local: offset / (STRIPE * SERVERS) * STRIPE + offset % STRIPE,
            arrived: Time::ZERO + Span::from_micros(micros),
        });
    }
}

/// Eight processes read one shared file, each the next 32 KiB of its own eighth.
fn contiguous() -> Scenario {
    let mut scenario = Scenario::new("contiguous");
    for step in 0..4 {
        for process in 0..8 {
            let offset = process * 256 + step * 32;
            scenario.add(step * 150 + process * 3, 1, 0, Operation::Read, offset, 32);
        }
    }
    scenario
}

/// Eight processes write one shared file in turns, 32 KiB each: one-dimensional strided.
fn strided() -> Scenario {
    let mut scenario = Scenario::new("strided");
    for step in 0..4 {
        for process in 0..8 {
            let offset = (step * 8 + (process * 5 + step) % 8) * 32;
            scenario.add(step * 150 + process * 3, 1, 0, Operation::Write, offset, 32);
        }
    }
    scenario
}

/// Two jobs: a large one that reads and rewrites one file, a small one with three small files.
fn jobs() -> Scenario {
    let mut scenario = Scenario::new("jobs");
    for step in 0..12 {
        let operation = if step % 3 == 2 { Operation::Write } else { Operation::Read };
        scenario.add(step * 40, 1, 0, operation, step / 3 * 64, 64);
        if step % 2 == 0 {
            scenario.add(step * 40 + 7, 2, 1 + step / 2 % 3, Operation::Read, step * 8, 8);
        }
    }
    scenario
}

/// Plays a scenario on disks of 125 MB/s, one batch after the other, up to four requests at once.
fn play(entry: &Entry, scenario: &Scenario) -> String {
    let setup = Setup::new(SERVERS as u32);
    let config = Config { each: Limit::new(4, u64::MAX), ..Config::new(setup) };
    let mut scheduler = Scheduler::new(&config, (entry.make)(&setup));
    let mut arrivals = scenario.requests.iter().copied().peekable();
    let mut running: BTreeSet<(Time, RequestId, u64)> = BTreeSet::new();
    let mut free = [Time::ZERO; SERVERS as usize];
    let mut table = format!(
        "{:>7} {:>6} {:>4} {:>2} {:>7} {:>7} {:>3} {:>7}\n",
        "time_us", "server", "file", "op", "at_KiB", "KiB", "n", "wait_us"
    );
    let mut now = Time::ZERO;
    loop {
        while let Some(request) = arrivals.next_if(|request| request.arrived <= now) {
            scheduler.submit(now, request);
        }
        while let Some(&(end, id, bytes)) = running.first().filter(|(end, ..)| *end <= now) {
            running.remove(&(end, id, bytes));
            scheduler.complete(now, id, Outcome { bytes, failed: false });
        }
        let wake = loop {
            match scheduler.poll(now) {
                Decision::Issue(batch) => {
                    let free = &mut free[batch.server().index()];
                    *free = (*free).max(now) + Span::from_nanos(100_000 + batch.bytes() * 8);
                    let members = batch.requests().iter();
                    running.extend(members.map(|request| (*free, request.id, request.length())));
                    line(&mut table, now, &batch);
                }
                Decision::WaitUntil(time) => break time,
                Decision::Empty => break Time::NEVER,
            }
        };
        let arrival = arrivals.peek().map_or(Time::NEVER, |request| request.arrived);
        let completion = running.first().map_or(Time::NEVER, |&(end, ..)| end);
        now = arrival.min(completion).min(wake);
        if now == Time::NEVER {
            break;
        }
    }
    summary(&mut table, &scheduler);
    table
}

fn line(table: &mut String, now: Time, batch: &Batch) {
    let oldest = batch.requests().iter().map(|request| request.arrived).min();
    let operation = match batch.operation() {
        Operation::Read => "r",
        Operation::Write => "w",
    };
    let row = writeln!(
        table,
        "{:>7} {:>6} {:>4} {:>2} {:>7} {:>7} {:>3} {:>7}",
        now.as_nanos() / 1_000,
        batch.server().0,
        batch.file().0,
        operation,
        batch.local_extent().offset >> 10,
        batch.bytes() >> 10,
        batch.members(),
        now.since(oldest.unwrap_or(now)).as_nanos() / 1_000,
    );
    row.expect("a string takes everything");
}

/// The averages that the literature prints.
fn summary(table: &mut String, scheduler: &Scheduler) {
    let stats = scheduler.stats();
    assert_eq!((scheduler.queued(), scheduler.in_flight()), (0, 0), "everything is done");
    let rows = [
        ("average request in, bytes", stats.size_in()),
        ("average request out, bytes", stats.size_out()),
        ("average distance out, bytes", stats.distance_out.average()),
        ("average wait, ns", stats.waits.average()),
        ("longest wait, ns", stats.waits.largest()),
    ];
    for (name, value) in rows {
        writeln!(table, "{name:<30} {value:>12}").expect("a string takes everything");
    }
}

#[expect(clippy::disallowed_methods, reason = "a test may ask how it was called")]
fn is_blessing() -> bool {
    std::env::var_os("IOFWD_BLESS").is_some()
}

#[test]
fn every_policy_behaves_as_pictured() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut changed = Vec::new();
    for scenario in [contiguous(), strided(), jobs()] {
        for entry in ALL {
            let path = folder.join(format!("{}.{}.txt", scenario.name, entry.name));
            let played = play(entry, &scenario);
            if is_blessing() {
                std::fs::write(&path, &played).expect("the folder can be written");
            } else if std::fs::read_to_string(&path).ok().as_deref() != Some(&played) {
                changed.push(format!("{}:\n{played}", path.display()));
            }
        }
    }
    assert!(changed.is_empty(), "IOFWD_BLESS=1 accepts this:\n{}", changed.join("\n"));
}

#[test]
fn no_picture_is_left_of_what_is_gone() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    assert!(is_blessing() || entries.count() == 3 * ALL.len(), "a file too many or too few");
}
