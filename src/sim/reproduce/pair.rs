//! Figures 5.10 and 5.11: two applications at once, one started some time before or after the other.

use iofwd_scheduler::sim::preset::{Published, thesis_pair};
use iofwd_scheduler::sim::{Scenario, run};
use iofwd_scheduler::time::Span;

use super::published::Thesis;
use super::{Chart, Effort, Section, Table, shorter, signed};
use crate::sim::chart::{Lines, Series};

/// What became of application A with one scheduler.
pub(super) struct Measured {
    name: &'static str,
    /// By itself, in seconds.
    alone: f64,
    /// Beside B, in seconds, for each of [`OFFSETS`].
    beside: Vec<f64>,
}

/// Simulates the pairs.
pub(super) fn measure(effort: Effort, seed: u64) -> Result<Vec<Measured>, String> {
    let ways = [
        ("none", None),
        ("fifo", Some(Published::Fifo)),
        ("hbrr", Some(Published::Hbrr)),
        ("twins", Some(Published::Twins(Span::from_millis(1)))),
    ];
    let each = |(name, scheduler): (&'static str, Option<Published>)| {
        let makespan = |offset: Option<i64>| makespan_of_a(effort, seed, scheduler, offset);
        let beside: Result<Vec<f64>, String> =
            OFFSETS.into_iter().map(|offset| makespan(Some(offset))).collect();
        Ok(Measured { name, alone: makespan(None)?, beside: beside? })
    };
    ways.into_iter().map(each).collect()
}

pub(super) fn sections(measured: &[Measured], thesis: &Thesis) -> Vec<Section> {
    vec![times(measured, thesis), factors(measured, thesis)]
}

fn times(measured: &[Measured], thesis: &Thesis) -> Section {
    let values = |one: &Measured| one.beside.clone();
    Section {
        id: "figure-5.10".into(),
        title: "Figure 5.10: two applications, execution time of A".into(),
        published: "Application A (64 processes, small strided reads) gets shorter by up to 35 % with FIFO or HBRR, \
            by up to 45 % with TWINS, which is up to 16 % shorter than FIFO. (The figure has no printed numbers.)"
            .into(),
        ours: "The same order at every offset (a positive one means that A starts before B). TWINS gains more over \
            FIFO than published: half the processes on the same I/O nodes leave room in every list, and in the \
            model nothing else gets in the way."
            .into(),
        tables: vec![
            compared(measured, thesis, "makespan of A", &values),
            all(measured, "makespan of A, s", &values, 1),
        ],
        charts: vec![chart("figure-5.10", "execution time of A", "makespan of A (s)", measured, &values)],
    }
}

fn factors(measured: &[Measured], thesis: &Thesis) -> Section {
    let values = |one: &Measured| one.beside.iter().map(|time| time / one.alone).collect();
    Section {
        id: "figure-5.11".into(),
        title: "Figure 5.11: two applications, interference factor".into(),
        published: "The interference factor is the time of A beside B divided by its time alone. FIFO and HBRR \
            lower it by up to 25 %, except at an offset of 10 s; TWINS by up to 12 % more, 31 % in all. (The figure \
            has no printed numbers.)"
            .into(),
        ours: "Forwarding lowers the interference, and TWINS lowers it further where the applications start some \
            seconds apart, by about as much as published. Where they start together TWINS interferes more than FIFO \
            in the model: alone, A has gained more from it than it can keep beside B."
            .into(),
        tables: vec![
            compared(measured, thesis, "interference factor", &values),
            all(measured, "interference factor", &values, 2),
        ],
        charts: vec![chart("figure-5.11", "interference factor", "interference factor", measured, &values)],
    }
}

/// The largest improvements over all offsets beside the published ones.
fn compared(
    measured: &[Measured],
    thesis: &Thesis,
    what: &str,
    values: &dyn Fn(&Measured) -> Vec<f64>,
) -> Table {
    let mut table =
        Table::new(&[what, "shorter than", "published, up to", "ours, up to", "difference"]);
    let find =
        |name: &str| measured.iter().find(|one| one.name == name.replace("unforwarded", "none"));
    for pair in thesis.pair.iter().filter(|pair| pair.what == what) {
        let (Some(of), Some(over)) = (find(&pair.of), find(&pair.over)) else { continue };
        let gains = values(of).into_iter().zip(values(over)).map(|(of, over)| shorter(of, over));
        let most = gains.fold(f64::NEG_INFINITY, f64::max);
        table.row(vec![
            pair.of.clone(),
            pair.over.clone(),
            format!("{:.0} %", pair.percent),
            format!("{most:.1} %").replace('-', "−"),
            signed(most - pair.percent, 1) + " points",
        ]);
    }
    table
}

fn all(
    measured: &[Measured],
    what: &str,
    values: &dyn Fn(&Measured) -> Vec<f64>,
    digits: usize,
) -> Table {
    let mut table = Table::new(&[what, "alone, s"]);
    table.head.extend(OFFSETS.map(|offset| signed(offset as f64, 0) + " s"));
    for one in measured {
        let mut cells = vec![one.name.to_string(), format!("{:.1}", one.alone)];
        cells.extend(values(one).iter().map(|value| format!("{value:.digits$}")));
        table.row(cells);
    }
    table
}

fn chart(
    file: &str,
    title: &str,
    what: &str,
    measured: &[Measured],
    values: &dyn Fn(&Measured) -> Vec<f64>,
) -> Chart {
    let series =
        |one: &Measured| Series { name: one.name.into(), values: values(one), reference: false };
    let lines = Lines {
        title: format!("{}: {title}", file.replace('-', " ").replace('f', "F")),
        settings: "start of B after that of A (s)".into(),
        values: what.into(),
        ticks: OFFSETS.map(|offset| signed(offset as f64, 0)).to_vec(),
        series: measured.iter().map(series).collect(),
    };
    Chart { file: file.into(), drawing: lines.drawing() }
}

/// The makespan of A in seconds: beside B, which starts so many seconds later, or alone.
fn makespan_of_a(
    effort: Effort,
    seed: u64,
    scheduler: Option<Published>,
    offset: Option<i64>,
) -> Result<f64, String> {
    let share = effort.share();
    let forwarding = scheduler.map(|scheduler| scheduler.forwarding(4));
    let later = Span::from_nanos(offset.unwrap_or(0).unsigned_abs() * 1_000_000_000 / share);
    let mut scenario = Scenario { seed, ..thesis_pair(later, forwarding) };
    scenario.jobs.iter_mut().for_each(|job| job.volume /= share);
    // The first of the pair is the one that starts first.
    let a = usize::from(offset.is_some_and(|offset| offset < 0));
    if offset.is_none() {
        scenario.jobs.truncate(1);
    }
    let report = run(&scenario).map_err(|error| error.to_string())?;
    Ok(report.jobs[a].makespan().as_nanos() as f64 / 1e9 * share as f64)
}

const OFFSETS: [i64; 7] = [-10, -5, -2, 0, 2, 5, 10];
