//! TWINS: the seven things the published code gets wrong, one test each, and its variants.

use std::collections::BTreeSet;

use iofwd_scheduler::policy::{
    ALL, Batch, Decision, Directive, Limit, Mode, Phase, Policy, Room, Setup, Twins, TwinsSettings,
    by_name,
};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Cancelled, Config, Outcome, Scheduler};
use iofwd_scheduler::time::{Span, Time};

const WINDOW: Span = Span::from_millis(1);

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// A read of its own file, so that nothing merges.
fn request(id: u64, server: u32, length: u64) -> Request {
    Request {
        id: RequestId(id),
        file: FileId(id),
        job: JobId(0),
        server: ServerId(server),
        operation: Operation::Read,
        extent: Extent::new(0, length),
        local: 0,
        arrived: Time::ZERO,
    }
}

fn twins(servers: u32, settings: TwinsSettings) -> Twins {
    Twins::new(&Setup::new(servers), settings)
}

fn strict() -> TwinsSettings {
    TwinsSettings::default()
}

fn issued(decision: &Decision) -> Option<&Batch> {
    match decision {
        Decision::Issue(batch) => Some(batch),
        Decision::WaitUntil(_) | Decision::Empty => None,
    }
}

/// Of a thousand windows, how many pass without anything being issued though all of the first
/// `servers` servers have requests.
fn idle_windows(policy: &mut dyn Policy, servers: u32) -> u64 {
    let room = Room::unbounded(servers + 1);
    for id in 0..8_000 {
        policy.push(Time::ZERO, request(id, (id % u64::from(servers)) as u32, 4_096));
    }
    let idle = |window: &u64| issued(&policy.next(millis(*window), &room)).is_none();
    (0..1_000).filter(idle).count() as u64
}

#[test]
fn defect_1_no_window_is_idle_while_all_servers_are_backlogged() {
    for servers in [1, 2, 4, 8] {
        assert_eq!(idle_windows(&mut twins(servers, strict()), servers), 0, "{servers} servers");
    }
    let phantom = idle_windows(&mut twins(5, strict()), 4);
    assert_eq!(phantom, 200, "an extra queue costs a window in each round, and is seen here");
}

#[test]
fn defect_2_waiting_costs_no_wake_ups() {
    let room = Room::unbounded(8);
    let mut twins = twins(8, strict());
    assert_eq!(twins.next(at(0), &room), Decision::Empty);
    twins.push(at(0), request(1, 7, 100));
    let (mut now, mut asked) = (at(0), 0);
    while let Decision::WaitUntil(time) = twins.next(now, &room) {
        (now, asked) = (time, asked + 1);
    }
    assert_eq!((now, asked), (millis(7), 1), "woken once, when the window begins");
    assert_eq!(twins.next(now, &room), Decision::Empty);
}

#[test]
fn defect_3_nothing_is_dropped_at_exit() {
    let setup = Setup::new(4);
    for entry in ALL {
        let config = Config { each: Limit::new(1, u64::MAX), ..Config::new(setup) };
        let mut scheduler = Scheduler::new(&config, (entry.make)(&setup));
        for id in 0..1_000 {
            scheduler.submit(Time::ZERO, request(id, (id % 4) as u32, 4_096));
        }
        let mut seen = BTreeSet::new();
        while let Decision::Issue(batch) = scheduler.poll(Time::ZERO) {
            seen.extend(batch.requests().iter().map(|request| request.id));
        }
        seen.extend(scheduler.drain().iter().map(|request| request.id));
        assert_eq!(seen.len(), 1_000, "{}", entry.name);
    }
}

/// An agent with a clock of its own that began at some moment of the shared one.
struct Agent {
    twins: Twins,
    origin: u64,
}

impl Agent {
    fn new(agent: u32, agents: u32, servers: u32, origin: u64) -> Agent {
        let setup = Setup { agent, agents, ..Setup::new(servers) };
        Agent { twins: Twins::new(&setup, strict()), origin }
    }

