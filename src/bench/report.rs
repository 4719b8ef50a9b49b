//! Results written down: a table for people, JSON and CSV for programs.

mod csv;
mod json;
mod table;
mod value;

pub use csv::csv;
pub use json::json;
pub use table::table;

use super::conductor::{Measured, Process};
use super::latency::Latency;

/// The percentiles that are shown: their names, and the share in ten-thousandths.
const PERCENTILES: [(&str, u64); 5] =
    [("p50", 5_000), ("p90", 9_000), ("p95", 9_500), ("p99", 9_900), ("p999", 9_990)];

/// Something in a second, given how many in so many nanoseconds.
fn rate(count: u64, nanos: u64) -> f64 {
    if nanos == 0 { 0.0 } else { count as f64 * 1e9 / nanos as f64 }
}

/// Latencies in the order of [`LATENCIES`].
fn latencies(latency: &Latency) -> Vec<u64> {
    let percentiles = PERCENTILES.iter().map(|(_, share)| latency.percentile(*share));
    let (first, last) = ([latency.smallest(), latency.mean()], [latency.largest()]);
    first.into_iter().chain(percentiles).chain(last).collect()
}

/// The names of [`latencies`].
const LATENCIES: [&str; 8] = ["min", "mean", "p50", "p90", "p95", "p99", "p999", "max"];

/// All processes together, then each: its number and how it fared.
fn rows(measured: &Measured) -> Vec<(Option<usize>, Process)> {
    let each = measured.processes.iter().cloned().enumerate();
    let each = each.map(|(rank, process)| (Some(rank), process));
    std::iter::once((None, measured.total())).chain(each).collect()
}
