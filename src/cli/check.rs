//! `iofwd check`: whether names, sizes and objects on data servers agree.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::key::Key;
use crate::striped::{Setup, check};

use super::{Failure, say};

pub(super) const EXAMPLES: &str = "Example:
  iofwd check ds1:7041,ds2:7041 --key-file /etc/iofwd/servers.key
  iofwd check ds1:7041,ds2:7041 --key-file /etc/iofwd/servers.key --repair

It ends with code 0 if everything agrees, or was made to; files that are in use while it looks, or about
to go, may seem not to. Repairing is refused while agents are connected.";

#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// The data servers, in the order in which the agents list them
    #[arg(value_name = "HOST:PORT", value_delimiter = ',', required = true)]
    servers: Vec<String>,
    /// The key that they have too
    #[arg(long, value_name = "FILE", env = "IOFWD_KEY_FILE")]
    key_file: Option<PathBuf>,
    /// Remove objects that belong to nobody, and cut off what no file has
    #[arg(long)]
    repair: bool,
}

pub(super) fn run(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    let key = arguments.key_file.as_deref().map(Key::load).transpose();
    let setup = Setup {
        servers: arguments.servers.clone(),
        key: key.map_err(|error| error.to_string())?,
        stripe_size: 64 << 10,
        stripe_count: 1,
        patience: PATIENCE,
    };
    let findings = check::check(&setup, arguments.repair)?;
    for problem in &findings.problems {
        say(&problem.to_string());
    }
    let (files, objects) = (findings.files, findings.objects);
    let (problems, repaired) = (findings.problems.len(), findings.repaired);
    say(&format!(
        "{files} names of files, {objects} objects: {problems} problems, {repaired} repaired"
    ));
    Ok(if problems == repaired { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const PATIENCE: Duration = Duration::from_secs(10);
