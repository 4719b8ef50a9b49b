//! Platforms that were published, to compare with.
//!
//! The one here is that of the TWINS thesis (J. L. Bez, "Evaluating I/O Scheduling Techniques at the
//! Forwarding Layer and Coordinating Data Server Accesses", UFRGS 2016): 128 processes on 32 client
//! nodes, up to 8 I/O nodes that run IOFSL, 4 PVFS servers with one disk each, 10 Gbit/s Ethernet,
//! stripes of 64 KiB.

mod iofsl;

pub use iofsl::Published;

use super::device::Device;
use super::forwarding::Forwarding;
use super::network::{Link, Rate};
use super::scenario::{Platform, Scenario};
use super::server::Congestion;
use super::workload::{Job, Pattern};
use crate::request::Operation;
use crate::time::{Span, Time};

/// The machines of the TWINS thesis.
///
/// # Calibration
/// Chosen once, from these published numbers, and held for everything else:
/// * the time between requests that arrive at an I/O node, 26.09 us for reads and 50.92 us for writes of
///   32 KiB (section 3.4.3): a message costs 26 us, and 32 KiB at 10 Gbit/s another 26 us;
/// * the time to write 4 GiB without forwarding, 203.2 s in requests of 32 KiB and 107.6 s in requests of
///   256 KiB (figure 5.2, strided): 6.20 and 6.57 ms for each piece at a server, hence 88.6 MB/s and
///   5.83 ms beside the bytes. Larger requests at the servers (table 3.1) did not make writes shorter, so
///   each piece of a list is an access of its own;
/// * the mean size of strided reads that leave the I/O nodes, 57.75 KB with FIFO, 75.09 KB with TO and
///   119.29 KB with TWINS at 1 ms (table 5.1): how long a thread takes to wake up and take a list, how
///   long AGIOS takes to look at what arrived, and how fast it hands requests over (see [`Published`]);
/// * the improvement of TWINS at 1 ms for strided reads of 32 KiB, 24.03 % over FIFO and 46.93 % over no
///   forwarding (section 5): what a read costs beside its bytes, and what a doubling of the senders adds
///   to each message.
///
/// Two assumptions are not from a number. Processes take up to 40 us more or less from one request to the
/// next: enough that TO and SW are not slower than FIFO, as published in words. And no absolute time of a
/// read is printed in the thesis; the model's (41 s with FIFO) is a guess, chosen so that the requests of
/// one I/O node for one server take about the window found best, 8 ms.
pub const THESIS: Platform = Platform {
    servers: 4,
    unit: 64 * KIB,
    device: THESIS_DISK,
    congestion: Congestion { read: Span::from_micros(260), write: Span::ZERO },
    front: THESIS_LINK,
    back: THESIS_LINK,
};

/// One run of its benchmark: 128 processes move 32 MiB each, 4 GiB in all.
pub const fn thesis_job(pattern: Pattern, operation: Operation, request: u64) -> Job {
    Job {
        processes: 128,
        per_node: 4,
        pattern,
        operation,
        request,
        volume: 32 * 1024 * KIB,
        start: Time::ZERO,
        stagger: Span::from_millis(1),
        think: Span::ZERO,
        jitter: Span::from_micros(40),
    }
}

/// One experiment of the thesis; without forwarding if there is none.
pub fn thesis(job: Job, forwarding: Option<Forwarding>) -> Scenario {
    Scenario { seed: 1, platform: THESIS, forwarding, jobs: vec![job], timeline: false }
}

/// Two applications at once (section 5.6): 64 processes each, strided reads of 32 KiB, the second one
/// started `later`.
pub fn thesis_pair(later: Span, forwarding: Option<Forwarding>) -> Scenario {
    let whole = thesis_job(Pattern::SharedStrided, Operation::Read, 32 * KIB);
    let first = Job { processes: 64, ..whole };
    let second = Job { start: Time::ZERO + later, ..first };
    Scenario { jobs: vec![first, second], ..thesis(first, forwarding) }
}

/// A disk of which neither the distance nor the order of requests matters: the servers ran with direct
/// I/O, and their published write times are the same for both patterns. What a message costs is in the
/// link.
const THESIS_DISK: Device = Device {
    command: Span::ZERO,
    access: Span::from_micros(200),
    seek_min: Span::ZERO,
    seek_max: Span::ZERO,
    span: 1,
    turn: Span::from_micros(400),
    lookahead: 0,
    read: Rate::per_second(88_600_000),
    write: Rate::per_second(88_600_000),
    sync: Span::from_micros(5_430),
    depth: 1,
    channels: 1,
    joins: false,
};

const THESIS_LINK: Link = Link {
    rate: Rate::megabits(10_000),
    latency: Span::from_micros(50),
    message: Span::from_micros(26),
};

const KIB: u64 = 1024;
