//! TWINS that gathers: within a window a request waits for those that went with the last batch.

use iofwd_scheduler::policy::{
    Decision, Directive, Done, Policy, Room, Setup, Twins, TwinsSettings,
};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::time::{Span, Time};

const LENGTH: u64 = 4_096;

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// A policy, what it has in flight, and when it is.
struct Agent {
    twins: Twins,
    room: Room,
    flying: Vec<(Request, Time)>,
    made: u64,
}

impl Agent {
    /// Two servers, windows of 10 ms.
    fn new(gather: bool) -> Agent {
        let window = Span::from_millis(10);
        let settings = TwinsSettings { window, gather, ..TwinsSettings::default() };
        let twins = Twins::new(&Setup::new(2), settings);
        Agent { twins, room: Room::unbounded(2), flying: Vec::new(), made: 0 }
    }

    /// The request of a process: side by side in each round with those of the others.
    fn push(&mut self, now: Time, file: u64, place: u64) {
        self.made += 1;
        let request = Request {
            id: RequestId(self.made),
            file: FileId(file),
            job: JobId(0),
            server: ServerId(0),
            operation: Operation::Read,
            extent: Extent::new(place * LENGTH, LENGTH),
            local: place * LENGTH,
            arrived: now,
        };
        self.twins.push(now, request);
    }

    /// How many go now, or until when nobody does. Asking twice must change nothing.
    fn poll(&mut self, now: Time) -> Result<usize, Time> {
        match self.twins.next(now, &self.room) {
            Decision::Issue(batch) => {
                let members = batch.requests().iter();
                members.clone().for_each(|request| self.room.take(request));
                self.flying.extend(members.map(|request| (*request, now)));
                Ok(batch.requests().len())
            }
            Decision::WaitUntil(time) => {
                assert_eq!(self.twins.next(now, &self.room), Decision::WaitUntil(time));
                Err(time)
            }
            Decision::Empty => Err(Time::NEVER),
        }
    }

    /// All that is in flight is done.
    fn complete(&mut self, now: Time) {
        for (request, issued) in std::mem::take(&mut self.flying) {
            self.room.give_back(&request);
            let done = Done { request, issued, bytes: request.length(), failed: false };
            self.twins.complete(now, &done);
        }
    }
}

/// In the first window three processes came, and a batch of them took 2 ms.
fn after_a_batch_of_three(gather: bool) -> Agent {
    let mut agent = Agent::new(gather);
    (0..3).for_each(|place| agent.push(at(0), 1, place));
    assert_eq!(agent.poll(at(0)), Ok(3));
    agent.complete(at(2_000));
    agent
}

#[test]
fn who_comes_back_waits_for_those_it_went_with() {
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(2_100), 1, 10);
    let until = agent.poll(at(2_100)).expect_err("two are away");
    assert_eq!(until, at(4_100), "for as long as the batch took, and no longer");
    agent.push(at(2_200), 1, 11);
    assert!(agent.poll(at(2_200)).is_err(), "one is away");
    agent.push(at(2_300), 1, 12);
    assert_eq!(agent.poll(at(2_300)), Ok(3));
}

#[test]
fn unless_told_so_nobody_waits() {
    let mut agent = after_a_batch_of_three(false);
    agent.push(at(2_100), 1, 10);
    assert_eq!(agent.poll(at(2_100)), Ok(1), "as published");
    let mut agent = after_a_batch_of_three(false);
    agent.twins.direct(at(2_050), &Directive::Gather(true));
    agent.push(at(2_100), 1, 10);
    assert!(agent.poll(at(2_100)).is_err(), "it can be switched on while it runs");
    agent.twins.direct(at(2_150), &Directive::Gather(false));
    assert_eq!(agent.poll(at(2_150)), Ok(1), "and off");
}

#[test]
fn nobody_waits_for_longer_than_what_is_gained_would_take() {
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(2_100), 1, 10);
    let until = agent.poll(at(2_100)).expect_err("two are away");
    agent.push(at(2_500), 2, 50);
    assert_eq!(agent.poll(at(2_500)), Err(until), "others are no reason to wait for longer");
    assert_eq!(agent.poll(until), Ok(1));
}

#[test]
fn another_file_and_another_window_are_no_reason_to_wait() {
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(2_100), 2, 10);
    assert_eq!(agent.poll(at(2_100)), Ok(1), "nobody is expected who could go with it");
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(2_100), 1, 10);
    assert!(agent.poll(at(2_100)).is_err());
    assert_eq!(agent.poll(at(20_000)), Ok(1), "who has waited for a window goes when it begins");
}

