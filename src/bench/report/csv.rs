//! One row for each process of each run, and one for all of them.

use std::fmt::Write;

use super::super::series::Record;
use super::super::summary::Results;
use super::{LATENCIES, latencies, rate, rows};

/// Everything measured, as comma-separated values with a head.
pub fn csv(results: &Results) -> String {
    let head = "order,round,setting,alone,application,operation,process,makespan_ns,io_ns,bytes,\
                requests,bytes_per_second,requests_per_second";
    let latencies = LATENCIES.map(|name| format!(",latency_{name}_ns")).concat();
    let mut text = format!("{head}{latencies}\n");
    for (order, record) in results.records.iter().enumerate() {
        add(&mut text, results, order, record);
    }
    text
}

fn add(text: &mut String, results: &Results, order: usize, record: &Record) {
    let setting = results.setting(record.run.setting).unwrap_or("");
    let alone = record.run.alone.is_some();
    for measured in &record.measured {
        let name = &results.plan.applications[measured.application].name;
        for (rank, process) in rows(measured) {
            let rank = rank.map_or("all".into(), |rank| rank.to_string());
            let requests = process.latency.count();
            let makespan = if rank == "all" { measured.makespan_ns } else { process.io_ns };
            let times = latencies(&process.latency);
            let times: String = times.iter().map(|nanos| format!(",{nanos}")).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{order},{},{setting},{alone},{name},{},{rank},{makespan},{},{},{requests},{:.0},\
                 {:.0}{times}",
                record.run.round,
                measured.operation,
                process.io_ns,
                process.bytes,
                rate(process.bytes, process.io_ns),
                rate(requests, process.io_ns),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::results;
    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let text = csv(&results(1, |_, _, _| 500));
        let columns = text.lines().next().unwrap().split(',').count();
        assert!(text.lines().all(|line| line.split(',').count() == columns), "{text}");
        // Two settings, each together (two applications) and each application alone; each as
        // "all" and by its two processes.
        assert_eq!(text.lines().count(), 1 + 2 * (2 + 1 + 1) * 3);
        assert!(text.contains("0,0,fifo,false,A,read,all,500000000,500000000,2000000,"), "{text}");
    }
}
