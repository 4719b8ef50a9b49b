//! `cargo ci`: everything continuous integration runs; a person runs the same.
//!
//! `cargo ci` runs all stages of the default run, cheap ones first; `cargo ci STAGE...` those
//! named; `cargo ci list` says which there are. The mounted judges run against the release build
//! of the program, or against `--program yardstick|bare|PATH` to judge the judges.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

mod agreement;
mod area;
mod arguments;
mod cargo;
mod crowd;
mod guardian;
mod judge;
mod mounted;
mod open_device;
mod overload;
mod package;
mod packages;
mod program;
mod service;
mod site;
mod speed;
mod stage;
mod step;
mod twins;

use std::process::ExitCode;

use crate::arguments::{Arguments, Task};
use crate::site::Site;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments::parse(&words) {
        Ok(Task::List) => stage::list(),
        Ok(Task::Guard(room)) => guardian::guard(&room),
        Ok(Task::Pound(pound)) => return finish(crowd::pound::run(&pound)),
        Ok(Task::Load(load)) => return finish(speed::load::run(&load)),
        Ok(Task::Run(arguments)) => return finish(run(&arguments)),
        Err(error) => return finish(Err(error)),
    }
    ExitCode::SUCCESS
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let stages = stage::choose(&arguments.stages)?;
    let site = Site::prepare(arguments)?;
    let tally = stage::run_all(&site, &stages);
    site.leave();
    println!("{tally}");
    if tally.failed == 0 { Ok(()) } else { Err(format!("{} failed", tally.failures.join(", "))) }
}

fn finish(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ci: {error}");
            ExitCode::FAILURE
        }
    }
}
