//! The scheduler around a policy: order of conflicts, bounds, cancel, drain, switch, directives.

use iofwd_scheduler::policy::{Decision, Limit, Setup, by_name};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Cancelled, Config, Outcome, Scheduler};
use iofwd_scheduler::time::Time;

const OK: Outcome = Outcome { bytes: 10, failed: false };

fn request(id: u64, operation: Operation, offset: u64, length: u64) -> Request {
    Request {
        id: RequestId(id),
        file: FileId(1),
        job: JobId(1),
        server: ServerId(0),
        operation,
        extent: Extent::new(offset, length),
        local: offset,
        arrived: Time::from_nanos(id),
    }
}

fn read(id: u64, offset: u64, length: u64) -> Request {
    request(id, Operation::Read, offset, length)
}

fn write(id: u64, offset: u64, length: u64) -> Request {
    request(id, Operation::Write, offset, length)
}

fn scheduler(policy: &str) -> Scheduler {
    let setup = Setup::new(4);
    Scheduler::new(&Config::new(setup), by_name(policy, &setup).expect("a policy of that name"))
}

/// Everything that may be issued at `now`, by id.
fn issued(scheduler: &mut Scheduler, now: Time) -> Vec<u64> {
    let mut ids = Vec::new();
    while let Decision::Issue(batch) = scheduler.poll(now) {
        ids.extend(batch.requests().iter().map(|request| request.id.0));
    }
    ids
}

fn submit(scheduler: &mut Scheduler, requests: &[Request]) {
    requests.iter().for_each(|&request| scheduler.submit(request.arrived, request));
}

#[test]
fn conflicting_requests_wait_for_each_other_and_others_do_not() {
    let mut scheduler = scheduler("fifo");
    let now = Time::from_nanos(100);
    submit(&mut scheduler, &[read(1, 0, 10), read(2, 5, 10), write(3, 8, 4), read(4, 9, 1)]);
    submit(&mut scheduler, &[read(5, 0, 8), write(6, 100, 10)]);
    assert_eq!(issued(&mut scheduler, now), [1, 2, 5, 6]);
    assert_eq!(scheduler.poll(now), Decision::WaitUntil(Time::NEVER));
    scheduler.complete(now, RequestId(2), OK);
    assert_eq!(issued(&mut scheduler, now), []);
    scheduler.complete(now, RequestId(1), OK);
    assert_eq!(issued(&mut scheduler, now), [3]);
    scheduler.complete(now, RequestId(3), Outcome { bytes: 0, failed: true });
    assert_eq!(issued(&mut scheduler, now), [4], "a failure ends a wait as well");
    assert_eq!(scheduler.stats().parked, 2);
}

#[test]
fn a_cancelled_request_in_the_middle_of_a_chain_keeps_its_ends_in_order() {
    let mut scheduler = scheduler("fifo");
    let now = Time::from_nanos(100);
    submit(&mut scheduler, &[write(1, 0, 10), write(2, 0, 10), write(3, 0, 10), read(4, 2, 2)]);
    assert_eq!(issued(&mut scheduler, now), [1]);
    assert!(matches!(scheduler.cancel(now, RequestId(2)), Cancelled::Queued(r) if r.id.0 == 2));
    assert_eq!(scheduler.cancel(now, RequestId(2)), Cancelled::Unknown);
    assert_eq!(scheduler.cancel(now, RequestId(1)), Cancelled::InFlight);
    assert_eq!(issued(&mut scheduler, now), [], "the first write is still in flight");
    scheduler.complete(now, RequestId(1), OK);
    assert_eq!(issued(&mut scheduler, now), [3]);
    assert!(matches!(scheduler.cancel(now, RequestId(4)), Cancelled::Queued(_)));
    scheduler.complete(now, RequestId(3), OK);
    assert_eq!(scheduler.poll(now), Decision::Empty);
    submit(&mut scheduler, &[write(2, 0, 10)]);
}

