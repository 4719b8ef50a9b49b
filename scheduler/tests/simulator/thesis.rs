//! The preset of the TWINS thesis: what was published in words must come out of the model, and the
//! numbers it was calibrated with. A sixteenth of the published volume, which changes no order.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::preset::{Published, thesis, thesis_job, thesis_pair};
use iofwd_scheduler::sim::{Job, Pattern, Report, Scenario, interference, run};
use iofwd_scheduler::time::Span;

use crate::setup::KIB;

const SHARE: u64 = 16;
const READS: [(Pattern, u64); 4] = [
    (Pattern::SharedStrided, 32 * KIB),
    (Pattern::SharedContiguous, 32 * KIB),
    (Pattern::SharedStrided, 256 * KIB),
    (Pattern::SharedContiguous, 256 * KIB),
];
const TWINS: Published = Published::Twins(Span::from_millis(1));
const SW: Published = Published::Sw(Span::from_secs(1));

fn job(pattern: Pattern, operation: Operation, request: u64) -> Job {
    let whole = thesis_job(pattern, operation, request);
    Job { volume: whole.volume / SHARE, ..whole }
}

fn strided_reads() -> Job {
    job(Pattern::SharedStrided, Operation::Read, 32 * KIB)
}

fn measure(job: Job, scheduler: Option<Published>, agents: u32) -> Report {
    run(&thesis(job, scheduler.map(|scheduler| scheduler.forwarding(agents)))).unwrap()
}

/// Makespan in microseconds on 4 I/O nodes, or without any.
fn makespan(job: Job, scheduler: Option<Published>) -> u64 {
    measure(job, scheduler, 4).makespan.as_nanos() / 1000
}

/// By how many thousandths the first is shorter than the second.
fn gain(shorter: u64, longer: u64) -> i64 {
    1000 - (shorter * 1000 / longer) as i64
}

#[test]
fn reads_of_a_shared_file_gain_in_the_published_order() {
    for (pattern, request) in READS {
        let job = job(pattern, Operation::Read, request);
        let all = [Some(TWINS), Some(SW), Some(Published::To), Some(Published::Fifo), None];
        let [twins, sw, to, fifo, none] = all.map(|scheduler| makespan(job, scheduler));
        let hbrr = makespan(job, Some(Published::Hbrr));
        assert!(twins < sw.min(to), "{pattern:?} {request}: {twins} {sw} {to}");
        assert!(gain(sw, to).abs() <= 40, "{pattern:?} {request}: {sw} {to}");
        assert!(gain(sw, fifo) >= -15, "{pattern:?} {request}: {sw} {fifo}");
        assert!(gain(to, fifo) >= -15, "{pattern:?} {request}: {to} {fifo}");
        assert!(gain(hbrr, fifo).abs() <= 10, "{pattern:?} {request}: {hbrr} {fifo}");
        assert!(fifo < none, "{pattern:?} {request}: {fifo} {none}");
    }
}

#[test]
fn a_file_for_each_process_gains_from_forwarding_and_not_from_windows() {
    let job = job(Pattern::FilePerProcess, Operation::Read, 32 * KIB);
    let [none, fifo, twins] = [None, Some(Published::Fifo), Some(TWINS)].map(|s| makespan(job, s));
    assert!((278..=438).contains(&gain(fifo, none)), "published are 35.80 %: {fifo} {none}");
    assert!(gain(twins, fifo).abs() <= 20, "{twins} {fifo}");
}

#[test]
fn writes_do_not_gain_or_lose() {
    for (pattern, request) in READS {
        let job = job(pattern, Operation::Write, request);
        let found = [None, Some(Published::Fifo), Some(TWINS)].map(|s| makespan(job, s));
        let (least, most) = (found.iter().min().unwrap(), found.iter().max().unwrap());
        assert!(most - least < least / 20, "{pattern:?} {request}: {found:?}");
    }
}

#[test]
fn the_published_improvements_come_out() {
    let [none, fifo, twins] =
        [None, Some(Published::Fifo), Some(TWINS)].map(|s| makespan(strided_reads(), s));
    assert!((160..=320).contains(&gain(twins, fifo)), "24.03 %: {twins} {fifo}");
    assert!((389..=549).contains(&gain(twins, none)), "46.93 %: {twins} {none}");
    let contiguous = job(Pattern::SharedContiguous, Operation::Read, 32 * KIB);
    let [fifo, twins] = [Some(Published::Fifo), Some(TWINS)].map(|s| makespan(contiguous, s));
    assert!((119..=278).contains(&gain(twins, fifo)), "19.85 %: {twins} {fifo}");
}

#[test]
fn the_published_times_of_writes_come_out() {
    for (request, published_ms) in [(32 * KIB, 203_200), (256 * KIB, 107_600)] {
        let job = job(Pattern::SharedStrided, Operation::Write, request);
        let whole_ms = makespan(job, None) * SHARE / 1000;
        assert!(whole_ms.abs_diff(published_ms) < published_ms / 40, "{request}: {whole_ms}");
    }
}

#[test]
fn one_io_node_favours_fifo_and_four_favour_windows() {
    let time = |scheduler, agents| measure(strided_reads(), Some(scheduler), agents).makespan;
    for window in [1, 8, 16] {
        let twins = Published::Twins(Span::from_millis(window));
        assert!(time(Published::Fifo, 1) <= time(twins, 1), "{window} ms");
        assert!(time(Published::Fifo, 4) > time(twins, 4), "{window} ms");
    }
}

#[test]
fn the_best_window_is_neither_short_nor_long() {
    let windows = [125, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
    let time = |&micros: &u64| {
        makespan(strided_reads(), Some(Published::Twins(Span::from_micros(micros))))
    };
    let found: Vec<u64> = windows.iter().map(time).collect();
    let best = (0..windows.len()).min_by_key(|&at| found[at]).unwrap();
    assert!((1_000..=8_000).contains(&windows[best]), "{found:?}");
    assert!(found[7] > found[best] * 11 / 10, "too large a window costs: {found:?}");
}

#[test]
fn requests_leave_the_io_nodes_as_large_as_published() {
    let published = [
        (Published::Fifo, 57_750, 57_720),
        (Published::Hbrr, 57_770, 57_770),
        (Published::To, 75_090, 77_070),
        (Published::Sjf, 74_790, 76_810),
        (SW, 73_080, 72_640),
        (TWINS, 119_290, 106_170),
    ];
    let contiguous = job(Pattern::SharedContiguous, Operation::Read, 32 * KIB);
    for (scheduler, strided, other) in published {
        for (job, expected) in [(strided_reads(), strided), (contiguous, other)] {
            let report = measure(job, Some(scheduler), 4);
            let found = report.sizes.leaving_agents.times(1000) / KIB;
            assert!(found.abs_diff(expected) < expected / 4, "{scheduler:?}: {found} {expected}");
        }
    }
}

#[test]
fn two_applications_disturb_each_other_less_through_io_nodes() {
    let shorter = |mut scenario: Scenario| {
        scenario.jobs.iter_mut().for_each(|job| job.volume /= SHARE);
        interference(&scenario).unwrap()
    };
    let direct = shorter(thesis_pair(Span::ZERO, None));
    let fifo = Published::Fifo.forwarding(4);
    let forwarded = shorter(thesis_pair(Span::ZERO, Some(fifo)));
    assert!(forwarded[0] < direct[0] && forwarded[1] < direct[1], "{forwarded:?} {direct:?}");
    assert!(forwarded.iter().all(|&factor| factor > 1000));
}
