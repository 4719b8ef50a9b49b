//! `iofwd generate`: man pages and completions, from the same source as `--help`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory, Subcommand};
use clap_complete::Shell;

use super::{Cli, Failure, say};

pub(super) const EXAMPLES: &str = "Example:
  iofwd generate man ~/.local/share/man/man1
  iofwd generate completion bash > ~/.local/share/bash-completion/completions/iofwd";

#[derive(Debug, Args)]
pub(super) struct GenerateArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Write a man page for each command into a directory
    #[command(after_help = "Example:\n  iofwd generate man ~/.local/share/man/man1")]
    Man {
        /// The directory
        directory: PathBuf,
    },
    /// Print what makes a shell complete commands and options
    #[command(after_help = "Example:\n  iofwd generate completion zsh > _iofwd")]
    Completion {
        /// The shell
        shell: Shell,
    },
}

pub(super) fn run(arguments: &GenerateArguments) -> Result<ExitCode, Failure> {
    match &arguments.what {
        What::Man { directory } => {
            let count = pages(&command(), directory)
                .map_err(|error| format!("cannot write to {}: {error}", directory.display()))?;
            say(&format!("{count} man pages in {}", directory.display()));
        }
        What::Completion { shell } => {
            clap_complete::generate(*shell, &mut command(), "iofwd", &mut io::stdout());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The whole tree of commands, with names as people type them.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// A page for a command and each below it; how many they are.
fn pages(command: &Command, directory: &Path) -> io::Result<usize> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut file = File::create(directory.join(format!("{name}.1")))?;
    clap_mangen::Man::new(command.clone()).render(&mut file)?;
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    below.map(|below| pages(below, directory)).try_fold(1, |sum, count| Ok(sum + count?))
}