#[test]
fn drain_gives_back_queued_and_parked_in_order_of_arrival_and_leaves_what_is_in_flight() {
    let mut scheduler = scheduler("fifo");
    let now = Time::from_nanos(5);
    submit(&mut scheduler, &[write(1, 0, 10), write(2, 0, 10), read(3, 50, 5), write(4, 5, 50)]);
    assert!(matches!(scheduler.poll(now), Decision::Issue(_)));
    let drained: Vec<u64> = scheduler.drain().iter().map(|request| request.id.0).collect();
    assert_eq!(drained, [2, 3, 4]);
    assert_eq!((scheduler.queued(), scheduler.in_flight()), (0, 1));
    submit(&mut scheduler, &[Request { arrived: now, ..write(2, 0, 10) }]);
    assert_eq!(issued(&mut scheduler, now), [], "still behind the one in flight");
    scheduler.complete(now, RequestId(1), OK);
    assert_eq!(issued(&mut scheduler, now), [2]);
}

#[test]
fn a_switch_loses_nothing_and_keeps_conflicts_in_order() {
    let mut scheduler = scheduler("fifo");
    let setup = Setup::new(4);
    let now = Time::from_nanos(50);
    submit(&mut scheduler, &[write(1, 0, 10), read(2, 100, 10), write(3, 5, 10), read(4, 12, 1)]);
    assert!(matches!(scheduler.poll(now), Decision::Issue(_)));
    scheduler.switch(now, by_name("twins", &setup).unwrap());
    assert_eq!((scheduler.policy().name(), scheduler.queued()), ("twins", 3));
    assert_eq!(issued(&mut scheduler, now), [2]);
    scheduler.complete(now, RequestId(1), OK);
    scheduler.switch(now, by_name("none", &setup).unwrap());
    assert_eq!(issued(&mut scheduler, now), [3]);
    scheduler.complete(now, RequestId(3), OK);
    assert_eq!(issued(&mut scheduler, now), [4]);
}

#[test]
fn a_full_server_holds_back_its_own_requests_only() {
    let setup = Setup::new(2);
    let config = Config { each: Limit::new(2, 100), ..Config::new(setup) };
    let mut scheduler = Scheduler::new(&config, by_name("fifo", &setup).unwrap());
    let now = Time::from_nanos(50);
    let other = Request { server: ServerId(1), ..read(9, 0, 10) };
    submit(&mut scheduler, &[read(1, 0, 60), read(2, 60, 60), read(3, 120, 10), other]);
    assert_eq!(issued(&mut scheduler, now), [1, 9]);
    assert_eq!(scheduler.poll(now), Decision::WaitUntil(Time::NEVER));
    scheduler.complete(now, RequestId(1), OK);
    assert_eq!(issued(&mut scheduler, now), [2, 3]);
}

#[test]
fn counts_what_arrives_leaves_fails_and_is_cancelled() {
    let mut scheduler = scheduler("twins");
    let now = Time::from_nanos(50);
    submit(&mut scheduler, &[read(1, 0, 10), read(2, 10, 10), write(3, 500, 40), read(4, 900, 20)]);
    scheduler.cancel(now, RequestId(4));
    assert_eq!(issued(&mut scheduler, now), [1, 2, 3]);
    scheduler.complete(now, RequestId(1), OK);
    scheduler.complete(now, RequestId(3), Outcome { bytes: 0, failed: true });
    let stats = scheduler.stats();
    assert_eq!((stats.size_in(), stats.size_out()), (20, 30));
    assert_eq!((stats.distance_out.sum, stats.distance_out.count), (480, 1));
    let counters = stats.jobs.get(JobId(1)).unwrap();
    assert_eq!(counters, &stats.servers[0]);
    assert_eq!((counters.arrived.requests(), counters.issued.bytes()), (4, 60));
    assert_eq!((counters.completed.bytes_read, counters.failed, counters.cancelled), (10, 1, 1));
    assert_eq!(stats.waits.largest(), 49);
}

#[test]
#[should_panic(expected = "submitted twice")]
fn an_id_is_used_once_at_a_time() {
    submit(&mut scheduler("fifo"), &[read(1, 0, 1), read(1, 5, 1)]);
}

#[test]
#[should_panic(expected = "not in flight")]
fn a_request_completes_once() {
    let mut scheduler = scheduler("fifo");
    submit(&mut scheduler, &[read(1, 0, 1)]);
    issued(&mut scheduler, Time::from_nanos(1));
    scheduler.complete(Time::from_nanos(2), RequestId(1), OK);
    scheduler.complete(Time::from_nanos(3), RequestId(1), OK);
}
