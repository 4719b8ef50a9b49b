//! A request that is let pass without a queue goes out when it would have gone out from one, and
//! everything after it is the same: two schedulers side by side, one asked in either way.

#[path = "contract/random.rs"]
mod random;

use iofwd_scheduler::policy::{
    ALL, Decision, Limit, Mode, Phase, Policy, Setup, Twins, TwinsSettings,
};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Config, Outcome, Scheduler};
use iofwd_scheduler::time::{Span, Time};
use random::Random;

type Maker = fn(&Setup) -> Box<dyn Policy>;

fn twins(setup: &Setup, settings: TwinsSettings) -> Box<dyn Policy> {
    Box::new(Twins::new(setup, settings))
}

const VARIANTS: &[Maker] = &[
    |setup| twins(setup, TwinsSettings { mode: Mode::Conserving, ..TwinsSettings::default() }),
    |setup| twins(setup, TwinsSettings { phase: Phase::Local, ..TwinsSettings::default() }),
    |setup| twins(setup, TwinsSettings { group: 2, blind: 4096, ..TwinsSettings::default() }),
    |setup| twins(&Setup { agent: 1, agents: 3, ..*setup }, TwinsSettings::default()),
];

/// What is in flight, and the two schedulers.
struct Pair {
    plain: Scheduler,
    passing: Scheduler,
    flying: Vec<Request>,
    passed: usize,
}

impl Pair {
    fn new(make: Maker, setup: Setup, each: Limit) -> Pair {
        let config = Config { each, ..Config::new(setup) };
        let new = || Scheduler::new(&config, make(&setup));
        Pair { plain: new(), passing: new(), flying: Vec::new(), passed: 0 }
    }

    fn arrive(&mut self, now: Time, request: Request) {
        self.plain.submit(now, request);
        let (mut issued, then) = issue(&mut self.plain, now);
        let passed = self.passing.admit(now, request);
        let (rest, after) = issue(&mut self.passing, now);
        let mut ways: Vec<Vec<Request>> = passed.then(|| vec![request]).into_iter().collect();
        ways.extend(rest);
        assert_eq!((&issued, then), (&ways, after), "{request:?} at {now:?}");
        self.passed += usize::from(passed);
        self.flying.extend(issued.drain(..).flatten());
    }

    fn come_back(&mut self, now: Time, index: usize, failed: bool) {
        let request = self.flying.swap_remove(index);
        let outcome = Outcome { bytes: if failed { 0 } else { request.length() }, failed };
        let done = self.plain.complete(now, request.id, outcome);
        assert_eq!(done, self.passing.complete(now, request.id, outcome));
        self.ask(now);
    }

    fn ask(&mut self, now: Time) {
        let (issued, then) = issue(&mut self.plain, now);
        let (other, after) = issue(&mut self.passing, now);
        assert_eq!((&issued, then), (&other, after), "at {now:?}");
        self.flying.extend(issued.into_iter().flatten());
    }
}

/// All batches that go out, and what the policy says then.
fn issue(scheduler: &mut Scheduler, now: Time) -> (Vec<Vec<Request>>, Decision) {
    let mut batches = Vec::new();
    loop {
        match scheduler.poll(now) {
            Decision::Issue(batch) => batches.push(batch.requests().to_vec()),
            then @ (Decision::WaitUntil(_) | Decision::Empty) => return (batches, then),
        }
    }
}

fn request(id: u64, now: Time, servers: u32, random: &mut Random) -> Request {
    let offset = random.below(64) * 4096;
    Request {
        id: RequestId(id),
        file: FileId(random.below(2)),
        job: JobId(random.below(3)),
        server: ServerId(random.below(servers.into()) as u32),
        operation: if random.percent(30) { Operation::Write } else { Operation::Read },
        extent: Extent::new(offset, 4096 * random.between(1, 64)),
        local: offset,
        arrived: now,
    }
}

/// A life of the pair; how often a request was let pass.
fn live(seed: u64, make: Maker) -> usize {
    let mut random = Random::new(seed);
    let servers = random.between(1, 3) as u32;
    let tight = random.percent(30);
    let each = if tight { Limit::new(2, 256 << 10) } else { Limit::new(64, 64 << 20) };
    let mut pair = Pair::new(make, Setup::new(servers), each);
    let mut now = Time::ZERO;
    for id in 0..300 {
        now += Span::from_nanos(random.below(400_000));
        pair.ask(now);
        pair.arrive(now, request(id, now, servers, &mut random));
        while !pair.flying.is_empty() && random.percent(60) {
            now += Span::from_nanos(random.below(50_000));
            let index = random.below(pair.flying.len() as u64) as usize;
            pair.come_back(now, index, random.percent(5));
        }
    }
    assert_eq!(format!("{:?}", pair.plain.stats()), format!("{:?}", pair.passing.stats()));
    pair.passed
}

#[test]
fn a_request_that_passes_would_have_gone_out_from_the_queue() {
    for entry in ALL {
        let passed: usize = (0..60).map(|seed| live(seed, entry.make)).sum();
        let lets_pass = ["none", "fifo", "twins"].contains(&entry.name);
        assert_eq!(passed > 100, lets_pass, "{}: {passed} passed", entry.name);
    }
}

#[test]
fn it_is_so_for_every_kind_of_window() {
    for (nth, &make) in VARIANTS.iter().enumerate() {
        let passed: usize = (100..160).map(|seed| live(seed, make)).sum();
        assert!(passed > 100, "variant {nth}: {passed} passed");
    }
}
