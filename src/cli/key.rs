//! `iofwd key`: makes the key that an agent and its clients share.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::key::Key;

use super::{Failure, say};

#[derive(Debug, Args)]
pub(super) struct KeyArguments {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a new key in a file that only its owner can read
    #[command(after_help = "Example:\n  iofwd key new /etc/iofwd/agent.key")]
    New {
        /// The file; it must not exist yet
        file: PathBuf,
    },
}

pub(super) fn run(arguments: &KeyArguments) -> Result<ExitCode, Failure> {
    let KeyCommand::New { file } = &arguments.command;
    Key::create(file).map_err(|error| explain(file, &error))?;
    say(&format!(
        "{}: a new key; set it as key_file at the agent, and give the same file to its clients",
        file.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn explain(file: &Path, error: &io::Error) -> Failure {
    let place = file.display();
    if error.kind() == io::ErrorKind::AlreadyExists {
        return format!(
            "{place} exists already: a key in use must not be replaced by mistake; choose another \
             name, or remove the file first"
        );
    }
    format!("cannot make the key file {place}: {error}")
}
