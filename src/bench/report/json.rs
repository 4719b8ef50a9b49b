//! Everything that was measured and concluded, for programs.

use super::super::conductor::{Measured, Process};
use super::super::plan::{Application, Comparison, Work};
use super::super::series::Record;
use super::super::statistics::CONFIDENCE;
use super::super::summary::{Pair, Results, Summary};
use super::value::Value;
use super::{LATENCIES, latencies, rate, rows};

/// The results as one JSON object.
pub fn json(results: &Results) -> String {
    let plan = &results.plan;
    let value = Value::Object(vec![
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("path", plan.path.to_string_lossy().as_ref().into()),
        ("seed", plan.seed.into()),
        ("verified", plan.verify.into()),
        ("direct", plan.direct.into()),
        ("fsync", plan.fsync.into()),
        ("comparison", plan.comparison.as_ref().map(comparison).into()),
        ("applications", Value::list(&plan.applications, application)),
        ("runs", Value::list(&results.records, |one| record(results, one))),
        ("confidence", CONFIDENCE.into()),
        ("summaries", Value::list(&results.summaries(), |one| summary(results, one))),
        ("pairs", Value::list(&results.pairs(), |one| pair(results, one))),
    ]);
    format!("{value}\n")
}

fn comparison(one: &Comparison) -> Value {
    Value::Object(vec![
        ("key", one.key.as_str().into()),
        ("values", Value::list(&one.values, |value| value.as_str().into())),
        ("options", Value::list(&one.options, |option| option.as_str().into())),
    ])
}

fn application(one: &Application) -> Value {
    let work = match one.work {
        Work::Read => "read",
        Work::Write => "write",
        Work::Both => "both",
    };
    Value::Object(vec![
        ("name", one.name.as_str().into()),
        ("pattern", one.shape.pattern().name().into()),
        ("processes", one.shape.processes().into()),
        ("request_bytes", one.shape.request().into()),
        ("size_bytes", one.shape.bytes().into()),
        ("operation", work.into()),
        ("start_ns", (one.start.as_nanos() as u64).into()),
        ("think_ns", (one.think.as_nanos() as u64).into()),
        ("periods", u64::from(one.periods).into()),
        ("compute_ns", (one.compute.as_nanos() as u64).into()),
    ])
}

fn record(results: &Results, record: &Record) -> Value {
    let name = |application: usize| results.plan.applications[application].name.as_str();
    Value::Object(vec![
        ("round", u64::from(record.run.round).into()),
        ("setting", results.setting(record.run.setting).into()),
        ("alone", record.run.alone.map(name).into()),
        ("results", Value::list(&record.measured, |one| measured(results, one))),
    ])
}

fn measured(results: &Results, measured: &Measured) -> Value {
    let rows = rows(measured);
    let (processes, all): (Vec<_>, Vec<_>) = rows.iter().partition(|(rank, _)| rank.is_some());
    Value::Object(vec![
        ("application", results.plan.applications[measured.application].name.as_str().into()),
        ("operation", measured.operation.into()),
        ("makespan_ns", measured.makespan_ns.into()),
        ("all", all.first().map(|(_, total)| fared(total)).into()),
        ("processes", Value::list(processes, |(_, process)| fared(process))),
    ])
}

fn fared(process: &Process) -> Value {
    let requests = process.latency.count();
    let times = LATENCIES.into_iter().zip(latencies(&process.latency));
    Value::Object(vec![
        ("io_ns", process.io_ns.into()),
        ("bytes", process.bytes.into()),
        ("requests", requests.into()),
        ("bytes_per_second", rate(process.bytes, process.io_ns).round().into()),
        ("requests_per_second", rate(requests, process.io_ns).round().into()),
        ("latency_ns", Value::Object(times.map(|(name, nanos)| (name, nanos.into())).collect())),
    ])
}

fn summary(results: &Results, one: &Summary) -> Value {
    let interval = one.margin().map(|margin| [one.mean() - margin, one.mean() + margin]);
    Value::Object(vec![
        ("setting", results.setting(one.setting).into()),
        ("application", results.plan.applications[one.application].name.as_str().into()),
        ("operation", one.operation.into()),
        ("metric", one.metric.name().into()),
        ("runs", (one.values.len() as u64).into()),
        ("median", one.median().into()),
        ("mean", one.mean().into()),
        ("interval", interval.map(|ends| Value::list(ends, Value::from)).into()),
    ])
}

fn pair(results: &Results, one: &Pair) -> Value {
    let settings = Value::list(one.settings, |setting| results.setting(Some(setting)).into());
    Value::Object(vec![
        ("settings", settings),
        ("application", results.plan.applications[one.application].name.as_str().into()),
        ("operation", one.operation.into()),
        ("metric", one.metric.name().into()),
        ("difference", one.difference.into()),
        ("likelihood", one.likelihood.into()),
        ("verdict", one.verdict().into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::results;
    use super::*;

    #[test]
    fn conclusions_stand_beside_what_they_were_drawn_from() {
        let text = json(&results(8, |round, setting, alone| {
            500 - 100 * setting as u64 + u64::from(round) - 90 * u64::from(alone.is_some())
        }));
        assert_eq!(text.matches("\"makespan_ns\": ").count(), 8 * 2 * 4);
        for part in [
            "\"setting\": \"twins\"",
            "\"alone\": \"B\"",
            "\"median\": 0.5035",
            "\"metric\": \"interference\"",
            "\"verdict\": \"different\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
