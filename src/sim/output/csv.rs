//! The outcomes for spreadsheets: a head, and one row for each case.

use std::fmt::Write;

use super::super::sweep::Outcome;
use super::Numbers;

/// The outcomes as comma-separated values.
pub fn csv(outcomes: &[Outcome]) -> String {
    let mut text = format!("{HEAD}\n");
    for outcome in outcomes {
        let load = outcome.case.load();
        let numbers = Numbers::of(outcome);
        let window = outcome.case.scheduler.window.map(|window| window.as_nanos().to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            outcome.case.scheduler.name,
            window.unwrap_or_default(),
            outcome.case.agents,
            load.pattern,
            load.operation,
            outcome.case.jobs[0].request,
            numbers.makespan,
            numbers.margin.map(|margin| margin.to_string()).unwrap_or_default(),
            numbers.bandwidth,
            numbers.leaving,
            numbers.arriving,
            numbers.collisions,
            numbers.busy,
            numbers.latency,
            numbers.latency_p99,
            numbers.wait,
            numbers.fairness,
            numbers.requests,
        );
    }
    text
}

const HEAD: &str = "policy,window_ns,agents,pattern,operation,request_bytes,makespan_s,makespan_margin_s,\
bytes_per_second,leaving_agents_bytes,arriving_servers_bytes,collisions,busy,latency_s,latency_p99_s,wait_s,\
fairness,requests";