    /// Tells it by how much the shared clock, off by `step` from true time, differs from its own.
    fn tell(&mut self, time: u64, step: i64) {
        let offset = i64::try_from(self.origin).expect("a short run") + step;
        self.twins.direct(at(time - self.origin), &Directive::ClockOffset(offset));
    }

    fn aim(&mut self, time: u64) -> u32 {
        self.twins.aim(at(time - self.origin)).start
    }
}

#[test]
fn defect_4_agents_never_aim_at_the_same_server_in_a_million_windows() {
    for (servers, agents, windows) in [(5, 4, 1_000_000), (4, 4, 1_000_000), (9, 2, 100_000)] {
        aim_apart(servers, agents, windows);
    }
}

/// Agents that join late and whose shared clock steps, both now and then.
fn aim_apart(servers: u32, agents: u32, windows: u64) {
    let mut all: Vec<Agent> = vec![Agent::new(0, agents, servers, 0)];
    let (mut step, mut state) = (0_i64, 7_u64);
    for window in 0..windows {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let time = window * WINDOW.as_nanos() + (state >> 40) % WINDOW.as_nanos();
        if window % 1_000 == 999 && all.len() < agents as usize {
            all.push(Agent::new(all.len() as u32, agents, servers, time));
            all.iter_mut().for_each(|agent| agent.tell(time, step));
        }
        if window % 10_007 == 10_006 {
            step += (state >> 30) as i64 % 10_000_000_000 - 5_000_000_000;
            all.iter_mut().for_each(|agent| agent.tell(time, step));
        }
        let first = all[0].aim(time);
        for (n, agent) in (0..).zip(&mut all) {
            assert_eq!(agent.aim(time), (first + n) % servers, "window {window}, agent {n}");
        }
    }
    assert_eq!(all.len(), agents as usize, "all have joined");
}

#[test]
fn a_step_of_the_clock_neither_stalls_nor_bursts() {
    let room = Room::unbounded(4);
    for step in [-86_400_000_000_000, -1_500_000, 1_500_000, 86_400_000_000_000] {
        let mut twins = twins(4, strict());
        (0..8).for_each(|id| twins.push(at(0), request(id, 2, 4_096)));
        twins.next(at(0), &room);
        twins.direct(at(100), &Directive::ClockOffset(step));
        let wait = match twins.next(at(100), &room) {
            Decision::WaitUntil(time) => time.since(at(100)),
            Decision::Issue(_) | Decision::Empty => Span::ZERO,
        };
        assert!(wait <= WINDOW * 4, "step {step}: waits {wait}");
        let server = twins.aim(at(100)).start;
        let clock = 100 + step;
        assert_eq!(i64::from(server), clock.div_euclid(1_000_000).rem_euclid(4), "step {step}");
    }
}

#[test]
fn defect_5_a_late_wake_up_finds_the_server_of_that_time() {
    let room = Room::unbounded(4);
    for late in [0, 1, 2, 3, 5, 4_002, 1_000_003] {
        let mut twins = twins(4, strict());
        (0..4).for_each(|server| twins.push(at(0), request(server.into(), server, 4_096)));
        let decision = twins.next(millis(late) + Span::from_micros(999), &room);
        let batch = issued(&decision).expect("every server has a request");
        assert_eq!(u64::from(batch.server().0), late % 4);
    }
}

/// Four servers that always have more to do than they can: one request after the other, at a byte in
/// so many nanoseconds, and a way there and back.
struct Backlog {
    scheduler: Scheduler,
    length: u64,
    per_byte: u64,
    way: Span,
    free: [Time; 4],
    /// What is under way: when it will be back, its id.
    running: BTreeSet<(Time, RequestId)>,
    /// When servers were done with something later than in its window.
    late: Vec<Time>,
    /// The windows in which anything was issued.
    used: BTreeSet<u64>,
}

