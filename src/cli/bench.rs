//! `iofwd bench`: what can be typed, what is meant by it, and how the results are shown.

mod application;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};

use iofwd_scheduler::time::Span;

use crate::bench::plan::{Caches, Comparison, Plan};
use crate::bench::{Pattern, Results, Stop, report, series};

use super::{Failure, quantity, say, say_error};

#[derive(Debug, Args)]
pub(super) struct BenchArguments {
    /// The directory that gets the load: plain, or on a mount
    path: PathBuf,
    #[command(flatten)]
    load: Load,
    /// One of several applications at once, with what it has different from the other options, for
    /// example name=B,processes=8,request=1M,start=2s; also pattern, operation, size, think,
    /// periods, compute
    #[arg(long = "app", value_name = "KEY=VALUE,...")]
    applications: Vec<String>,
    /// Do not run each of several applications by itself too; no interference factor then
    #[arg(long)]
    together_only: bool,
    /// Mount the directory with each of these values and compare, for example
    /// policy=fifo,twins; any option of mount -o; 'unforwarded' is the directory itself
    #[arg(long, value_name = "KEY=VALUE,...")]
    compare: Option<String>,
    /// Options for the mounts that are compared, as for mount -o
    #[arg(long, value_name = "OPTIONS", value_delimiter = ',', requires = "compare")]
    mount_options: Vec<String>,
    /// Another mount of the same directory, for example through another agent; processes are dealt
    /// over all of them, neighbours to the same
    #[arg(long, value_name = "PATH", conflicts_with = "compare")]
    also: Vec<PathBuf>,
    /// PATH is the directory that an earlier call with --keep has left: read its files and leave them
    #[arg(long, conflicts_with = "keep")]
    reuse: bool,
    /// How often everything is done, in random order
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Check every byte that is read, and read every byte that is written
    #[arg(long)]
    verify: bool,
    /// Go around the page cache (O_DIRECT)
    #[arg(long)]
    direct: bool,
    /// Make durable what was written, within the measured time
    #[arg(long)]
    fsync: bool,
    /// What to forget before reading: keep (nothing), files (pages of the files), all (needs root)
    #[arg(long, value_name = "WHICH", default_value = "files")]
    caches: CachesArgument,
    /// Decides offsets, contents and order [default: another one each time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Show every process in the table, and every run
    #[arg(long)]
    per_process: bool,
    /// Leave the files behind, and say where
    #[arg(long)]
    keep: bool,
}

/// What an application does; each of several may differ in any of it.
#[derive(Debug, Clone, Args)]
struct Load {
    /// How many processes
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    processes: u32,
    /// file-per-process, contiguous, strided, random, mixed or nested
    #[arg(short = 'p', long, value_name = "NAME", default_value = "strided")]
    pattern: Pattern,
    /// read, write, or both: write, then read
    #[arg(long, value_name = "WHAT", default_value = "both")]
    operation: Operation,
    /// Bytes of a request
    #[arg(short = 'r', long, value_name = "SIZE", default_value = "256K",
          value_parser = quantity::bytes)]
    request: u64,
    /// Bytes of the shared file, or of all files of an application together
    #[arg(short = 's', long, value_name = "SIZE", default_value = "256M",
          value_parser = quantity::bytes)]
    size: u64,
    /// How long a process thinks between two requests
    #[arg(long, value_name = "TIME", value_parser = quantity::span)]
    think: Option<Span>,
    /// How often an application goes through its files, computing before each time
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    periods: u32,
    /// How long all processes compute (sleep) before each period
    #[arg(long, value_name = "TIME", value_parser = quantity::span)]
    compute: Option<Span>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Operation {
    Read,
    Write,
    Both,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CachesArgument {
    Keep,
    Files,
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
}

pub(super) const EXAMPLES: &str = "Examples:\n  \
    iofwd bench /mnt/project\n  \
    iofwd bench -n 128 -p strided -r 32K -s 4G --operation read --verify /mnt/project\n  \
    iofwd bench -n 64 --app name=A --app name=B,start=5s /mnt/project\n  \
    iofwd bench --compare policy=fifo,hbrr,sw,twins --mount-options servers=4,stripe=64K \\\n      \
    --repeat 8 /scratch/project\n\n\
    Everything is done in a new directory PATH/iofwd-bench-PID, which is removed afterwards.\n\
    Opening and closing files is not measured. Making and checking bytes for --verify is part of\n\
    makespan and bandwidth, not of latencies. Runs of less than a second are often slower\n\
    than long ones: choose --size or --periods accordingly. Two settings are\n\
    called different if Welch's t test, corrected for the number of pairs (Holm), says so at 99.7 %.";

pub(super) fn run(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    let plan = plan(arguments)?;
    match series::perform(plan) {
        Ok(results) => {
            say(show(arguments, &results).trim_end());
            Ok(ExitCode::SUCCESS)
        }
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Interrupted) => {
            let files = if arguments.keep { "kept" } else { "removed" };
            say_error(&format!("interrupted: nothing is mounted, the files are {files}"));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

fn show(arguments: &BenchArguments, results: &Results) -> String {
    match arguments.format {
        Format::Table => report::table(results, arguments.per_process),
        Format::Json => report::json(results),
        Format::Csv => report::csv(results),
    }
}

fn plan(arguments: &BenchArguments) -> Result<Plan, Failure> {
    let seed = arguments.seed.unwrap_or_else(seed);
    Ok(Plan {
        path: arguments.path.clone(),
        also: arguments.also.clone(),
        reuse: arguments.reuse,
        applications: application::all(&arguments.load, &arguments.applications, seed)?,
        alone: !arguments.together_only,
        repeat: arguments.repeat,
        seed,
        verify: arguments.verify,
        direct: arguments.direct,
        fsync: arguments.fsync,
        caches: match arguments.caches {
            CachesArgument::Keep => Caches::Keep,
            CachesArgument::Files => Caches::Files,
            CachesArgument::All => Caches::All,
        },
        keep: arguments.keep,
        comparison: comparison(arguments)?,
    })
}

fn comparison(arguments: &BenchArguments) -> Result<Option<Comparison>, Failure> {
    let Some(text) = &arguments.compare else { return Ok(None) };
    let wrong = || format!("--compare {text}: write for example --compare policy=fifo,twins");
    let (key, values) = text.split_once('=').ok_or_else(wrong)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_string()).collect();
    if key.is_empty() || values.len() < 2 || values.iter().any(String::is_empty) {
        return Err(wrong());
    }
    let mut sorted = values.clone();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("--compare {text}: '{}' stands there twice", twice[0]));
    }
    let options = arguments.mount_options.clone();
    Ok(Some(Comparison { key: key.trim().into(), values, options }))
}

/// Another one each time, small enough to be typed again.
fn seed() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    time.subsec_nanos().into()
}

/// As a shell shows the end by Ctrl-C.
const INTERRUPTED: u8 = 130;
