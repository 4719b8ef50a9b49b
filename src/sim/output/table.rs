//! The table for people: one block for each load, one row for each scheduler.

use std::fmt::Write;

use super::super::spec::{Load, Spec};
use super::super::sweep::Outcome;
use super::Numbers;

/// The outcomes as tables.
pub fn table(spec: &Spec, outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut last: Option<Load> = None;
    for outcome in outcomes {
        let load = outcome.case.load();
        if last.as_ref() != Some(&load) {
            let gap = if last.is_some() { "\n" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{gap}{}\n{HEAD}", title(spec, &load, outcome));
            last = Some(load);
        }
        let _ = writeln!(text, "{}", row(outcome));
    }
    text
}

fn title(spec: &Spec, load: &Load, outcome: &Outcome) -> String {
    let Load { pattern, operation, request, jobs } = load;
    let processes: u32 = outcome.case.jobs.iter().map(|job| job.processes).sum();
    let several =
        if *jobs > 1 { format!(" ({jobs} jobs; the first one's)") } else { String::new() };
    let servers = spec.platform.servers;
    format!("{pattern} {operation} {request}{several}: {processes} processes, {servers} servers")
}

fn row(outcome: &Outcome) -> String {
    let numbers = Numbers::of(outcome);
    let margin = numbers.margin.map_or(String::new(), |margin| format!("±{margin:.3}"));
    let leaving = match outcome.case.agents {
        0 => "-".into(),
        _ => format!("{:.1}", numbers.leaving / 1024.0),
    };
    format!(
        "{:<12} {:>8} {:>6} {:>12.3} {:>8} {:>10.1} {:>8} {:>8.1} {:>7.1} {:>6.1} {:>10.3} {:>10.3}",
        outcome.case.scheduler.name,
        outcome.case.window(),
        outcome.case.agents,
        numbers.makespan,
        margin,
        numbers.bandwidth / 1e6,
        leaving,
        numbers.arriving / 1024.0,
        numbers.collisions * 100.0,
        numbers.busy * 100.0,
        numbers.latency * 1e3,
        numbers.latency_p99 * 1e3,
    )
}

const HEAD: &str = "policy         window agents   makespan s               MB/s  leaving arriving  meet %  busy % \
latency ms     p99 ms\n                                                                      KiB      KiB";
