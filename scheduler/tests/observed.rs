//! What a scheduler tells of itself to those who watch it.

use iofwd_scheduler::policy::{Decision, Directive, Setup, by_name};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Cancelled, Config, Held, Outcome, Scheduler};
use iofwd_scheduler::time::{Span, Time};

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn write(id: u64, server: u32) -> Request {
    Request {
        id: RequestId(id),
        file: FileId(1),
        job: JobId(0),
        server: ServerId(server),
        operation: Operation::Write,
        extent: Extent::new(u64::from(server) * 4_096, 4_096),
        local: 0,
        arrived: Time::ZERO,
    }
}

fn scheduler(policy: &str, servers: u32) -> Scheduler {
    let setup = Setup::new(servers);
    Scheduler::new(&Config::new(setup), by_name(policy, &setup).expect("it is in the list"))
}

const DONE: Outcome = Outcome { bytes: 4_096, failed: false };

#[test]
fn a_request_that_was_parked_knows_behind_whom_and_until_when() {
    let mut scheduler = scheduler("fifo", 1);
    (1..=3).for_each(|id| scheduler.submit(at(0), write(id, 0)));
    assert!(matches!(scheduler.poll(at(1)), Decision::Issue(_)));
    assert_eq!(scheduler.held(RequestId(2)), None, "it is parked still");
    scheduler.complete(at(5), RequestId(1), DONE);
    let held = Held { behind: RequestId(1), until: at(5) };
    assert_eq!(scheduler.held(RequestId(2)), Some(held));
    assert!(matches!(scheduler.poll(at(6)), Decision::Issue(_)));
    assert_eq!(scheduler.held(RequestId(2)), Some(held), "in flight too");
    scheduler.complete(at(9), RequestId(2), DONE);
    assert_eq!(scheduler.held(RequestId(2)), None);
    assert_eq!(scheduler.held(RequestId(3)).map(|held| held.behind), Some(RequestId(2)));
    assert!(matches!(scheduler.cancel(at(9), RequestId(3)), Cancelled::Queued(_)));
    assert_eq!(scheduler.held(RequestId(3)), None, "nothing is remembered of what is gone");
}

#[test]
fn the_oldest_request_in_flight_is_known_for_each_server() {
    let mut scheduler = scheduler("fifo", 3);
    scheduler.submit(at(1), write(1, 0));
    scheduler.submit(at(1), write(2, 2));
    while let Decision::Issue(_) = scheduler.poll(at(4)) {}
    assert_eq!(scheduler.oldest_in_flight(), [Some(at(4)), None, Some(at(4))]);
    scheduler.complete(at(7), RequestId(1), DONE);
    assert_eq!(scheduler.oldest_in_flight(), [None, None, Some(at(4))]);
}

#[test]
fn times_and_batches_are_counted_by_server() {
    let mut scheduler = scheduler("fifo", 2);
    scheduler.submit(at(0), write(1, 1));
    while let Decision::Issue(_) = scheduler.poll(at(3)) {}
    scheduler.complete(at(10), RequestId(1), DONE);
    let pace = &scheduler.stats().paces[1];
    assert_eq!((pace.waits.largest(), pace.services.largest()), (3_000_000, 7_000_000));
    assert_eq!((pace.batches, pace.busy(at(20))), (1, Span::from_millis(7)));
    assert_eq!(scheduler.stats().paces[0].batches, 0);
    let files: Vec<_> =
        scheduler.stats().files.iter().map(|(file, m)| (file.0, m.requests)).collect();
    assert_eq!(files, [(1, 1)]);
}

#[test]
fn the_window_that_is_told_is_the_one_that_is_served() {
    let mut scheduler = scheduler("twins", 4);
    scheduler.direct(at(0), Directive::ClockOffset(1_234_567_890_123));
    scheduler.direct(at(0), Directive::Window(Span::from_millis(2)));
    (0..400).for_each(|id| {
        let mut one = write(id, (id % 4) as u32);
        one.file = FileId(id);
        scheduler.submit(at(0), one);
    });
    for millis in 0..40 {
        let window = scheduler.policy().window(at(millis)).expect("there are several servers");
        assert!(window.end > at(millis) && window.end.since(at(millis)) <= window.length);
        if let Decision::Issue(batch) = scheduler.poll(at(millis)) {
            assert_eq!(batch.server().0, window.first_server(), "at {millis} ms");
        }
    }
}

#[test]
fn there_is_no_window_where_there_is_one_server_or_no_such_policy() {
    assert_eq!(scheduler("twins", 1).policy().window(at(0)), None);
    assert_eq!(scheduler("fifo", 4).policy().window(at(0)), None);
}