impl Backlog {
    fn new(length: u64, per_byte: u64, way: Span) -> Backlog {
        let setup = Setup::new(4);
        let mut scheduler = Scheduler::new(&Config::new(setup), Box::new(twins(4, strict())));
        (0..60_000).for_each(|id| scheduler.submit(at(0), request(id, (id % 4) as u32, length)));
        let (running, late, used) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        Backlog { scheduler, length, per_byte, way, free: [Time::ZERO; 4], running, late, used }
    }

    /// The server begins when the batch has reached it, and no earlier than it is free.
    fn issue(&mut self, now: Time, batch: &Batch) {
        self.used.insert(now.as_nanos() / 1_000_000);
        // What leaves at the end of a window reaches its server as late as what leaves at the
        // beginning of the next: windows at the servers lie one way behind.
        let window_end = at((now.as_nanos() / 1_000_000 + 1) * 1_000_000) + self.way;
        let server = &mut self.free[batch.server().index()];
        *server = (*server).max(now + self.way) + Span::from_nanos(batch.bytes() * self.per_byte);
        let done = *server;
        self.running.extend(batch.requests().iter().map(|request| (done + self.way, request.id)));
        self.late.extend((done > window_end).then_some(now));
    }

    fn run(&mut self, until: Time) {
        let mut now = Time::ZERO;
        while now < until {
            let wake = loop {
                match self.scheduler.poll(now) {
                    Decision::Issue(batch) => self.issue(now, &batch),
                    Decision::WaitUntil(time) => break time,
                    Decision::Empty => unreachable!("there is more than can be done"),
                }
            };
            now = self.running.first().map_or(wake, |&(back, _)| back.min(wake));
            while let Some(&(_, id)) = self.running.first().filter(|&&(back, _)| back <= now) {
                self.running.pop_first();
                let outcome = Outcome { bytes: self.length, failed: false };
                self.scheduler.complete(now, id, outcome);
            }
        }
    }

    /// Requests done per window, in hundredths.
    fn per_window(&self, windows: u64) -> u64 {
        let servers = &self.scheduler.stats().servers;
        servers.iter().map(|server| server.completed.requests()).sum::<u64>() * 100 / windows
    }
}

#[test]
fn defect_1_no_window_is_idle_whatever_the_servers_are_like() {
    for (length, per_byte, way) in [(64 << 10, 1, 0), (50_000, 2, 100), (60_000, 10, 0)] {
        let mut backlog = Backlog::new(length, per_byte, Span::from_micros(way));
        backlog.run(millis(400));
        // The first window is blind, and what was too much in it lasts for some more.
        let idle = (40..400).filter(|window| !backlog.used.contains(window)).count();
        assert_eq!(idle, 0, "{length} B, {per_byte} ns each, {way} us away");
    }
}

#[test]
fn defect_6_what_is_issued_in_a_window_is_done_when_it_ends() {
    let mut backlog = Backlog::new(64 << 10, 1, Span::ZERO);
    backlog.run(millis(400));
    let late = backlog.late.iter().filter(|&&issued| issued >= millis(40)).count();
    assert_eq!(late, 0, "fifteen fit, and fifteen go");
    assert!(backlog.per_window(400) >= 1_400, "windows are used: {}", backlog.per_window(400));
}

#[test]
fn defect_6_a_long_way_is_no_slow_server() {
    // 0.2 ms there and back, 0.1 ms of work: alone it looks as if three fitted into a window.
    let mut backlog = Backlog::new(50_000, 2, Span::from_micros(100));
    backlog.run(millis(400));
    let late = backlog.late.iter().filter(|&&issued| issued >= millis(40)).count();
    assert_eq!(late, 0);
    assert!(backlog.per_window(400) >= 800, "{}", backlog.per_window(400));
}

