//! `iofwd layout`: shows on which servers the bytes of files are.

mod table;

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::control;
use crate::layout::pvfs::Ranges;
use crate::layout::{self, Advice, Descriptor, Told};

use super::{Failure, say, say_error};

use table::Shown;

pub(super) const EXAMPLES: &str = "Example:
  iofwd layout /mnt/project/out.h5
  iofwd layout --json --pieces 100 /lustre/project/out.h5

On a mount of iofwd the agent is asked, elsewhere the file system itself.";

#[derive(Debug, Args)]
pub(super) struct LayoutArguments {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// As JSON, a list with one entry for each file
    #[arg(long)]
    json: bool,
    /// Show so many pieces of each file
    #[arg(long, value_name = "COUNT", default_value_t = 16)]
    pieces: usize,
    /// The configuration of an OrangeFS file system: which handles are whose
    #[arg(long, value_name = "FILE", env = "IOFWD_PVFS_CONFIG")]
    pvfs_config: Option<PathBuf>,
}

pub(super) fn run(arguments: &LayoutArguments) -> Result<ExitCode, Failure> {
    let pvfs = arguments.pvfs_config.as_deref().map(pvfs_ranges).transpose()?;
    let advice = Advice { pvfs };
    let mut shown = Vec::new();
    let mut code = ExitCode::SUCCESS;
    for path in &arguments.files {
        match show(path, &advice, arguments.pieces) {
            Ok(one) => shown.push(one),
            Err(failure) => {
                say_error(&failure);
                code = ExitCode::FAILURE;
            }
        }
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&shown).map_err(|error| error.to_string())?;
        say(&text);
    } else {
        let tables: Vec<String> = shown.iter().map(ToString::to_string).collect();
        say(tables.join("\n").trim_end());
    }
    Ok(code)
}

/// Whose the handles of an OrangeFS file system are, from its configuration.
pub(super) fn pvfs_ranges(path: &Path) -> Result<Ranges, Failure> {
    let explain = |what: String| format!("{}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| explain(error.to_string()))?;
    Ranges::parse(&text).map_err(explain)
}

fn show(path: &Path, advice: &Advice, pieces: usize) -> Result<Shown, Failure> {
    let explain = |what: String| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| explain(error.to_string()))?;
    let found = file.metadata().map_err(|error| explain(error.to_string()))?;
    if !found.is_file() {
        return Err(explain("only files have a layout, and this is none".into()));
    }
    let told = match control::layout(&file).map_err(|error| explain(error.to_string()))? {
        Some(told) => told,
        None => ask(&file, advice).map_err(explain)?,
    };
    Shown::new(path, found.len(), &told, pieces).map_err(explain)
}

/// Ask the file system itself.
fn ask(file: &File, advice: &Advice) -> Result<Told, String> {
    let begin = Instant::now();
    let (_, said) = layout::probe(&Descriptor(file.as_fd()), advice);
    let cost = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let description = said.map_err(|problem| problem.to_string())?;
    Ok(Told { description, cost, queues: Vec::new() })
}
