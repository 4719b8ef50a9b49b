//! Prometheus' text form of a snapshot: each metric of the table, with its labels.

use std::fmt::Write;

use super::metric::{METRICS, Metric, Source};
use super::snapshot::{Export, Snapshot};
use super::spread::Spread;

/// The text.
pub fn text(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for metric in METRICS {
        let _ = writeln!(text, "# HELP {} {}", metric.name, metric.meaning);
        let _ = writeln!(text, "# TYPE {} {}", metric.name, metric.kind.name());
        if let Source::Agent(read) = metric.source
            && let Some(value) = read(snapshot)
        {
            sample(&mut text, metric.name, &[], value);
        }
        for export in &snapshot.exports {
            of_export(&mut text, metric, &snapshot.version, export);
        }
    }
    text
}

type Label<'a> = (&'a str, &'a str);

fn of_export(text: &mut String, metric: &Metric, version: &str, export: &Export) {
    let (name, of) = (metric.name, ("export", export.name.as_str()));
    match metric.source {
        Source::Agent(_) => {}
        Source::Info => {
            sample(text, name, &[("version", version), of, ("policy", &export.policy)], 1.0);
        }
        Source::Export(read) => sample(text, name, &[of], read(export)),
        Source::Level(read) => {
            for level in &export.levels {
                sample(text, name, &[of, ("level", &level.name)], read(level));
            }
        }
        Source::Job(read) => {
            for job in &export.jobs {
                sample(text, name, &[of, ("job", &job.name)], read(job));
            }
        }
        Source::Server(_) | Source::Times(_) => of_servers(text, metric, export),
    }
}

fn of_servers(text: &mut String, metric: &Metric, export: &Export) {
    for (number, server) in export.servers.iter().enumerate() {
        let number = number.to_string();
        let labels =
            [("export", export.name.as_str()), ("server", &number), ("name", &server.name)];
        match metric.source {
            Source::Server(read) => sample(text, metric.name, &labels, read(server)),
            Source::Times(read) => histogram(text, metric.name, &labels, read(server)),
            Source::Agent(_)
            | Source::Info
            | Source::Export(_)
            | Source::Level(_)
            | Source::Job(_) => {}
        }
    }
}

/// Buckets hold everything up to their bound; the same bounds always, so that they can be added up.
fn histogram(text: &mut String, name: &str, labels: &[Label<'_>], spread: &Spread) {
    let bucket = format!("{name}_bucket");
    let mut le = |bound: &str, count: u64| {
        let labels = [labels, &[("le", bound)]].concat();
        sample(text, &bucket, &labels, count as f64);
    };
    for bits in LEAST_BITS..=MOST_BITS {
        let bound = (1u64 << bits) - 1;
        let within = spread.buckets.iter().filter(|(largest, _)| *largest <= bound);
        let count = within.map(|(_, count)| count).sum();
        le(&format!("{}", (1u64 << bits) as f64 / 1e9), count);
    }
    le("+Inf", spread.count);
    sample(text, &format!("{name}_sum"), labels, spread.sum as f64 / 1e9);
    sample(text, &format!("{name}_count"), labels, spread.count as f64);
}

fn sample(text: &mut String, name: &str, labels: &[Label<'_>], value: f64) {
    text.push_str(name);
    for (at, (label, value)) in labels.iter().enumerate() {
        let _ = write!(text, "{}{label}=\"{}\"", if at == 0 { '{' } else { ',' }, escape(value));
    }
    let _ = writeln!(text, "{} {value}", if labels.is_empty() { "" } else { "}" });
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// From a microsecond, below which nothing is served,
const LEAST_BITS: u32 = 10;
/// to half a minute.
const MOST_BITS: u32 = 35;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::snapshot::{Job, Server};

    fn snapshot() -> Snapshot {
        let wait = Spread {
            count: 3,
            sum: 1_500_000_000,
            largest: 900,
            buckets: vec![(1_023, 2), (2_097_151, 1)],
        };
        let server = Server { name: "ost\"0\"".into(), reads: 7, wait, ..Server::default() };
        let job = Job { name: "4711".into(), requests: 7, ..Job::default() };
        let export = Export {
            name: "scratch".into(),
            policy: "twins".into(),
            servers: vec![server],
            jobs: vec![job],
            ..Export::default()
        };
        Snapshot { version: "1".into(), exports: vec![export], ..Snapshot::default() }
    }

    #[test]
    fn every_metric_has_help_type_and_the_labels_of_the_table() {
        let text = text(&snapshot());
        for metric in METRICS {
            assert!(text.contains(&format!("# HELP {} ", metric.name)), "{}", metric.name);
            for line in text.lines().filter(|line| line.starts_with(&format!("{}{{", metric.name)))
            {
                for label in metric.source.labels() {
                    assert!(line.contains(&format!("{label}=\"")), "{line}");
                }
            }
        }
        assert!(text.contains("iofwd_job_requests_total{export=\"scratch\",job=\"4711\"} 7\n"));
        assert!(text.contains("server=\"0\",name=\"ost\\\"0\\\"\"} 7\n"), "{text}");
    }

    #[test]
    fn buckets_add_up_to_the_count() {
        let text = text(&snapshot());
        let bucket = |bound: &str| {
            let end = format!("le=\"{bound}\"}} ");
            let of = |line: &&str| line.starts_with("iofwd_server_wait_seconds_bucket");
            let line = text.lines().filter(of).find_map(|line| line.split_once(&end));
            line.expect("there is such a bucket").1.to_owned()
        };
        assert_eq!(bucket("0.000001024"), "2");
        assert_eq!(bucket("0.001048576"), "2");
        assert_eq!(bucket("0.002097152"), "3");
        assert_eq!(bucket("+Inf"), "3");
        assert!(text.contains("iofwd_server_wait_seconds_sum{") && text.contains("} 1.5\n"));
    }
}