#[test]
fn defect_6_a_server_that_shows_only_its_latency_is_tried_with_more() {
    // Begun with one at a time, because the first window is blind and small.
    let settings = TwinsSettings { blind: 1, ..strict() };
    let mut backlog = Backlog::new(50_000, 2, Span::from_micros(300));
    let policy = Box::new(twins(4, settings));
    backlog.scheduler.switch(at(0), policy);
    backlog.run(millis(800));
    assert!(backlog.per_window(800) >= 500, "0.7 ms each alone: {}", backlog.per_window(800));
}

#[test]
fn defect_6_attempts_that_fail_become_rare() {
    // 0.6 ms of work: one fits, two do not, and only an attempt can tell.
    let mut backlog = Backlog::new(60_000, 10, Span::ZERO);
    backlog.run(millis(8_000));
    assert_eq!(backlog.per_window(8_000) / 100, 1);
    let late = backlog.late.iter().filter(|&&issued| issued >= millis(4_000)).count();
    assert!(late <= 8, "of 4,000 windows {late} were late");
}

#[test]
fn defect_6_a_server_too_slow_for_its_window_still_gets_one_batch() {
    let mut room = Room::unbounded(2);
    let mut twins = twins(2, strict());
    (0..9).for_each(|id| twins.push(at(0), request(id, 0, 1 << 20)));
    let slow = |policy: &mut Twins, room: &mut Room, start: Time| {
        let decision = policy.next(start, room);
        let Some(batch) = issued(&decision) else { return false };
        batch.requests().iter().for_each(|request| room.take(request));
        true
    };
    assert!(slow(&mut twins, &mut room, millis(0)));
    let first = request(0, 0, 1 << 20);
    room.give_back(&first);
    let done = iofwd_scheduler::policy::Done {
        request: first,
        issued: millis(0),
        bytes: 1 << 20,
        failed: false,
    };
    twins.complete(millis(50), &done);
    assert!(slow(&mut twins, &mut room, millis(50)), "20 KiB fit, 1 MiB goes all the same");
    assert!(!slow(&mut twins, &mut room, millis(50)), "but only one");
    assert!(!slow(&mut twins, &mut room, millis(52)), "and not while it is outstanding");
}

#[test]
fn defect_7_cancel_finds_its_request_and_the_policy_can_be_changed() {
    let setup = Setup::new(4);
    let mut scheduler = Scheduler::new(&Config::new(setup), by_name("twins", &setup).unwrap());
    (0..12).for_each(|id| scheduler.submit(at(0), request(id, (id % 4) as u32, 4_096)));
    for id in [3, 6, 9] {
        let answer = scheduler.cancel(at(1), RequestId(id));
        assert!(matches!(answer, Cancelled::Queued(request) if request.id.0 == id));
    }
    let ids = |scheduler: &mut Scheduler| {
        let mut ids = Vec::new();
        while let Decision::Issue(batch) = scheduler.poll(at(2)) {
            ids.extend(batch.requests().iter().map(|request| request.id.0));
        }
        ids
    };
    assert_eq!(ids(&mut scheduler), [0, 4, 8], "the first window is the first server's");
    scheduler.switch(at(2), by_name("fifo", &setup).unwrap());
    assert_eq!(ids(&mut scheduler), [1, 2, 5, 7, 10, 11]);
}

#[test]
fn with_one_server_nothing_is_ever_held_back() {
    let room = Room::unbounded(1);
    let mut twins = twins(1, TwinsSettings { blind: 1, ..strict() });
    (0..100).for_each(|id| twins.push(at(0), request(id, 0, 1 << 20)));
    for id in 0..100 {
        let decision = twins.next(at(5), &room);
        assert_eq!(issued(&decision).map(|batch| batch.first().id.0), Some(id));
    }
}

