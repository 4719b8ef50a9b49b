//! What must hold in every scenario, whatever the policy: tried on random ones.

use std::collections::BTreeMap;

use iofwd_scheduler::policy::ALL;
use iofwd_scheduler::request::{Operation, ServerId};
use iofwd_scheduler::sim::preset::Published;
use iofwd_scheduler::sim::{
    Bar, Congestion, Device, Forwarding, Job, Pattern, Platform, Random, Report, Scenario, run,
};
use iofwd_scheduler::time::{Span, Time};

use crate::setup::{KIB, LINK, PLATFORM};

const SEEDS: u64 = 24;

fn any<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

fn any_job(random: &mut Random) -> Job {
    let request = any(random, &[1, 7 * KIB, 32 * KIB, 64 * KIB, 256 * KIB]);
    Job {
        processes: 1 + random.below(24) as u32,
        per_node: 1 + random.below(4) as u32,
        pattern: any(
            random,
            &[
                Pattern::FilePerProcess,
                Pattern::SharedContiguous,
                Pattern::SharedStrided,
                Pattern::Random,
            ],
        ),
        operation: any(random, &[Operation::Read, Operation::Write]),
        request,
        volume: request * random.below(20),
        start: Time::from_nanos(random.below(5_000_000)),
        stagger: Span::from_nanos(random.below(2_000_000)),
        think: any(random, &[Span::ZERO, Span::from_micros(300)]),
        jitter: any(random, &[Span::ZERO, Span::from_micros(200)]),
    }
}

fn any_scenario(seed: u64) -> Scenario {
    let mut random = Random::new(seed, 0);
    let device = any(&mut random, &[Device::HDD, Device::SSD, Device::NULL]);
    let read = Span::from_micros(random.below(200));
    let congestion = any(&mut random, &[Congestion::NONE, Congestion { read, write: read }]);
    let servers = 1 + random.below(6) as u32;
    let unit = any(&mut random, &[4 * KIB, 64 * KIB]);
    let platform = Platform { servers, unit, device, congestion, front: LINK, ..PLATFORM };
    let jobs = (0..1 + random.below(3)).map(|_| any_job(&mut random)).collect();
    Scenario { seed, platform, forwarding: None, jobs, timeline: true }
}

/// The scenario without agents, and with one to six of them under every policy.
fn variants(seed: u64) -> Vec<(&'static str, Scenario)> {
    let bare = any_scenario(seed);
    let agents = 1 + (seed % 6) as u32;
    let mut all = vec![("no agents", bare.clone())];
    for entry in ALL {
        let forwarding = Some(Forwarding::named(entry.name, agents).unwrap());
        all.push((entry.name, Scenario { forwarding, ..bare.clone() }));
    }
    let window = Span::from_micros(300);
    for scheduler in [Published::Fifo, Published::Mlf, Published::Twins(window)] {
        let forwarding = Some(scheduler.forwarding(agents));
        all.push(("with lists", Scenario { forwarding, ..bare.clone() }));
    }
    all
}

fn check_conservation(scenario: &Scenario, report: &Report) {
    let bytes: u64 = scenario.jobs.iter().map(Job::bytes).sum();
    assert_eq!(report.servers.iter().map(|server| server.bytes).sum::<u64>(), bytes);
    assert_eq!(report.timeline.iter().map(|bar| bar.bytes).sum::<u64>(), bytes);
    for level in [report.sizes.leaving_clients, report.sizes.arriving_servers] {
        assert_eq!(level.sum, u128::from(bytes));
    }
    for (job, found) in scenario.jobs.iter().zip(&report.jobs) {
        let requests = job.rounds() * u64::from(job.processes);
        assert_eq!((found.requests, found.bytes), (requests, job.bytes()), "answered once each");
    }
    let answers: u64 = report.jobs.iter().map(|job| job.requests).sum();
    assert_eq!(report.latencies.mean.count, answers);
    assert_eq!(report.waits.mean.count, report.sizes.queued.count);
}

