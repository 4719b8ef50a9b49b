//! `iofwd replay`: does to a scheduler in virtual time what was recorded of an agent, and compares.

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

use iofwd_scheduler::policy;
use iofwd_scheduler::record::replay;

use crate::trace::Trace;

use super::{Failure, ReplayArguments, say};

pub(super) fn run(arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    let place = arguments.file.display();
    let file = File::open(&arguments.file).map_err(|error| format!("{place}: {error}"))?;
    let trace = Trace::read(BufReader::new(file)).map_err(|error| format!("{place}: {error}"))?;
    let header = &trace.header;
    let policy = policy::by_name(&header.policy, &header.config.setup)
        .ok_or_else(|| format!("{place}: no policy '{}' in this version", header.policy))?;
    let batches = replay(&header.config, policy, &trace.events)
        .map_err(|difference| format!("{place}: this version decides otherwise: {difference}"))?;
    say(&format!(
        "{} events of {} replayed: {batches} batches, all as recorded",
        trace.events.len(),
        header.policy
    ));
    Ok(ExitCode::SUCCESS)
}
