//! Makespans that a person can work out, and the errors of scenarios that make no sense.

use iofwd_scheduler::policy::{Decision, Load, Policy, Setup};
use iofwd_scheduler::policy::{OutOfRange, Room};
use iofwd_scheduler::request::{Operation, Request, RequestId, ServerId};
use iofwd_scheduler::sim::{
    Congestion, Device, Forwarding, Job, Link, Pattern, Platform, Rate, Report, Scenario,
    ScenarioError, interference, run,
};
use iofwd_scheduler::time::{Span, Time};

use crate::setup::{JOB, KIB, LINK, PLATFORM, UNIT, direct, forwarded, twins};

fn makespan(scenario: &Scenario) -> Span {
    run(scenario).unwrap().makespan
}

#[test]
fn a_lone_process_pays_for_every_message() {
    // There 10 + 1 us; back 10 + 1 us and 1,000 bytes of 1 ns each. Ten times.
    let once = Span::from_micros(11 + 12);
    assert_eq!(makespan(&direct(PLATFORM, JOB)), once * 10);
    // With an agent on the way, twice that.
    assert_eq!(makespan(&forwarded(PLATFORM, JOB, "fifo", 1)), once * 20);
    // A write carries its bytes on the way there.
    let write = Job { operation: Operation::Write, ..JOB };
    assert_eq!(makespan(&forwarded(PLATFORM, write, "none", 1)), once * 20);
}

#[test]
fn computing_and_starting_later_count() {
    let think = Job { think: Span::from_micros(100), ..JOB };
    // It computes nine times: between its ten requests.
    assert_eq!(makespan(&direct(PLATFORM, think)), Span::from_micros(23 * 10 + 100 * 9));
    let late = Job { start: Time::from_nanos(5_000), ..JOB };
    let report = run(&direct(PLATFORM, late)).unwrap();
    assert_eq!(report.makespan, Span::from_micros(230));
    assert_eq!(report.jobs[0].end, Time::from_nanos(235_000));
}

#[test]
fn a_large_request_uses_all_servers_at_once() {
    let platform = Platform { servers: 4, front: Link::FREE, ..PLATFORM };
    let job = Job { request: 4 * UNIT, volume: 4 * UNIT, ..JOB };
    // Four messages leave one after the other (1 us each). The answers of 65,536 ns and 1 us come in
    // one after the other; the first of them began 11 + 10 us after the start.
    let all = Span::from_nanos(21_000 + 4 * (65_536 + 1_000));
    assert_eq!(makespan(&direct(platform, job)), all);
    assert_eq!(makespan(&forwarded(platform, job, "fifo", 1)), all);
}

#[test]
fn a_disk_seeks_once_and_then_reads_on() {
    let device = Device { turn: Span::ZERO, ..Device::HDD };
    let platform = Platform { device, front: Link::FREE, back: Link::FREE, ..PLATFORM };
    let job = Job { request: 150_000, volume: 1_500_000, ..JOB };
    // 50 us for the command and 1 ms at 150 MB/s, ten times; the head begins where the file does.
    assert_eq!(makespan(&forwarded(platform, job, "fifo", 1)), Span::from_micros(10_500));
    let report = run(&direct(platform, job)).unwrap();
    assert_eq!((report.utilisation(ServerId(0)), report.idle(ServerId(0))), (1000, 0));
}

#[test]
fn two_files_lie_one_behind_the_other() {
    let device = Device { turn: Span::ZERO, lookahead: 0, depth: 1, ..Device::HDD };
    let platform = Platform { device, front: Link::FREE, back: Link::FREE, ..PLATFORM };
    let job = Job { processes: 2, pattern: Pattern::FilePerProcess, request: UNIT, ..JOB };
    let job = Job { volume: 2 * UNIT, ..job };
    // The head goes to units 0, 2, 1 and 3: over a unit, back over two, over one.
    let each = device.command + device.read.time_of(UNIT);
    let seeks = device.seek(UNIT) * 2 + device.seek(2 * UNIT);
    assert_eq!(makespan(&direct(platform, job)), each * 4 + seeks);
}

#[test]
fn processes_queue_for_one_device() {
    let device = Device { command: Span::from_micros(50), ..Device::NULL };
    let platform = Platform { device, front: Link::FREE, back: Link::FREE, ..PLATFORM };
    let job = Job { processes: 3, ..JOB };
    assert_eq!(makespan(&direct(platform, job)), Span::from_micros(50 * 30));
    // When one is answered the other two have requests there: one doubling. The first command of all
    // and the last one have the server for themselves.
    let congestion = Congestion { read: Span::from_micros(10), write: Span::ZERO };
    let crowded = Platform { congestion, ..platform };
    assert_eq!(makespan(&direct(crowded, job)), Span::from_micros(50 + 60 * 28 + 50));
    // One agent is one sender, whoever is behind it.
    assert_eq!(makespan(&forwarded(crowded, job, "fifo", 1)), Span::from_micros(50 * 30));
}

