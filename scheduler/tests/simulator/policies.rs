//! What the policies do to a machine: who meets whom at the servers, and what it costs.

use iofwd_scheduler::policy::TwinsSettings;
use iofwd_scheduler::request::{Operation, ServerId};
use iofwd_scheduler::sim::{
    Congestion, Device, Forwarding, Job, Pattern, Platform, Report, Scenario, run,
};
use iofwd_scheduler::time::Span;

use crate::setup::{JOB, KIB, LINK, PLATFORM, UNIT, direct, forwarded, set_twins, twins};

/// Thirty-two processes read a shared file side by side, from four fast servers.
const STRIDED: Job = Job {
    processes: 32,
    per_node: 1,
    pattern: Pattern::SharedStrided,
    operation: Operation::Read,
    request: 32 * KIB,
    volume: 64 * 32 * KIB,
    stagger: Span::from_micros(500),
    ..JOB
};

const FOUR_SERVERS: Platform =
    Platform { servers: 4, device: Device::SSD, front: LINK, back: LINK, ..PLATFORM };

fn with_twins(platform: Platform, job: Job, window: Span, agents: u32) -> Report {
    let forwarding = Some(twins(window, agents));
    run(&Scenario { forwarding, ..direct(platform, job) }).unwrap()
}

#[test]
fn windows_keep_agents_apart_where_fifo_lets_them_meet() {
    // A process computes for a window, so that its next request finds the window of its server closed
    // and goes out when that opens again; what a window lets out is served long before it ends.
    let job = Job { think: Span::from_millis(1), ..STRIDED };
    for agents in [2, 4] {
        let fifo = run(&forwarded(FOUR_SERVERS, job, "fifo", agents)).unwrap();
        let twins = with_twins(FOUR_SERVERS, job, Span::from_millis(1), agents);
        let batches = fifo.sizes.arriving_servers.count;
        assert!(fifo.collisions() > batches / 4, "{} of {batches}", fifo.collisions());
        assert_eq!(twins.collisions(), 0, "{agents} agents");
        assert!(twins.servers.iter().all(|server| server.crowded == Span::ZERO));
    }
}

#[test]
fn every_batch_leaves_in_a_window_of_its_server() {
    let window = Span::from_millis(1);
    let report = with_twins(FOUR_SERVERS, STRIDED, window, 4);
    for bar in &report.timeline {
        let index = bar.issued.as_nanos() / window.as_nanos();
        assert_eq!(u64::from(bar.server.0), (index + u64::from(bar.sender)) % 4, "{bar:?}");
    }
}

#[test]
fn waiting_for_a_window_lets_requests_meet_their_neighbours() {
    let job = Job { think: Span::from_millis(1), ..STRIDED };
    let fifo = run(&forwarded(FOUR_SERVERS, job, "fifo", 4)).unwrap();
    let twins = with_twins(FOUR_SERVERS, job, Span::from_millis(1), 4);
    assert_eq!(fifo.sizes.arriving_servers.mean(), 32 * KIB);
    // Each agent has eight processes: two on each server, side by side.
    assert!(twins.sizes.arriving_servers.mean() > 60 * KIB);
}

#[test]
fn a_window_too_large_leaves_the_servers_idle() {
    // A unit is on one server and the next unit on the next: one request in each window.
    let job = Job { pattern: Pattern::SharedContiguous, request: UNIT, ..STRIDED };
    let short = with_twins(FOUR_SERVERS, job, Span::from_millis(1), 4);
    let long = with_twins(FOUR_SERVERS, job, Span::from_millis(16), 4);
    assert!(long.makespan >= Span::from_millis(16 * (job.rounds() - 2)));
    assert!(long.makespan.as_nanos() > short.makespan.as_nanos() * 8);
    assert!(long.idle(ServerId(0)) > short.idle(ServerId(0)));
}

#[test]
fn where_a_crowd_costs_agents_pay_less_than_clients() {
    let congestion = Congestion { read: Span::from_micros(200), write: Span::ZERO };
    let device = Device { command: Span::from_micros(200), channels: 1, ..Device::SSD };
    let platform = Platform { congestion, device, ..FOUR_SERVERS };
    let none = run(&direct(platform, STRIDED)).unwrap();
    let fifo = run(&forwarded(platform, STRIDED, "fifo", 4)).unwrap();
    assert!(fifo.makespan < none.makespan, "{} {}", fifo.makespan, none.makespan);
    // Writes do not suffer here, so the agents are only one more hop.
    let writes = Job { operation: Operation::Write, ..STRIDED };
    let none = run(&direct(platform, writes)).unwrap();
    let fifo = run(&forwarded(platform, writes, "fifo", 4)).unwrap();
    assert!(fifo.makespan >= none.makespan, "{} {}", fifo.makespan, none.makespan);
}

