//! Small scenarios to start from.

use iofwd_scheduler::policy::{Policy, Setup, Twins, TwinsSettings};
use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::{
    Congestion, Device, Forwarding, Job, Link, Pattern, Platform, Rate, Scenario,
};
use iofwd_scheduler::time::{Span, Time};

pub(crate) const KIB: u64 = 1024;
pub(crate) const UNIT: u64 = 64 * KIB;

/// 10 us to get there, 1 us for each message, a nanosecond for each byte.
pub(crate) const LINK: Link = Link {
    rate: Rate::per_second(1_000_000_000),
    latency: Span::from_micros(10),
    message: Span::from_micros(1),
};

/// One process reads ten times 1,000 bytes.
pub(crate) const JOB: Job = Job {
    processes: 1,
    per_node: 1,
    pattern: Pattern::SharedContiguous,
    operation: Operation::Read,
    request: 1000,
    volume: 10_000,
    start: Time::ZERO,
    stagger: Span::ZERO,
    think: Span::ZERO,
    jitter: Span::ZERO,
};

/// One server that takes no time, behind wires that do.
pub(crate) const PLATFORM: Platform = Platform {
    servers: 1,
    unit: UNIT,
    device: Device::NULL,
    congestion: Congestion::NONE,
    front: LINK,
    back: LINK,
};

pub(crate) fn direct(platform: Platform, job: Job) -> Scenario {
    Scenario { seed: 1, platform, forwarding: None, jobs: vec![job], timeline: true }
}

pub(crate) fn forwarded(platform: Platform, job: Job, policy: &str, agents: u32) -> Scenario {
    let forwarding = Some(Forwarding::named(policy, agents).unwrap());
    Scenario { forwarding, ..direct(platform, job) }
}

/// Agents that run TWINS with windows of this length.
pub(crate) fn twins(window: Span, agents: u32) -> Forwarding {
    set_twins(TwinsSettings { window, ..TwinsSettings::default() }, agents)
}

/// Agents that run TWINS so.
pub(crate) fn set_twins(settings: TwinsSettings, agents: u32) -> Forwarding {
    let make = move |setup: &Setup| -> Box<dyn Policy> { Box::new(Twins::new(setup, settings)) };
    Forwarding::with(agents, make)
}