#[test]
fn a_window_makes_requests_wait_for_their_turn() {
    let platform = Platform { servers: 2, front: Link::FREE, back: Link::FREE, ..PLATFORM };
    let job = Job { request: UNIT, volume: 4 * UNIT, ..JOB };
    let forwarding = Some(twins(Span::from_millis(1), 1));
    let report = run(&Scenario { forwarding, ..direct(platform, job) }).unwrap();
    // Units 0 to 3 are on servers 0, 1, 0, 1, whose windows begin at 0, 1, 2 and 3 ms.
    assert_eq!(report.makespan, Span::from_millis(3));
    let issued: Vec<_> = report.timeline.iter().map(|bar| bar.issued.as_nanos() / 1000).collect();
    assert_eq!(issued, [0, 1000, 2000, 3000]);
    assert_eq!(report.waits.max, 1_000_000);
}

#[test]
fn sizes_are_counted_at_every_level() {
    let platform = Platform { servers: 2, ..PLATFORM };
    let job = Job { request: 4 * UNIT, volume: 8 * UNIT, ..JOB };
    let report = run(&forwarded(platform, job, "fifo", 1)).unwrap();
    let sizes = report.sizes;
    let found = [sizes.leaving_clients, sizes.queued, sizes.arriving_servers];
    assert_eq!(found.map(|mean| (mean.count, mean.mean())), [(2, 4 * UNIT), (8, UNIT), (8, UNIT)]);
    // Without an agent the two units of each server go in one message.
    let sizes = run(&direct(platform, job)).unwrap().sizes;
    let leaving = sizes.arriving_servers;
    assert_eq!((leaving.count, leaving.mean(), sizes.queued.count), (4, 2 * UNIT, 0));
}

#[test]
fn a_job_alone_is_not_disturbed_and_two_disturb_each_other() {
    let device = Device { command: Span::from_micros(50), ..Device::NULL };
    let platform = Platform { device, front: Link::FREE, back: Link::FREE, ..PLATFORM };
    let alone = forwarded(platform, JOB, "fifo", 1);
    assert_eq!(interference(&alone), Ok(vec![1000]));
    let both = Scenario { jobs: vec![JOB, JOB], ..alone };
    // They take turns: the first ends one command before the second.
    assert_eq!(interference(&both), Ok(vec![1900, 2000]));
    let report = run(&both).unwrap();
    assert!((998..=1000).contains(&report.fairness()), "{}", report.fairness());
}

#[test]
fn reports_are_tables_of_fixed_width() {
    let platform = Platform { servers: 2, ..PLATFORM };
    let job = Job { request: UNIT, volume: 2 * UNIT, ..JOB };
    let text = run(&forwarded(platform, job, "fifo", 1)).unwrap().to_string();
    let expected = "\
makespan                     350 us
bandwidth              374337415 bytes/s
collisions                     0 of 2
fairness                    1000 permille
offset distance            65536 bytes

size                       count     mean bytes
leaving clients                2          65536
queued at agents               2          65536
leaving agents                 2          65536
arriving servers               2          65536

wait (us)                   mean            p50            p99            max
wait at agent                  0              0              0              0
wait for answer              175            175            175            175

server  busy permille  crowded permille       commands     collisions          bytes
     0              0                 0              1              0          65536
     1              0                 0              1              0          65536

   job       start us         end us   first end us       requests          bytes
     0              0            350            350              2         131072
";
    // Each of the two takes 2 * 22 us on the wires and 2 * 65,536 ns for its bytes: 350,144 ns in all.
    assert_eq!(text, expected);
}