#[test]
fn equal_jobs_are_served_equally_and_a_greedy_one_shows() {
    let half = Job { processes: 16, ..STRIDED };
    // One agent, so that they compete for the same wires.
    let scenario = forwarded(FOUR_SERVERS, half, "fifo", 1);
    let equal = run(&Scenario { jobs: vec![half, half], ..scenario.clone() }).unwrap();
    assert!(equal.fairness() >= 990, "{}", equal.fairness());
    let greedy = Job { request: 8 * 32 * KIB, volume: 64 * 8 * 32 * KIB, ..half };
    let unequal = run(&Scenario { jobs: vec![half, greedy], ..scenario }).unwrap();
    assert!(unequal.fairness() < 900, "{}", unequal.fairness());
    assert!(unequal.fairness() >= 500, "two jobs cannot be less fair than one alone");
}

#[test]
fn bounds_on_what_is_in_flight_are_kept() {
    let mut forwarding = Forwarding::named("fifo", 1).unwrap();
    forwarding.each.requests = 1;
    let scenario = Scenario { forwarding: Some(forwarding), ..direct(FOUR_SERVERS, STRIDED) };
    let report = run(&scenario).unwrap();
    let mut bars = report.timeline;
    bars.sort_by_key(|bar| (bar.server, bar.issued));
    for pair in bars.windows(2).filter(|pair| pair[0].server == pair[1].server) {
        assert!(pair[0].done <= pair[1].issued, "{pair:?}");
    }
}

#[test]
fn a_disk_that_seeks_longer_than_a_window_still_gets_whole_batches() {
    // Neighbours go out together though the disk is not done with one of them before the window ends: to
    // cut them apart would have it seek for each. Sixteen neighbours are with each agent, and four of
    // them at each server.
    let hdd = Device { depth: 1, lookahead: 0, ..Device::HDD };
    let disk = Platform { device: hdd, ..FOUR_SERVERS };
    let job = Job { processes: 64, per_node: 16, volume: 32 * 32 * KIB, ..STRIDED };
    for window in [1, 4] {
        let twins = with_twins(disk, job, Span::from_millis(window), 4);
        let sizes = twins.sizes.arriving_servers;
        let leaving = sizes.sum / u128::from(sizes.count);
        assert!(leaving > u128::from(80 * KIB), "{leaving} bytes in windows of {window} ms");
    }
}

#[test]
fn where_requests_are_gathered_they_stay_together_and_agents_apart() {
    // Sixteen processes of each agent read in step, four of them at each disk, and none takes exactly as
    // long as another to come back. A window holds several batches.
    let disk = Platform { device: Device { depth: 1, ..Device::HDD }, ..FOUR_SERVERS };
    let jitter = Span::from_micros(500);
    let job = Job { processes: 64, per_node: 16, jitter, ..STRIDED };
    let report = |gather| {
        let window = Span::from_millis(20);
        let forwarding = set_twins(TwinsSettings { window, gather, ..Default::default() }, 4);
        run(&Scenario { forwarding: Some(forwarding), ..direct(disk, job) }).unwrap()
    };
    let (plain, gathered) = (report(false), report(true));
    let size = |report: &Report| report.sizes.arriving_servers.mean();
    assert!(size(&gathered) > 115 * KIB, "{} of 128 KiB", size(&gathered) / KIB);
    assert!(size(&plain) < 80 * KIB, "{}", size(&plain) / KIB);
    assert!(gathered.makespan < plain.makespan);
    let met = |report: &Report| report.collisions() * 100 / report.sizes.arriving_servers.count;
    assert!(met(&gathered) <= 2, "{} % of the batches met others", met(&gathered));
}

#[test]
fn gathering_costs_nothing_where_there_is_nobody_to_gather() {
    let disk = Platform { device: Device { depth: 1, ..Device::HDD }, ..FOUR_SERVERS };
    for pattern in [Pattern::FilePerProcess, Pattern::SharedContiguous] {
        let job = Job { pattern, processes: 64, per_node: 16, ..STRIDED };
        let makespan = |gather| {
            let window = Span::from_millis(20);
            let forwarding = set_twins(TwinsSettings { window, gather, ..Default::default() }, 4);
            let scenario = Scenario { forwarding: Some(forwarding), ..direct(disk, job) };
            run(&scenario).unwrap().makespan.as_nanos()
        };
        let (plain, gathered) = (makespan(false), makespan(true));
        assert!(gathered * 100 <= plain * 103, "{pattern:?}: {gathered} against {plain}");
    }
}
