//! The results as people read them.

use std::fmt::Write;

use super::super::conductor::{Measured, Process};
use super::super::series::Record;
use super::super::summary::{Metric, Pair, Results, Summary};
use super::{PERCENTILES, rate, rows};

/// Each run, then what all runs say; with each process if that is wanted.
pub fn table(results: &Results, processes: bool) -> String {
    let mut text = load(results);
    if results.records.len() == 1 || processes {
        results.records.iter().for_each(|one| text += &record(results, one, processes));
    }
    if results.records.len() > 1 {
        text += &summaries(results);
    }
    let pairs = results.pairs();
    if !pairs.is_empty() {
        text += &verdicts(results, &pairs);
    }
    if let Some(kept) = &results.kept {
        let _ = writeln!(text, "the files are in {}", kept.display());
    }
    text
}

/// What was done, so that it can be done again.
fn load(results: &Results) -> String {
    let plan = &results.plan;
    let mut text = String::new();
    for one in &plan.applications {
        let shape = &one.shape;
        let _ = writeln!(
            text,
            "{}: {} processes, {}, {} requests of {} bytes each, {} bytes in all",
            one.name,
            shape.processes(),
            shape.pattern().name(),
            shape.rounds(),
            shape.request(),
            shape.bytes()
        );
    }
    let verified = if plan.verify { ", every byte verified" } else { "" };
    let _ = writeln!(text, "in {}, seed {}{verified}\n", plan.path.display(), plan.seed);
    text
}

/// One run.
fn record(results: &Results, record: &Record, processes: bool) -> String {
    let mut rows = vec![head()];
    for measured in &record.measured {
        rows.append(&mut measured_rows(results, measured, processes));
    }
    let run = record.run;
    let setting = results.setting(run.setting).map(|value| format!(", {value}"));
    let alone = run.alone.map(|one| format!(", {} alone", results.plan.applications[one].name));
    let title = format!(
        "round {}{}{}",
        run.round + 1,
        setting.unwrap_or_default(),
        alone.unwrap_or_default()
    );
    let title = if results.records.len() > 1 { format!("{title}\n") } else { String::new() };
    format!("{title}{}\n", align(&rows))
}

fn head() -> Vec<String> {
    let fixed = ["", "makespan", "MiB/s", "requests/s"].map(String::from);
    let times = PERCENTILES.iter().map(|(name, _)| name.to_string());
    fixed.into_iter().chain(times).chain(["slowest".into()]).collect()
}

fn measured_rows(results: &Results, measured: &Measured, processes: bool) -> Vec<Vec<String>> {
    let name = &results.plan.applications[measured.application].name;
    let title = format!("{name} {}", measured.operation);
    let shown = if processes { usize::MAX } else { 1 };
    let row = |(rank, process): (Option<usize>, Process)| match rank {
        None => row(&title, measured.makespan_ns, &process),
        Some(rank) => row(&format!("  process {rank}"), process.io_ns, &process),
    };
    rows(measured).into_iter().take(shown).map(row).collect()
}

fn row(title: &str, makespan: u64, process: &Process) -> Vec<String> {
    let latency = &process.latency;
    let mut cells = vec![
        title.into(),
        time(makespan),
        format!("{:.1}", rate(process.bytes, process.io_ns) / MIB),
        format!("{:.0}", rate(latency.count(), process.io_ns)),
    ];
    cells.extend(PERCENTILES.iter().map(|(_, share)| time(latency.percentile(*share))));
    cells.push(time(latency.largest()));
    cells
}

/// What all rounds say.
fn summaries(results: &Results) -> String {
    let titles = ["", "", "runs", "median", "mean", "99.7 % interval"];
    let mut rows = vec![titles.map(String::from).to_vec()];
    for one in results.summaries() {
        let setting = results.setting(one.setting).map(|value| format!("{value} "));
        let application = &results.plan.applications[one.application].name;
        rows.push(vec![
            format!("{}{application} {}", setting.unwrap_or_default(), one.operation),
            label(one.metric).into(),
            one.values.len().to_string(),
            shown(one.metric, one.median()),
            shown(one.metric, one.mean()),
            interval(&one),
        ]);
    }
    align(&rows)
}

fn interval(one: &Summary) -> String {
    let Some(margin) = one.margin() else { return "-".into() };
    // A mean of times is not below zero, however little is known about it.
    let low = (one.mean() - margin).max(0.0);
    format!("{} .. {}", shown(one.metric, low), shown(one.metric, one.mean() + margin))
}

/// Which settings differ.
fn verdicts(results: &Results, pairs: &[Pair]) -> String {
    let mut rows = Vec::new();
    for pair in pairs {
        let [one, two] = pair.settings.map(|setting| results.setting(Some(setting)).unwrap_or(""));
        rows.push(vec![
            format!("{two} and {one}, {}", results.plan.applications[pair.application].name),
            format!("{} {}", pair.operation, label(pair.metric)),
            format!("{:+.1} %", pair.difference * 100.0),
            pair.likelihood.map_or("one run".into(), |likelihood| format!("p = {likelihood:.4}")),
            pair.verdict().into(),
        ]);
    }
    format!("\n{}", align(&rows))
}

fn label(metric: Metric) -> &'static str {
    match metric {
        Metric::Makespan => "makespan",
        Metric::Alone => "makespan alone",
        Metric::Interference => "interference",
        Metric::Bandwidth => "bandwidth",
    }
}

fn shown(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Makespan | Metric::Alone => time((value * 1e9) as u64),
        Metric::Interference => format!("{value:.3}"),
        Metric::Bandwidth => format!("{:.1} MiB/s", value / MIB),
    }
}

/// Three digits or a few more, and the unit.
fn time(nanos: u64) -> String {
    let nanos = nanos as f64;
    match nanos {
        _ if nanos >= 1e9 => format!("{:.3} s", nanos / 1e9),
        _ if nanos >= 1e6 => format!("{:.2} ms", nanos / 1e6),
        _ if nanos >= 1e3 => format!("{:.1} us", nanos / 1e3),
        _ => format!("{nanos:.0} ns"),
    }
}

/// Columns of equal width: names to the left, numbers to the right.
fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(move |row| row.get(column)).map(|c| c.chars().count()))
        .map(|widths| widths.max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

const MIB: f64 = (1 << 20) as f64;

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::results;
    use super::*;

    #[test]
    fn the_verdict_can_be_read() {
        let text = table(
            &results(8, |round, setting, alone| {
                500 - 100 * setting as u64 + u64::from(round) - 90 * u64::from(alone.is_some())
            }),
            false,
        );
        let find =
            |words: &[&str]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(find(&["twins and fifo, A", "read makespan", "-19.9 %", "different"]), "{text}");
        assert!(find(&["fifo A read", "makespan", "503.50 ms"]), "{text}");
        assert!(find(&["interference", "1.218"]), "{text}");
    }

    #[test]
    fn one_run_shows_its_percentiles_and_each_process_on_request() {
        let mut results = results(1, |_, _, _| 2_000);
        results.plan.comparison = None;
        results.records.truncate(1);
        results.records[0].run.setting = None;
        let text = table(&results, true);
        assert!(text.contains("p999") && text.contains("2.000 s") && text.contains("process 1"));
        assert!(!table(&results, false).contains("process 1"));
    }

    #[test]
    fn times_have_their_unit() {
        let nanos = [0, 999, 1_500, 2_500_000, 3_000_000_000];
        assert_eq!(nanos.map(time), ["0 ns", "999 ns", "1.5 us", "2.50 ms", "3.000 s"]);
    }
}
