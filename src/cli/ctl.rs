//! `iofwd ctl`: asks a running agent, or tells it to change something.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::client::{self, Client, How, Source};
use crate::key::Key;
use crate::report::Report;

use super::{Failure, say};

pub(super) const EXAMPLES: &str = "Example:
  iofwd ctl unix:/run/iofwd/agent.sock set policy=hbrr
  iofwd ctl unix:/run/iofwd/agent.sock set policy=twins window=2ms depth=32
  iofwd ctl ion1:7040 --key-file /etc/iofwd/key status
  iofwd ctl ion1:7040 --key-file /etc/iofwd/key ping --count 10000";

#[derive(Debug, Args)]
pub(super) struct CtlArguments {
    /// The agent: unix:PATH or HOST:PORT
    agent: String,
    /// The key that the agent has too
    #[arg(long, value_name = "FILE", env = "IOFWD_KEY_FILE")]
    key_file: Option<PathBuf>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show what the agent has done, a name and a number a line
    #[command(after_help = "Example:\n  iofwd ctl unix:/run/iofwd/agent.sock status")]
    Status,
    /// Measure how long the agent takes to answer a call that does nothing
    #[command(after_help = "Example:\n  iofwd ctl unix:/run/iofwd/agent.sock ping --count 10000")]
    Ping {
        /// So many calls, one after the other
        #[arg(long, value_name = "COUNT", default_value_t = 1000,
              value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
        count: u32,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the policy, the window, its gathering or the depth while requests are under way
    #[command(after_help = "Example:\n  \
        iofwd ctl unix:/run/iofwd/agent.sock set policy=twins window=2ms depth=32")]
    Set {
        /// policy=NAME, window=TIME, gather=true or false, depth=COUNT
        #[arg(required = true)]
        changes: Vec<String>,
    },
}

pub(super) fn run(arguments: &CtlArguments) -> Result<ExitCode, Failure> {
    let words = match &arguments.what {
        What::Status => vec!["status".into()],
        What::Set { changes } => [&["set".into()], changes.as_slice()].concat(),
        What::Ping { count, json } => return ping(arguments, *count, *json),
    };
    let report = tell(&arguments.agent, arguments.key_file.as_deref(), words)?;
    say(super::status::table(&report).trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Ask again and again, and show how long it took.
fn ping(arguments: &CtlArguments, count: u32, json: bool) -> Result<ExitCode, Failure> {
    let source = parse(&arguments.agent)?;
    let key = arguments.key_file.as_deref().map(Key::load).transpose();
    let how = How {
        source,
        client: "iofwd ctl ping".into(),
        key: key.map_err(|error| error.to_string())?,
        tls: None,
        job_variables: Vec::new(),
        connections: 1,
        patience: PATIENCE,
        loss_bound: Duration::ZERO,
        deadline: None,
        begins_anew: false,
    };
    let client = Client::connect(Arc::new(how)).map_err(|error| error.to_string())?;
    let mut taken = Vec::with_capacity(count as usize);
    for _ in 0..count {
        taken.push(client.ping().map_err(|errno| format!("no answer: {errno}"))?);
    }
    client.leave();
    taken.sort_unstable();
    let mut report = Report::of("calls", count);
    for (name, share) in [("min_ns", 0), ("p50_ns", 50), ("p90_ns", 90), ("p99_ns", 99)] {
        let at = (taken.len() * share / 100).min(taken.len() - 1);
        report.add(name, taken[at].as_nanos());
    }
    let shown = if json { super::status::json(&report) } else { super::status::table(&report) };
    say(shown.trim_end());
    Ok(ExitCode::SUCCESS)
}

fn parse(agent: &str) -> Result<Source, Failure> {
    Source::parse(agent)
        .ok_or_else(|| format!("'{agent}' is no agent: write HOST:PORT or unix:PATH"))
}

/// Tell an agent something; its answer.
pub(super) fn tell(
    agent: &str,
    key_file: Option<&std::path::Path>,
    words: Vec<String>,
) -> Result<Report, Failure> {
    let source = parse(agent)?;
    let key = key_file.map(Key::load).transpose().map_err(|error| error.to_string())?;
    let agent = source.agents.first().ok_or("there is no agent to ask")?;
    let text = client::control(agent, key.as_ref(), words, PATIENCE);
    Ok(Report::from_text(&text.map_err(|error| error.to_string())?))
}

const PATIENCE: Duration = Duration::from_secs(10);
