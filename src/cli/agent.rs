//! `iofwd agent`: what its settings mean, and an example of them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::key::Key;
use crate::settings::Settings;
use crate::tls::AgentTls;

use super::{Failure, say};

#[derive(Debug, Args)]
pub(super) struct AgentArguments {
    /// The settings file
    #[arg(long, value_name = "FILE", default_value = "/etc/iofwd/agent.toml")]
    config: PathBuf,
    #[command(flatten)]
    what: What,
}

/// What is to be done; serving clients is not among it yet.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Check the settings, and print what is meant
    #[arg(long)]
    check: bool,
    /// Print a complete settings file with every field explained
    #[arg(long)]
    example: bool,
}

pub(super) fn run(arguments: &AgentArguments) -> Result<ExitCode, Failure> {
    if arguments.what.example {
        say(example().trim_end());
    } else {
        say(check(&arguments.config)?.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// What the settings in a file mean, if an agent could start with them.
pub(super) fn check(path: &Path) -> Result<String, Failure> {
    let settings = Settings::read(path).map_err(|error| error.to_string())?;
    settings.check_places().map_err(|error| error.to_string())?;
    if let Some(file) = &settings.key_file {
        Key::load(file).map_err(|error| error.to_string())?;
    }
    if let Some(tls) = &settings.tls {
        AgentTls::load(&tls.certificate, &tls.private_key, tls.client_ca.as_deref())
            .map_err(|error| error.to_string())?;
    }
    Ok(format!("{}: good; this is what it means\n\n{}", path.display(), settings.describe()))
}

/// A complete settings file with every field explained.
pub(super) fn example() -> &'static str {
    Settings::example()
}
