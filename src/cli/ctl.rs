//! `iofwd ctl`: tells a running agent to change something.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::client::{self, Source};
use crate::key::Key;
use crate::report::Report;

use super::{Failure, say};

pub(super) const EXAMPLES: &str = "Example:
  iofwd ctl unix:/run/iofwd/agent.sock set policy=hbrr
  iofwd ctl unix:/run/iofwd/agent.sock set policy=twins window=2ms depth=32
  iofwd ctl ion1:7040 --key-file /etc/iofwd/key status";

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
    /// Show what the agent has done
    Status,
    /// Change the policy, the window or the depth while requests are under way
    Set {
        /// policy=NAME, window=TIME, depth=COUNT
        #[arg(required = true)]
        changes: Vec<String>,
    },
}

pub(super) fn run(arguments: &CtlArguments) -> Result<ExitCode, Failure> {
    let words = match &arguments.what {
        What::Status => vec!["status".into()],
        What::Set { changes } => [&["set".into()], changes.as_slice()].concat(),
    };
    let report = tell(&arguments.agent, arguments.key_file.as_deref(), words)?;
    say(super::status::table(&report).trim_end());
    Ok(ExitCode::SUCCESS)
}

/// Tell an agent something; its answer.
pub(super) fn tell(
    agent: &str,
    key_file: Option<&std::path::Path>,
    words: Vec<String>,
) -> Result<Report, Failure> {
    let source = Source::parse(agent)
        .ok_or_else(|| format!("'{agent}' is no agent: write HOST:PORT or unix:PATH"))?;
    let key = key_file.map(Key::load).transpose().map_err(|error| error.to_string())?;
    let text = client::control(&source.agent, key.as_ref(), words, PATIENCE);
    Ok(Report::from_text(&text.map_err(|error| error.to_string())?))
}

const PATIENCE: Duration = Duration::from_secs(10);
