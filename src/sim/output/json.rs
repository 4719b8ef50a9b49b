//! The outcomes for programs, as one JSON object.

use serde_json::{Value, json};

use super::super::spec::Spec;
use super::super::sweep::Outcome;
use super::Numbers;

/// The outcomes as JSON.
pub fn json(spec: &Spec, outcomes: &[Outcome]) -> String {
    let value = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "seed": spec.seed,
        "repeat": spec.repeat,
        "daemon": spec.daemon.name(),
        "servers": spec.platform.servers,
        "stripe_bytes": spec.platform.unit,
        "cases": outcomes.iter().map(case).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn case(outcome: &Outcome) -> Value {
    let load = outcome.case.load();
    let numbers = Numbers::of(outcome);
    let makespans = outcome.reports.iter().map(|report| report.makespan.as_nanos());
    json!({
        "policy": outcome.case.scheduler.name,
        "window_ns": outcome.case.scheduler.window.map(|window| window.as_nanos()),
        "agents": outcome.case.agents,
        "pattern": load.pattern,
        "operation": load.operation,
        "request_bytes": outcome.case.jobs[0].request,
        "jobs": load.jobs,
        "makespan_s": numbers.makespan,
        "makespan_margin_s": numbers.margin,
        "makespans_ns": makespans.collect::<Vec<_>>(),
        "bytes_per_second": numbers.bandwidth,
        "leaving_agents_bytes": numbers.leaving,
        "arriving_servers_bytes": numbers.arriving,
        "collisions": numbers.collisions,
        "busy": numbers.busy,
        "latency_s": numbers.latency,
        "latency_p99_s": numbers.latency_p99,
        "wait_s": numbers.wait,
        "fairness": numbers.fairness,
        "requests": numbers.requests,
        "job_makespans_ns": outcome.reports.iter().map(|report| {
            report.jobs.iter().map(|job| job.makespan().as_nanos()).collect::<Vec<_>>()
        }).collect::<Vec<_>>(),
    })
}
