//! Specs to start from, by name.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::preset::{THESIS, thesis_job};
use iofwd_scheduler::sim::{Congestion, Device, Job, Link, Pattern, Platform, Rate};
use iofwd_scheduler::time::{Span, Time};

use super::scheduler::Daemon;
use super::spec::{Spec, Sweep};

/// Every preset: its name and what it is.
pub const ALL: [(&str, &str); 2] = [
    ("thesis", "128 processes, 4 servers with disks, 4 I/O nodes with IOFSL, 10 Gbit/s"),
    ("scale", "10,000 clients, 100 servers with flash, 64 agents, 100 Gbit/s"),
];

/// The preset of this name, if there is one.
pub fn by_name(name: &str) -> Option<Spec> {
    match name {
        "thesis" => Some(thesis()),
        "scale" => Some(scale()),
        _ => None,
    }
}

/// The platform of the TWINS thesis, with the schedulers that it compares.
fn thesis() -> Spec {
    Spec {
        seed: 1,
        repeat: 1,
        platform: THESIS,
        jobs: vec![thesis_job(Pattern::SharedStrided, Operation::Read, 32 << 10)],
        daemon: Daemon::Iofsl,
        gather: false,
        sweep: Sweep {
            policies: Daemon::Iofsl.schedulers().into_iter().map(String::from).collect(),
            agents: vec![4],
            ..Sweep::default()
        },
    }
}

/// A machine of today: every client is a node of its own and moves 8 MiB.
fn scale() -> Spec {
    let link = |gigabits: u64| Link {
        rate: Rate::megabits(gigabits * 1000),
        latency: Span::from_micros(5),
        message: Span::from_micros(2),
    };
    let congestion = Congestion { read: Span::from_micros(5), write: Span::ZERO };
    Spec {
        seed: 1,
        repeat: 1,
        platform: Platform {
            servers: 100,
            unit: 1 << 20,
            device: Device::SSD,
            congestion,
            front: link(100),
            back: link(100),
        },
        jobs: vec![Job {
            processes: 10_000,
            per_node: 1,
            pattern: Pattern::SharedStrided,
            operation: Operation::Read,
            request: 64 << 10,
            volume: 8 << 20,
            start: Time::ZERO,
            stagger: Span::from_millis(1),
            think: Span::ZERO,
            jitter: Span::ZERO,
        }],
        daemon: Daemon::Iofwd,
        gather: false,
        sweep: Sweep {
            policies: ["unforwarded", "fifo", "twins"].map(String::from).to_vec(),
            agents: vec![64],
            ..Sweep::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_simulated() {
        for (name, _) in ALL {
            let spec = by_name(name).expect("it is in the list");
            for case in spec.cases().expect("it makes sense") {
                spec.scenario(&case, 0).expect("it can be run");
            }
        }
        assert!(by_name("moon").is_none());
    }
}
