//! `iofwd status`: what an agent, or the one behind a mountpoint, does: a screenful, problems first.

mod screen;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};

use crate::control;
use crate::report::Report;
use crate::telemetry::{Snapshot, health};

use super::watch::{self, WatchArguments};
use super::{Failure, say};

pub(super) const EXAMPLES: &str = "Example:
  iofwd status /mnt/project                       the agent behind a mountpoint
  iofwd status --json /mnt/project                everything, for programs
  iofwd status unix:/run/iofwd/agent.sock
  iofwd status --key-file /etc/iofwd/key ion1:7040

The exit code is 0 if all is well, 2 if something is wrong, which the first lines say, and 1 if
nobody answers.";

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    watch: WatchArguments,
    /// As JSON: all numbers, problems, servers, jobs and files
    #[arg(long)]
    json: bool,
    /// Look once: quicker, with averages since the beginning for rates
    #[arg(long)]
    once: bool,
}

pub(super) fn run(arguments: &StatusArguments) -> Result<ExitCode, Failure> {
    let watched = arguments.watch.find()?;
    let first = watched.look()?;
    let (now, before) = if arguments.once || arguments.json {
        (first, None)
    } else {
        std::thread::sleep(STRETCH);
        (watched.look()?, Some(first))
    };
    let problems = health::problems(&now);
    let shown = match arguments.json {
        true => whole(&now, &problems),
        false => screen::draw(&now, before.as_ref(), &problems),
    };
    say(shown.trim_end());
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(UNWELL) })
}

/// The report of the agent behind a mountpoint, or why there is none.
pub(super) fn ask(mountpoint: &Path) -> Result<Report, Failure> {
    control::status(mountpoint, PATIENCE).map_err(|error| watch::explain(mountpoint, &error))
}

/// Everything as one object: numbers by their names, and what has parts behind them.
fn whole(snapshot: &Snapshot, problems: &[String]) -> String {
    let mut object = Map::new();
    for (name, value) in &snapshot.numbers {
        object.insert(name.clone(), number_or_text(value));
    }
    object.insert("healthy".into(), problems.is_empty().into());
    object.insert("problems".into(), problems.into());
    if let Ok(Value::Object(parts)) = serde_json::to_value(snapshot) {
        let parts = parts.into_iter().filter(|(name, _)| name != "numbers");
        for (name, value) in parts {
            object.entry(name).or_insert(value);
        }
    }
    serde_json::to_string_pretty(&object).unwrap_or_default()
}

fn number_or_text(value: &str) -> Value {
    value.parse::<u64>().map_or_else(|_| value.into(), Value::from)
}

/// A name and a value a line.
pub(super) fn table(report: &Report) -> String {
    let width = report.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    report.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

/// The same as JSON.
pub(super) fn json(report: &Report) -> String {
    let fields = report.iter().map(|(name, value)| (name.to_owned(), number_or_text(value)));
    serde_json::to_string_pretty(&fields.collect::<Map<_, _>>()).unwrap_or_default()
}

/// Something is wrong, though somebody answers.
pub(super) const UNWELL: u8 = 2;
/// Rates are those of this stretch.
const STRETCH: Duration = Duration::from_millis(300);
/// How long a mount may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_and_names_are_strings() {
        let report = Report::from_text("policy twins\nreads 3\n");
        assert_eq!(json(&report), "{\n  \"policy\": \"twins\",\n  \"reads\": 3\n}");
        assert_eq!(table(&report), "policy  twins\nreads   3\n");
    }

    #[test]
    fn numbers_stand_beside_what_has_parts() {
        let snapshot = Snapshot {
            numbers: vec![("reads".into(), "3".into()), ("version".into(), "9".into())],
            exports: vec![Default::default()],
            ..Snapshot::default()
        };
        let value: Value = serde_json::from_str(&whole(&snapshot, &["x".into()])).unwrap();
        assert_eq!((&value["reads"], &value["healthy"]), (&Value::from(3), &Value::from(false)));
        assert_eq!(value["exports"].as_array().unwrap().len(), 1);
        assert!(value.get("numbers").is_none());
    }
}