#[test]
fn scenarios_that_make_no_sense_are_refused() {
    let good = forwarded(PLATFORM, JOB, "fifo", 1);
    let refusal = |scenario: Scenario| run(&scenario).unwrap_err();
    let with_job = |job| Scenario { jobs: vec![job], ..good.clone() };
    let with_platform = |platform| Scenario { platform, ..good.clone() };
    let zero = |what| ScenarioError::Zero(what);
    assert_eq!(refusal(Scenario { jobs: Vec::new(), ..good.clone() }), zero("the number of jobs"));
    let no_processes = with_job(Job { processes: 0, ..JOB });
    assert_eq!(refusal(no_processes), zero("the number of processes"));
    assert_eq!(refusal(with_job(Job { request: 0, ..JOB })), zero("the request size"));
    assert_eq!(refusal(with_job(Job { volume: 1500, ..JOB })), ScenarioError::Uneven { job: 0 });
    let huge = Job { processes: 1 << 20, volume: 1 << 50, request: 1 << 20, ..JOB };
    assert_eq!(refusal(with_job(huge)), ScenarioError::TooLarge("bytes"));
    let many = Job { processes: 1 << 25, ..JOB };
    assert_eq!(refusal(with_job(many)), ScenarioError::TooLarge("processes"));
    let no_unit = with_platform(Platform { unit: 0, ..PLATFORM });
    assert_eq!(refusal(no_unit), zero("the stripe unit"));
    let vast = with_platform(Platform { unit: 1 << 40, ..PLATFORM });
    assert_eq!(refusal(vast).to_string(), "too many bytes in a stripe unit");
    let no_span = Device { span: 0, ..Device::HDD };
    let no_span = with_platform(Platform { device: no_span, ..PLATFORM });
    assert_eq!(refusal(no_span), zero("the device's span"));
    let crumbs = Job { processes: 1000, request: 1 << 20, volume: 1 << 20, ..JOB };
    let crumbs = Scenario { platform: Platform { unit: 1, ..PLATFORM }, ..with_job(crumbs) };
    assert_eq!(refusal(crumbs), ScenarioError::TooLarge("pieces on their way"));
    let crowd = Scenario { forwarding: None, ..with_job(Job { processes: 1 << 20, ..JOB }) };
    let crowd = Scenario { platform: Platform { servers: 1 << 10, ..PLATFORM }, ..crowd };
    assert_eq!(refusal(crowd), ScenarioError::TooLarge("senders"));
    let no_servers = with_platform(Platform { servers: 0, ..PLATFORM });
    assert_eq!(
        refusal(no_servers).to_string(),
        "the number of servers is 0; it must be at least 1"
    );
    let unknown = Forwarding::named("fastest", 1).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no policy \"fastest\"");
    let too_many = with_platform(Platform { servers: 70_000, ..PLATFORM });
    let range = OutOfRange { field: "servers", value: 70_000, least: 1, most: 65_536 };
    assert_eq!(refusal(too_many), ScenarioError::Setup(range));
}

/// A policy that takes requests and never gives one back. It asks to be woken now and then, or not.
struct Hoarder {
    held: Vec<Request>,
    pause: Option<Span>,
}

impl Policy for Hoarder {
    fn name(&self) -> &'static str {
        "hoarder"
    }

    fn push(&mut self, _now: Time, request: Request) {
        self.held.push(request);
    }

    fn next(&mut self, now: Time, _room: &Room) -> Decision {
        match self.pause {
            _ if self.held.is_empty() => Decision::Empty,
            None => Decision::WaitUntil(Time::NEVER),
            Some(pause) => Decision::WaitUntil(now + pause),
        }
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let at = self.held.iter().position(|request| request.id == id)?;
        Some(self.held.remove(at))
    }

    fn drain(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.held)
    }

    fn len(&self) -> usize {
        self.held.len()
    }

    fn waiting_bound(&self, _load: &Load) -> Span {
        Span::from_nanos(u64::MAX)
    }
}

#[test]
fn a_policy_that_holds_requests_for_ever_is_found_out() {
    for pause in [None, Some(Span::from_micros(1))] {
        let make =
            move |_: &Setup| -> Box<dyn Policy> { Box::new(Hoarder { held: Vec::new(), pause }) };
        let forwarding = Some(Forwarding::with(1, make));
        let job = Job { processes: 3, ..JOB };
        let stuck = run(&Scenario { forwarding, ..direct(PLATFORM, job) });
        assert_eq!(stuck, Err(ScenarioError::Stuck { waiting: 3 }));
    }
}

#[test]
fn patterns_and_devices_are_found_by_name() {
    for (name, pattern) in [
        ("file-per-process", Pattern::FilePerProcess),
        ("contiguous", Pattern::SharedContiguous),
        ("strided", Pattern::SharedStrided),
        ("random", Pattern::Random),
    ] {
        assert_eq!(Pattern::by_name(name), Some(pattern));
    }
    assert_eq!(Pattern::by_name("zigzag"), None);
}

/// Fewer bytes than the wire could carry come from a slow device, and the report says so.
#[test]
fn the_slowest_part_sets_the_bandwidth() {
    let device = Device { read: Rate::per_second(100_000_000), ..Device::NULL };
    let platform = Platform { device, ..PLATFORM };
    let job = Job { processes: 8, request: 16 * KIB, volume: 256 * KIB, ..JOB };
    let report: Report = run(&forwarded(platform, job, "fifo", 1)).unwrap();
    assert!((95_000_000..=100_000_000).contains(&report.bandwidth()), "{}", report.bandwidth());
    assert!(report.utilisation(ServerId(0)) > 950);
    assert_eq!(LINK.rate, platform.back.rate);
}