fn check_times(scenario: &Scenario, report: &Report) {
    let start = scenario.jobs.iter().map(|job| job.start).min().unwrap();
    let end = start + report.makespan;
    for bar in &report.timeline {
        let Bar { issued, begun, done, .. } = *bar;
        assert!(start <= issued && issued <= begun && begun <= done && done <= end, "{bar:?}");
    }
    for job in &report.jobs {
        assert!(job.start <= job.first_end && job.first_end <= job.end && job.end <= end);
    }
    assert!(report.waits.max <= report.latencies.max || report.waits.mean.count == 0);
}

fn check_servers(scenario: &Scenario, report: &Report) {
    for (index, server) in report.servers.iter().enumerate() {
        let id = ServerId(index as u32);
        assert!(server.busy <= report.makespan && server.crowded <= report.makespan);
        assert_eq!(report.utilisation(id) + report.idle(id), 1000);
        assert!(server.collisions <= server.commands);
    }
    if scenario.platform.device.channels == 1 {
        check_one_at_a_time(&report.timeline);
    }
    if scenario.forwarding.as_ref().is_some_and(|forwarding| forwarding.agents == 1) {
        assert_eq!(report.collisions(), 0, "one agent cannot collide with itself");
    }
}

fn check_one_at_a_time(timeline: &[Bar]) {
    let mut by_server: BTreeMap<ServerId, Vec<(Time, Time)>> = BTreeMap::new();
    for bar in timeline {
        by_server.entry(bar.server).or_default().push((bar.begun, bar.done));
    }
    for spans in by_server.values_mut() {
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two at once");
    }
}

#[test]
fn nothing_is_lost_made_up_or_out_of_order() {
    for seed in 0..SEEDS {
        for (policy, scenario) in variants(seed) {
            let report =
                run(&scenario).unwrap_or_else(|error| panic!("{policy}, seed {seed}: {error}"));
            check_conservation(&scenario, &report);
            check_times(&scenario, &report);
            check_servers(&scenario, &report);
            assert!(report.fairness() <= 1000, "{policy}, seed {seed}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_report_byte_for_byte() {
    for seed in 0..SEEDS / 4 {
        for (policy, scenario) in variants(seed) {
            let (first, second) = (run(&scenario).unwrap(), run(&scenario).unwrap());
            assert_eq!(first, second, "{policy}, seed {seed}");
            assert_eq!(first.to_string(), second.to_string(), "{policy}, seed {seed}");
        }
    }
}

#[test]
fn another_seed_gives_another_report() {
    let job = Job { processes: 4, pattern: Pattern::Random, ..crate::setup::JOB };
    let platform = Platform { device: Device::HDD, ..PLATFORM };
    let scenario = crate::setup::forwarded(platform, job, "fifo", 2);
    let other = Scenario { seed: scenario.seed + 1, ..scenario.clone() };
    assert_ne!(run(&scenario).unwrap().to_string(), run(&other).unwrap().to_string());
}

#[test]
fn the_timeline_is_kept_only_if_asked_for() {
    let scenario = Scenario { timeline: false, ..any_scenario(3) };
    assert!(run(&scenario).unwrap().timeline.is_empty());
}

#[test]
fn a_whole_machine_fits() {
    let job = Job {
        processes: 10_000,
        per_node: 8,
        pattern: Pattern::SharedStrided,
        request: 64 * KIB,
        volume: 2 * 64 * KIB,
        ..crate::setup::JOB
    };
    let platform = Platform { servers: 100, device: Device::SSD, ..PLATFORM };
    for policy in ["fifo", "twins"] {
        let scenario = crate::setup::forwarded(platform, job, policy, 64);
        let report = run(&Scenario { timeline: false, ..scenario }).unwrap();
        assert_eq!(report.jobs[0].requests, 20_000, "{policy}");
    }
}
