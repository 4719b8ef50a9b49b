//! `iofwd sim`: what can be typed, what is meant by it, and where the results go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::Pattern;
use iofwd_scheduler::time::Span;

use crate::sim::reproduce::{self, Effort};
use crate::sim::spec::{OPERATIONS, PATTERNS, Spec};
use crate::sim::{file, gantt, output, preset, sweep};

use super::{Failure, quantity, say};

#[derive(Debug, Args)]
pub(super) struct SimArguments {
    /// A scenario file
    scenario: Option<PathBuf>,
    /// A scenario that is built in: thesis or scale
    #[arg(long, value_name = "NAME", conflicts_with = "scenario", value_parser = known_preset)]
    preset: Option<String>,
    /// Simulate everything that a publication shows and write a report: thesis
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scenario", "preset"],
          value_parser = ["thesis"])]
    reproduce: Option<String>,
    /// Where the report goes: a directory
    #[arg(long, value_name = "DIR", default_value = "iofwd-report", requires = "reproduce")]
    output: PathBuf,
    /// A hundredth of the work, to have a look: numbers are rough
    #[arg(long, requires = "reproduce")]
    quick: bool,
    #[command(flatten)]
    sweep: SweepArguments,
    /// Where all random numbers come from: the same seed gives the same report
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// How often everything is simulated, each time with the next seed
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table", conflicts_with = "reproduce")]
    format: Format,
    /// Draw what the servers did, agents over time, to this SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "reproduce")]
    gantt: Option<PathBuf>,
    /// From when on to draw it
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = quantity::span,
          requires = "gantt")]
    gantt_from: Span,
    /// How much of it to draw
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = quantity::span,
          requires = "gantt")]
    gantt_span: Span,
}

/// Values to try instead of those of the file or preset; a list means each of them, in all combinations.
#[derive(Debug, Args)]
struct SweepArguments {
    /// Scheduling policies; 'unforwarded': clients talk to the servers themselves
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    policy: Vec<String>,
    /// Lengths of time windows, for policies that have any: 125us,1ms,8ms
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', value_parser = quantity::span)]
    window: Vec<Span>,
    /// Within a window, wait for those that went with the last batch (twins)
    #[arg(long)]
    gather: bool,
    /// Numbers of agents (I/O nodes)
    #[arg(long, alias = "io-nodes", value_name = "COUNT,...", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    agents: Vec<u32>,
    /// Bytes of a request
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = quantity::bytes)]
    request: Vec<u64>,
    /// file-per-process, contiguous, strided, random
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = known_pattern)]
    pattern: Vec<Pattern>,
    /// read, write
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = known_operation)]
    operation: Vec<Operation>,
    /// Bytes that each process moves
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes)]
    volume: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
}

pub(super) const EXAMPLES: &str = "Examples:\n  \
    iofwd sim --preset thesis\n  \
    iofwd sim --preset thesis --policy fifo,twins --window 125us,1ms,8ms --agents 1,4 --repeat 8\n  \
    iofwd sim --preset thesis --policy twins --window 8ms --gantt windows.svg\n  \
    iofwd sim --preset scale --format json\n  \
    iofwd sim scenario.toml --seed 7 --format csv\n  \
    iofwd sim --reproduce thesis --output report\n\n\
    A scenario file:\n  \
    [platform]\n  \
    servers = 4\n  \
    stripe = \"64K\"\n  \
    device = \"hdd\"                       # hdd, ssd, null, thesis\n  \
    [forwarding]\n  \
    policy = \"twins\"\n  \
    agents = 4\n  \
    gather = false                       # within a window, wait for those of the last batch\n  \
    [[job]]\n  \
    processes = 128\n  \
    per_node = 4\n  \
    pattern = \"strided\"                  # file-per-process, contiguous, strided, random\n  \
    operation = \"read\"                   # read, write\n  \
    request = \"32K\"\n  \
    volume = \"4M\"                        # of each process\n  \
    [sweep]                              # lists to try in all combinations\n  \
    window = [\"1ms\", \"8ms\"]\n\n\
    The preset thesis runs IOFSL's daemons, as published; daemon = \"iofsl\" in [forwarding] does it in a file.";

pub(super) fn run(arguments: &SimArguments) -> Result<ExitCode, Failure> {
    if arguments.reproduce.is_some() {
        let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
        let report = reproduce::thesis(effort, arguments.seed.unwrap_or(1))?;
        let files = reproduce::write(&report, &arguments.output)?;
        say(&report.verdicts_in_words());
        say(&format!("{} files in {}: open report.html", files, arguments.output.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let spec = spec(arguments)?;
    let outcomes = sweep::all(&spec)?;
    let text = match arguments.format {
        Format::Table => output::table(&spec, &outcomes),
        Format::Json => output::json(&spec, &outcomes),
        Format::Csv => output::csv(&outcomes),
    };
    say(text.trim_end());
    if let Some(path) = &arguments.gantt {
        draw(arguments, &spec, path)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws every case of the spec, one below the other.
fn draw(arguments: &SimArguments, spec: &Spec, path: &Path) -> Result<(), Failure> {
    let section = gantt::Section { from: arguments.gantt_from, length: arguments.gantt_span };
    let drawing = gantt::of_spec(spec, section)?;
    fs::write(path, drawing.svg()).map_err(|error| format!("{}: {error}", path.display()))
}

/// The file or the preset, with what the flags change.
fn spec(arguments: &SimArguments) -> Result<Spec, Failure> {
    let mut spec = match (&arguments.scenario, &arguments.preset) {
        (Some(path), _) => file::read(path)?,
        (None, Some(name)) => preset::by_name(name).ok_or_else(|| no_preset(name))?,
        (None, None) => return Err(NOTHING.into()),
    };
    let SweepArguments { policy, window, gather, agents, request, pattern, operation, volume } =
        &arguments.sweep;
    replace(&mut spec.sweep.policies, policy);
    replace(&mut spec.sweep.windows, window);
    spec.gather |= *gather;
    replace(&mut spec.sweep.agents, agents);
    replace(&mut spec.sweep.requests, request);
    replace(&mut spec.sweep.patterns, pattern);
    replace(&mut spec.sweep.operations, operation);
    for job in &mut spec.jobs {
        job.volume = volume.unwrap_or(job.volume);
    }
    spec.seed = arguments.seed.unwrap_or(spec.seed);
    spec.repeat = arguments.repeat.unwrap_or(spec.repeat);
    Ok(spec)
}

const NOTHING: &str =
    "nothing to simulate: name a scenario file, a preset with --preset, or --reproduce thesis";

fn replace<T: Clone>(values: &mut Vec<T>, given: &[T]) {
    if !given.is_empty() {
        *values = given.to_vec();
    }
}

fn known_preset(name: &str) -> Result<String, String> {
    preset::by_name(name).map(|_| name.to_string()).ok_or_else(|| no_preset(name))
}

fn no_preset(name: &str) -> String {
    let known: Vec<_> =
        preset::ALL.iter().map(|(name, about)| format!("{name} ({about})")).collect();
    format!("no preset '{name}': write {}", known.join(" or "))
}

fn known_pattern(name: &str) -> Result<Pattern, String> {
    chosen(name, "pattern", &PATTERNS)
}

fn known_operation(name: &str) -> Result<Operation, String> {
    chosen(name, "operation", &OPERATIONS)
}

fn chosen<T: Copy>(name: &str, what: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("no {what} '{name}': write {}", names()))
}
