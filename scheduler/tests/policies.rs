//! What makes each policy itself: one or two small timetables for each.

use std::collections::BTreeMap;

use iofwd_scheduler::policy::{
    Aioli, AioliSettings, Decision, Directive, Fifo, Hbrr, HbrrSettings, Limit, Mlf, MlfSettings,
    Policy, Room, Setup, Sharing, Sjf, SjfSettings, Sw, SwSettings, ToAgg, Wfq, WfqSettings,
};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::Config;
use iofwd_scheduler::time::{Span, Time};

const KIB: u64 = 1 << 10;

fn micros(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// A read of `kib` KiB at `at` KiB of a file, on the only server.
fn read(id: u64, file: u64, at: u64, kib: u64) -> Request {
    Request {
        id: RequestId(id),
        file: FileId(file),
        job: JobId(file),
        server: ServerId(0),
        operation: Operation::Read,
        extent: Extent::new(at * KIB, kib * KIB),
        local: at * KIB,
        arrived: Time::ZERO,
    }
}

fn push(policy: &mut dyn Policy, requests: &[Request]) {
    requests.iter().for_each(|&request| policy.push(request.arrived, request));
}

/// The ids of the batches issued at a time, until the policy waits.
fn issued(policy: &mut dyn Policy, now: Time) -> Vec<Vec<u64>> {
    let room = Room::unbounded(4);
    let mut batches = Vec::new();
    while let Decision::Issue(batch) = policy.next(now, &room) {
        batches.push(batch.requests().iter().map(|request| request.id.0).collect());
    }
    batches
}

/// The same, flat.
fn order(policy: &mut dyn Policy, now: Time) -> Vec<u64> {
    issued(policy, now).concat()
}

#[test]
fn fifo_serves_in_order_and_passes_a_full_server_by() {
    let mut fifo = Fifo::new(&Setup::new(2));
    let elsewhere = Request { server: ServerId(1), ..read(3, 1, 0, 4) };
    push(&mut fifo, &[read(1, 1, 64, 4), read(2, 1, 0, 4), elsewhere]);
    let mut room = Room::new(2, Limit::new(1, u64::MAX), Limit::NONE);
    room.take(&read(9, 9, 0, 4));
    let Decision::Issue(batch) = fifo.next(micros(1), &room) else { panic!("server 1 has room") };
    assert_eq!(batch.first().id, RequestId(3));
    assert_eq!(order(&mut fifo, micros(1)), [1, 2]);
}

#[test]
fn to_agg_takes_neighbours_on_both_sides_within_bounds() {
    let setup = Setup { batch: Limit::new(3, 64 * KIB), ..Setup::new(1) };
    let mut policy = ToAgg::new(&setup);
    push(&mut policy, &[read(1, 1, 8, 4), read(2, 1, 100, 4), read(3, 1, 4, 4), read(4, 1, 12, 4)]);
    push(&mut policy, &[read(5, 1, 16, 4), read(6, 2, 0, 4)]);
    let write = Request { operation: Operation::Write, ..read(7, 1, 20, 4) };
    push(&mut policy, &[write]);
    assert_eq!(issued(&mut policy, micros(0)), [vec![1, 4, 5], vec![2], vec![3], vec![6], vec![7]]);
}

#[test]
fn merging_looks_no_further_ahead_than_it_is_told() {
    let setup = Setup { look_ahead: 2, ..Setup::new(1) };
    let mut policy = ToAgg::new(&setup);
    push(
        &mut policy,
        &[read(1, 1, 0, 4), read(2, 1, 100, 4), read(3, 1, 4, 4), read(4, 1, 104, 4)],
    );
    assert_eq!(issued(&mut policy, micros(0)), [vec![1], vec![2], vec![3], vec![4]]);
    push(
        &mut policy,
        &[read(5, 1, 0, 4), read(6, 1, 100, 4), read(7, 1, 104, 4), read(8, 1, 4, 4)],
    );
    assert_eq!(issued(&mut policy, micros(0)), [vec![5], vec![6, 7], vec![8]]);
    assert!(Setup { look_ahead: 0, ..setup }.check().is_err());
}

#[test]
fn hbrr_gives_each_object_its_quantum_of_merged_ranges() {
    let mut policy = Hbrr::new(&Setup::new(1), HbrrSettings { quantum: 2 });
    let apart = |id: u64, file: u64| read(id, file, id * 100, 4);
    push(&mut policy, &[apart(1, 1), apart(2, 1), apart(3, 1), apart(4, 1), apart(5, 2)]);
    push(&mut policy, &[apart(6, 2), apart(7, 2), read(8, 1, 104, 4)]);
    let batches = issued(&mut policy, micros(0));
    assert_eq!(batches, [vec![1, 8], vec![2], vec![5], vec![6], vec![3], vec![4], vec![7]]);
}

#[test]
fn sjf_serves_the_object_with_the_fewest_bytes_by_offset() {
    let mut policy = Sjf::new(&Setup::new(1), SjfSettings::default());
    push(&mut policy, &[read(1, 1, 500, 64), read(2, 1, 300, 64), read(3, 2, 90, 8)]);
    push(&mut policy, &[read(4, 2, 10, 8), read(5, 2, 18, 8)]);
    assert_eq!(issued(&mut policy, micros(0)), [vec![4, 5], vec![3], vec![2], vec![1]]);
}

#[test]
fn sjf_ages() {
    let mut policy = Sjf::new(&Setup::new(1), SjfSettings { age: Span::from_millis(5) });
    push(&mut policy, &[read(1, 1, 0, 64), Request { arrived: micros(4_000), ..read(2, 2, 0, 4) }]);
    let room = Room::unbounded(1);
    let Decision::Issue(batch) = policy.next(micros(5_000), &room) else { panic!("it may go") };
    assert_eq!(batch.first().id, RequestId(1), "five milliseconds are over");
}

#[test]
fn sw_sorts_by_window_and_then_by_server() {
    let settings = SwSettings { window: Span::from_millis(1) };
    let mut policy = Sw::new(&Setup::new(4), settings);
    for (id, server, arrived) in [(1, 3, 0), (2, 0, 1_100), (3, 1, 900), (4, 3, 950), (5, 1, 10)] {
        let request = Request { arrived: micros(arrived), ..read(id, 1, id * 10, 4) };
        policy.push(micros(1_100), Request { server: ServerId(server), ..request });
    }
    assert_eq!(order(&mut policy, micros(1_200)), [3, 5, 1, 4, 2]);
}

#[test]
fn mlf_lets_small_requests_pass_large_ones() {
    let settings = MlfSettings { hold: Span::ZERO, ..MlfSettings::default() };
    let mut policy = Mlf::new(&Setup::new(1), settings);
    push(&mut policy, &[read(1, 1, 0, 64), read(2, 2, 0, 8), read(3, 3, 0, 16), read(4, 2, 50, 8)]);
    assert_eq!(order(&mut policy, micros(0)), [2, 4, 3, 1], "1, 2 and 4 passes are needed");
}

#[test]
fn mlf_merges_what_qualifies_and_serves_objects_in_turn() {
    let mut policy = Mlf::new(&Setup::new(1), MlfSettings::default());
    push(&mut policy, &[read(1, 1, 80, 8), read(2, 1, 8, 8), read(3, 2, 0, 8), read(4, 1, 0, 8)]);
    assert_eq!(
        issued(&mut policy, micros(0)),
        [vec![4, 2], vec![3]],
        "and holds the rest of file 1"
    );
    assert_eq!(issued(&mut policy, micros(900)), [vec![1]]);
}

#[test]
fn aioli_waits_for_each_batch_and_stays_with_an_object_for_its_quantum() {
    let settings =
        AioliSettings { quantum: 64 * KIB, hold: Span::ZERO, ..AioliSettings::default() };
    let mut policy = Aioli::new(&Setup::new(1), settings);
    push(
        &mut policy,
        &[read(1, 1, 0, 24), read(2, 2, 0, 24), read(3, 1, 50, 24), read(4, 1, 90, 24)],
    );
    let mut room = Room::unbounded(1);
    let mut ids = Vec::new();
    while let Decision::Issue(batch) = policy.next(micros(0), &room) {
        let request = *batch.first();
        ids.push(request.id.0);
        room.take(&request);
        assert_eq!(policy.next(micros(0), &room) == Decision::Empty, policy.is_empty());
        assert!(!matches!(policy.next(micros(0), &room), Decision::Issue(_)), "one at a time");
        room.give_back(&request);
    }
    assert_eq!(ids, [1, 3, 2, 4], "48 of 64 KiB are used when the third does not fit any more");
}

#[test]
fn aioli_holds_an_object_when_it_expects_something_better() {
    let mut policy = Aioli::new(&Setup::new(1), AioliSettings::default());
    let room = Room::unbounded(1);
    push(&mut policy, &[read(1, 1, 0, 8), read(2, 1, 8, 8), read(3, 1, 100, 64)]);
    assert_eq!(issued(&mut policy, micros(0)), [vec![1, 2]]);
    assert_eq!(policy.next(micros(0), &room), Decision::WaitUntil(micros(900)));
    push(&mut policy, &[Request { arrived: micros(50), ..read(4, 1, 16, 8) }]);
    assert_eq!(order(&mut policy, micros(900)), [4, 3], "it came while the object was held");
}

#[test]
fn wfq_shares_by_weight() {
    let settings = WfqSettings { quantum: 8 * KIB, ..WfqSettings::default() };
    let mut policy = Wfq::new(&Setup::new(1), settings);
    policy.direct(Time::ZERO, &Directive::Weight(JobId(1), 3));
    for id in 0..400 {
        push(&mut policy, &[read(id, 1 + id % 2, id * 10, 8)]);
    }
    let first: Vec<u64> = order(&mut policy, micros(0)).into_iter().take(200).collect();
    let of_job_1 = first.iter().filter(|&id| id % 2 == 0).count();
    assert_eq!(of_job_1, 150, "three of four");
}

#[test]
fn wfq_serves_a_request_larger_than_many_quanta() {
    let settings = WfqSettings { quantum: 4 * KIB, ..WfqSettings::default() };
    let mut policy = Wfq::new(&Setup::new(1), settings);
    push(&mut policy, &[read(1, 1, 0, 1 << 20), read(2, 2, 0, 1 << 19)]);
    assert_eq!(order(&mut policy, micros(0)), [2, 1], "the smaller has saved enough first");
}

#[test]
fn wfq_shares_between_servers_and_passes_a_full_one_by() {
    let weights = BTreeMap::from([(0, 2)]);
    let settings = WfqSettings {
        sharing: Sharing::Servers,
        quantum: 8 * KIB,
        weights,
        ..WfqSettings::default()
    };
    let mut policy = Wfq::new(&Setup::new(2), settings);
    for id in 0..60 {
        push(&mut policy, &[Request { server: ServerId((id % 2) as u32), ..read(id, id, 0, 8) }]);
    }
    let mut room = Room::new(2, Limit::new(1, u64::MAX), Limit::NONE);
    room.take(&read(99, 9, 0, 8));
    let Decision::Issue(batch) = policy.next(micros(0), &room) else { panic!("server 1 has room") };
    assert_eq!(batch.server(), ServerId(1));
    let first: Vec<u64> = order(&mut policy, micros(0)).into_iter().take(30).collect();
    assert_eq!(first.iter().filter(|&id| id % 2 == 0).count(), 20, "two of three");
}

/// The words of a refusal name field, value and range.
#[test]
fn settings_out_of_range_are_refused_by_name() {
    let span = Span::from_nanos;
    let refused = [
        SjfSettings { age: span(1) }.check(),
        MlfSettings { quantum: 1, ..MlfSettings::default() }.check(),
        AioliSettings { hold: span(2_000_000_000), ..AioliSettings::default() }.check(),
        HbrrSettings { quantum: 0 }.check(),
        SwSettings { window: span(0) }.check(),
        WfqSettings { weights: BTreeMap::from([(7, 0)]), ..WfqSettings::default() }.check(),
        Setup { agent: 3, agents: 3, ..Setup::new(1) }.check(),
        Setup::new(0).check(),
        Config { each: Limit::new(0, 1), ..Config::new(Setup::new(1)) }.check(),
    ];
    let words: Vec<String> =
        refused.into_iter().map(|check| check.expect_err("out of range").to_string()).collect();
    assert_eq!(
        words,
        [
            "age is 1, must be 1000000 to 60000000000",
            "quantum is 1, must be 512 to 1073741824",
            "hold is 2000000000, must be 0 to 1000000000",
            "quantum is 0, must be 1 to 1024",
            "window is 0, must be 1000 to 3600000000000",
            "weights is 0, must be 1 to 1000",
            "agent is 3, must be 0 to 2",
            "servers is 0, must be 1 to 65536",
            "each.requests is 0, must be 1 to 4294967295",
        ]
    );
    let defaults = [
        SjfSettings::default().check(),
        MlfSettings::default().check(),
        AioliSettings::default().check(),
        HbrrSettings::default().check(),
        SwSettings::default().check(),
        WfqSettings::default().check(),
        Config::new(Setup::new(4)).check(),
    ];
    assert!(defaults.iter().all(Result::is_ok));
}
