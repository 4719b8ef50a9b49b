//! Where a process that stays writes what happens.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;

use super::Failure;

/// How to log.
#[derive(Clone, Debug, Args)]
pub(super) struct LogArguments {
    /// Append the log to this file
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// What to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "IOFWD_LOG")]
    log: String,
}

impl LogArguments {
    /// The same, whatever the working directory will be.
    pub(super) fn absolute(&self) -> LogArguments {
        let log_file = self.log_file.as_deref().and_then(|path| std::path::absolute(path).ok());
        LogArguments { log_file, log: self.log.clone() }
    }

    /// Begin to log.
    pub(super) fn start(&self) -> Result<(), Failure> {
        let filter = tracing_subscriber::EnvFilter::try_new(&self.log)
            .map_err(|error| format!("log level '{}': {error}", self.log))?;
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_target(false);
        match &self.log_file {
            Some(path) => {
                let file = open(path)?;
                log.with_ansi(false).with_writer(Mutex::new(file)).init();
            }
            None => log.with_ansi(io::stderr().is_terminal()).with_writer(io::stderr).init(),
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    File::options()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|error| format!("cannot write the log file {}: {error}", path.display()))
}
