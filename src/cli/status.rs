//! `iofwd status`: what an agent, or the one behind a mountpoint, has done.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::client::Source;
use crate::control;
use crate::mounts;
use crate::report::Report;

use super::{Failure, StatusArguments, ctl, say};

pub(super) fn run(arguments: &StatusArguments) -> Result<ExitCode, Failure> {
    let place = &arguments.place;
    let agent = place.to_str().filter(|text| Source::parse(text).is_some() && !place.exists());
    let report = match agent {
        Some(agent) => ctl::tell(agent, arguments.key_file.as_deref(), vec!["status".into()])?,
        None => ask(place)?,
    };
    say(if arguments.json { json(&report) } else { table(&report) }.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// The report of the agent behind a mountpoint, or why there is none.
pub(super) fn ask(mountpoint: &Path) -> Result<Report, Failure> {
    let place = mountpoint.display();
    control::status(mountpoint, PATIENCE).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOTTY) => format!("{place} is not mounted with iofwd"),
        _ if mounts::is_dead(&error) => format!(
            "the process behind {place} died: remove the mountpoint with iofwd unmount {place}, \
             or mount again with --force"
        ),
        _ => format!("{place}: {error}"),
    })
}

/// A name and a value a line.
pub(super) fn table(report: &Report) -> String {
    let width = report.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    report.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

/// The same as JSON.
pub(super) fn json(report: &Report) -> String {
    let fields: Vec<String> = report
        .iter()
        .map(|(name, value)| match value.parse::<u64>() {
            Ok(number) => format!("  \"{name}\": {number}"),
            Err(_) => format!("  \"{name}\": \"{value}\""),
        })
        .collect();
    format!("{{\n{}\n}}", fields.join(",\n"))
}

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
}