#[test]
fn conserving_gives_an_empty_window_to_the_fullest_queue_that_nobody_owns() {
    let setup = Setup { agent: 0, agents: 2, ..Setup::new(4) };
    let settings = TwinsSettings { mode: Mode::Conserving, ..strict() };
    let mut twins = Twins::new(&setup, settings);
    let room = Room::unbounded(4);
    (0..9).for_each(|id| twins.push(at(0), request(id, 1, 4_096)));
    twins.push(at(0), request(20, 2, 4_096));
    (30..32).for_each(|id| twins.push(at(0), request(id, 3, 4_096)));
    let decision = twins.next(at(0), &room);
    let server = issued(&decision).map(|batch| batch.server().0);
    assert_eq!(server, Some(3), "server 1 is fuller but belongs to agent 1 now");
    twins.push(at(1), request(40, 0, 4_096));
    let decision = twins.next(at(1), &room);
    assert_eq!(issued(&decision).map(|batch| batch.server().0), Some(0), "our own comes first");
}

#[test]
fn strict_waits_though_others_have_requests() {
    let room = Room::unbounded(4);
    let mut twins = twins(4, strict());
    twins.push(at(0), request(1, 3, 4_096));
    assert_eq!(twins.next(at(0), &room), Decision::WaitUntil(millis(3)));
    twins.push(at(5), request(2, 0, 4_096));
    let decision = twins.next(at(5), &room);
    assert_eq!(issued(&decision).map(|batch| batch.server().0), Some(0));
}

#[test]
fn a_group_of_servers_shares_a_window() {
    let room = Room::unbounded(5);
    let mut twins = twins(5, TwinsSettings { group: 2, ..strict() });
    (0..5).for_each(|server| twins.push(at(0), request(server.into(), server, 4_096)));
    for (window, servers) in [(0, 0..2), (1, 2..4), (2, 4..5), (3, 0..2)] {
        assert_eq!(twins.aim(millis(window)), servers);
        for server in servers.filter(|_| window < 3) {
            let decision = twins.next(millis(window), &room);
            assert_eq!(issued(&decision).map(|batch| batch.server().0), Some(server));
        }
    }
}

#[test]
fn local_phase_starts_at_the_first_attempt_and_then_keeps_time() {
    let room = Room::unbounded(3);
    let mut twins = twins(3, TwinsSettings { phase: Phase::Local, ..strict() });
    let start = at(123_456_789);
    (0..3).for_each(|server| twins.push(at(0), request(server.into(), server, 4_096)));
    let decision = twins.next(start, &room);
    assert_eq!(issued(&decision).map(|batch| batch.server().0), Some(0));
    assert_eq!(twins.next(start, &room), Decision::WaitUntil(start + WINDOW));
    assert_eq!(twins.aim(start + Span::from_micros(5_900)), 2..3);
    twins.direct(start, &Directive::ClockOffset(77));
    assert_eq!(twins.aim(start + Span::from_micros(5_900)), 2..3, "its clock is its own");
}

#[test]
fn a_window_aggregates_what_touches_at_the_server() {
    let room = Room::unbounded(2);
    let mut twins = twins(2, strict());
    let piece = |id: u64, local: u64| Request { file: FileId(1), local, ..request(id, 0, 100) };
    [(1, 500), (2, 400), (3, 600), (4, 800)].into_iter().for_each(|(id, local)| {
        twins.push(at(0), piece(id, local));
    });
    let decision = twins.next(at(0), &room);
    let members = issued(&decision).unwrap().requests().iter().map(|request| request.id.0);
    assert_eq!(members.collect::<Vec<_>>(), [2, 1, 3]);
}

#[test]
fn a_directive_sets_the_window_and_nonsense_is_ignored() {
    let mut twins = twins(4, strict());
    twins.direct(at(0), &Directive::Window(Span::from_millis(8)));
    assert_eq!(twins.aim(millis(17)), 2..3);
    twins.direct(at(0), &Directive::Window(Span::ZERO));
    assert_eq!(twins.aim(millis(25)), 3..4);
    let error = TwinsSettings { window: Span::from_secs(11), ..strict() }.check().unwrap_err();
    assert_eq!(error.to_string(), "window is 11000000000, must be 10000 to 10000000000");
}
