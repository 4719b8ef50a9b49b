//! Where a process that stays writes what happens, and how.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{JsonFields, format};
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::telemetry::log::{Form, Sparing};

use super::Failure;

/// How to log.
#[derive(Clone, Debug, Args)]
pub(super) struct LogArguments {
    /// Append the log to this file
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// What to log: error (something is lost or cannot be done), warn (somebody should look), info (what
    /// happens rarely), debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "IOFWD_LOG")]
    log: String,
    /// A line of text for each event, or a JSON object
    #[arg(long, value_name = "FORM", default_value = "text", env = "IOFWD_LOG_FORMAT")]
    log_format: LogFormat,
}

/// How a line is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl LogArguments {
    /// The same, whatever the working directory will be.
    pub(super) fn absolute(&self) -> LogArguments {
        let log_file = self.log_file.as_deref().and_then(|path| std::path::absolute(path).ok());
        LogArguments { log_file, ..self.clone() }
    }

    /// Begin to log.
    pub(super) fn start(&self) -> Result<(), Failure> {
        let filter = EnvFilter::try_new(&self.log).map_err(|error| {
            format!("log level '{}': {error}; write error, warn, info, debug or trace", self.log)
        })?;
        let (writer, colours) = match &self.log_file {
            Some(path) => (BoxMakeWriter::new(Mutex::new(open(path)?)), false),
            None => (BoxMakeWriter::new(io::stderr), io::stderr().is_terminal()),
        };
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
        match self.log_format {
            LogFormat::Text => {
                let lines = format().with_target(false).with_ansi(colours);
                log.with_ansi(colours).event_format(Sparing::new(lines, Form::Text)).init();
            }
            LogFormat::Json => {
                let lines = Sparing::new(format().json().with_target(false), Form::Json);
                log.event_format(lines).fmt_fields(JsonFields::new()).init();
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    let explain = |error| {
        let place = path.display();
        format!("cannot write the log file {place}: {error}; is its directory there, and yours?")
    };
    File::options().append(true).create(true).open(path).map_err(explain)
}