#[test]
fn who_is_ahead_waits_for_those_that_are_behind() {
    let mut agent = after_a_batch_of_three(true);
    // One of them is a round behind the others when the window begins.
    agent.push(at(15_000), 1, 10);
    agent.push(at(15_100), 1, 21);
    agent.push(at(15_200), 1, 22);
    assert_eq!(agent.poll(at(20_000)), Ok(1), "the oldest goes");
    assert!(agent.poll(at(20_000)).is_err(), "the others wait for it to come back");
    agent.complete(at(22_000));
    assert!(agent.poll(at(22_000)).is_err());
    agent.push(at(22_100), 1, 20);
    assert_eq!(agent.poll(at(22_100)), Ok(3), "and from then on they are in step");
}

#[test]
fn a_window_begins_with_those_that_are_about_to_be_there_and_is_used_all_the_same() {
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(19_000), 1, 10);
    agent.push(at(19_500), 1, 11);
    assert_eq!(agent.poll(at(20_000)), Err(at(22_000)), "a quarter of a window since one came");
    agent.push(at(20_500), 1, 12);
    assert_eq!(agent.poll(at(20_500)), Ok(3));
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(19_500), 1, 10);
    assert_eq!(agent.poll(at(20_000)), Err(at(22_000)));
    agent.push(at(21_900), 1, 30);
    assert_eq!(agent.poll(at(21_900)), Err(at(24_400)));
    assert_eq!(agent.poll(at(24_400)), Ok(1), "whoever does not come is not waited for");
}

#[test]
fn those_that_come_late_in_a_window_come_together_as_well() {
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(27_000), 1, 10);
    assert_eq!(agent.poll(at(27_000)), Err(at(27_625)), "a sixteenth of the window");
    agent.push(at(27_600), 1, 11);
    assert_eq!(agent.poll(at(27_600)), Err(at(28_225)));
    assert_eq!(agent.poll(at(28_225)), Ok(2));
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(29_300), 1, 10);
    assert_eq!(agent.poll(at(29_300)), Err(at(29_375)), "and this window is used");
    assert_eq!(agent.poll(at(29_375)), Ok(1));
}

/// One that is a round behind comes after the others, in time for the same window.
#[test]
fn who_is_behind_goes_first_though_it_came_last() {
    for (gather, first) in [(true, 1), (false, 2)] {
        let mut agent = after_a_batch_of_three(gather);
        agent.push(at(15_000), 1, 21);
        agent.push(at(15_100), 1, 22);
        agent.push(at(15_200), 1, 10);
        assert_eq!(agent.poll(at(20_000)), Ok(first), "gather {gather}");
    }
}

#[test]
fn who_has_waited_for_two_rounds_is_not_overtaken() {
    let mut agent = after_a_batch_of_three(true);
    agent.push(at(15_000), 1, 21);
    agent.push(at(55_000), 1, 10);
    assert_eq!(agent.poll(at(60_000)), Ok(1));
    assert_eq!(agent.flying[0].0.local, 21 * LENGTH);
}

#[test]
fn a_batch_goes_whole_or_in_the_next_window() {
    for (gather, expected) in [(true, Err(at(20_000))), (false, Ok(1))] {
        let mut agent = Agent::new(gather);
        // What the server shows: a millisecond for each request, also behind others.
        for round in 0..8 {
            (0..3).for_each(|place| agent.push(at(20_000 * round), 1, 10 * round + place));
            let start = at(20_000 * round);
            while agent.poll(start).is_ok() {}
            agent.complete(start + Span::from_micros(3_000));
        }
        let late = at(20_000 * 7 + 8_500);
        (0..3).for_each(|place| agent.push(late, 2, place));
        let next = expected.map_err(|_: Time| at(20_000 * 8));
        assert_eq!(agent.poll(late), next, "1.5 ms are left, gather {gather}");
    }
}

/// Two processes that read without order wait for each other a few times in vain, and then no more.
#[test]
fn waiting_in_vain_becomes_rare() {
    let mut agent = Agent::new(true);
    let (mut now, mut place, mut waits) = (at(0), 1, [0_u32; 2]);
    let mut anywhere = move || {
        place = (place * 7_919 + 13) % 1_000_003;
        place * 2
    };
    (0..2).for_each(|_| agent.push(now, 1, anywhere()));
    for round in 0..2_000_usize {
        let mut issued = 0;
        while issued == 0 || agent.flying.len() < 2 {
            match agent.poll(now) {
                Ok(members) => issued += members,
                Err(time) if issued == 0 => now = time,
                Err(_) => break,
            }
        }
        waits[round / 1_000] += u32::from(agent.flying.len() < 2 && is_early(now));
        let back = agent.flying.len();
        now += Span::from_micros(200);
        agent.complete(now);
        (0..back).for_each(|_| agent.push(now, 1, anywhere()));
    }
    assert!(waits[0] > 0, "it is tried");
    assert!(waits[1] <= 4, "of a thousand times {} waited", waits[1]);
}

/// Whether two requests fit into what is left of the window.
fn is_early(now: Time) -> bool {
    now.as_nanos() % 10_000_000 < 9_000_000
}
