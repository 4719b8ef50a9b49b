//! The preset of the TWINS thesis: what was published in words must come out of the model, and the
//! numbers it was calibrated with. A sixteenth of the published volume, which changes no order.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::preset::{thesis, thesis_job, thesis_pair};
use iofwd_scheduler::sim::{Forwarding, Job, Pattern, Report, Scenario, interference, run};
use iofwd_scheduler::time::Span;

use crate::setup::{KIB, twins};

const SHARE: u64 = 16;

fn job(pattern: Pattern, operation: Operation, request: u64) -> Job {
    let whole = thesis_job(pattern, operation, request);
    Job { volume: whole.volume / SHARE, ..whole }
}

fn strided_reads() -> Job {
    job(Pattern::SharedStrided, Operation::Read, 32 * KIB)
}

fn measure(job: Job, forwarding: Option<Forwarding>) -> Report {
    run(&thesis(job, forwarding)).unwrap()
}

/// Makespans in microseconds: without forwarding, with FIFO, and with TWINS at 1 ms, on 4 I/O nodes.
fn three_ways(job: Job) -> [u64; 3] {
    let fifo = Forwarding::named("fifo", 4).unwrap();
    let ways = [None, Some(fifo), Some(twins(Span::from_millis(1), 4))];
    ways.map(|forwarding| measure(job, forwarding).makespan.as_nanos() / 1000)
}

fn window_sweep(agents: u32, windows: &[u64]) -> Vec<u64> {
    let run = |&micros: &u64| {
        let report = measure(strided_reads(), Some(twins(Span::from_micros(micros), agents)));
        report.makespan.as_nanos() / 1000
    };
    windows.iter().map(run).collect()
}

#[test]
fn reads_of_a_shared_file_gain_from_forwarding_and_more_from_windows() {
    for pattern in [Pattern::SharedStrided, Pattern::SharedContiguous] {
        for request in [32 * KIB, 256 * KIB] {
            let [none, fifo, twins] = three_ways(job(pattern, Operation::Read, request));
            assert!(twins < fifo && fifo < none, "{pattern:?} {request}: {twins} {fifo} {none}");
        }
    }
}

#[test]
fn writes_do_not_gain_or_lose() {
    for pattern in [Pattern::SharedStrided, Pattern::SharedContiguous] {
        for request in [32 * KIB, 256 * KIB] {
            let found = three_ways(job(pattern, Operation::Write, request));
            let (least, most) = (found.iter().min().unwrap(), found.iter().max().unwrap());
            assert!(most - least < least / 33, "{pattern:?} {request}: {found:?}");
        }
    }
}

#[test]
fn the_numbers_of_the_calibration_come_out() {
    let [none, fifo, twins] = three_ways(strided_reads());
    let gain = |than: u64| (than - twins) * 1000 / than;
    // 24.03 % over FIFO, 46.93 % over no forwarding, to eight points.
    assert!((160..=320).contains(&gain(fifo)), "{}", gain(fifo));
    assert!((389..=549).contains(&gain(none)), "{}", gain(none));
    for (request, published_ms) in [(32 * KIB, 203_200), (256 * KIB, 107_600)] {
        let report = measure(job(Pattern::SharedStrided, Operation::Write, request), None);
        let whole_ms = report.makespan.as_nanos() / 1_000_000 * SHARE;
        assert!(whole_ms.abs_diff(published_ms) < published_ms / 50, "{request}: {whole_ms}");
    }
}

#[test]
fn one_io_node_favours_fifo_and_four_favour_windows() {
    let makespan = |forwarding| measure(strided_reads(), Some(forwarding)).makespan;
    let window = Span::from_millis(1);
    assert!(makespan(Forwarding::named("fifo", 1).unwrap()) < makespan(twins(window, 1)));
    assert!(makespan(Forwarding::named("fifo", 4).unwrap()) > makespan(twins(window, 4)));
}

#[test]
fn the_best_window_is_neither_short_nor_long() {
    let windows = [125, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
    let found = window_sweep(4, &windows);
    let best = (0..windows.len()).min_by_key(|&at| found[at]).unwrap();
    assert!((1_000..=8_000).contains(&windows[best]), "{found:?}");
    assert!(found[7] > found[best] * 11 / 10, "too large a window costs: {found:?}");
}

#[test]
fn windows_let_more_requests_leave_together() {
    let fifo = measure(strided_reads(), Some(Forwarding::named("fifo", 4).unwrap()));
    let twins = measure(strided_reads(), Some(twins(Span::from_millis(8), 4)));
    let size = |report: &Report| report.sizes.arriving_servers.mean();
    assert!(size(&twins) > size(&fifo) * 3 / 2, "{} {}", size(&twins), size(&fifo));
}

#[test]
fn two_applications_disturb_each_other_less_through_io_nodes() {
    let shorter = |mut scenario: Scenario| {
        scenario.jobs.iter_mut().for_each(|job| job.volume /= SHARE);
        interference(&scenario).unwrap()
    };
    let fifo = Forwarding::named("fifo", 4).unwrap();
    let direct = shorter(thesis_pair(Span::ZERO, None));
    let forwarded = shorter(thesis_pair(Span::ZERO, Some(fifo)));
    assert!(forwarded[0] < direct[0] && forwarded[1] < direct[1], "{forwarded:?} {direct:?}");
    assert!(forwarded.iter().all(|&factor| factor > 1000));
}
