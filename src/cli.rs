//! What can be typed: the arguments of every subcommand, no logic.

mod agent;
mod background;
mod bench;
mod check;
mod ctl;
mod demo;
mod generate;
mod helper;
mod key;
mod layout;
mod log;
mod mount;
mod replay;
mod server;
mod signals;
mod sim;
mod status;
mod top;
mod unmount;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use iofwd_mount::Cache;
use iofwd_scheduler::time::Span;

use crate::client::Spread;
use crate::device;
use crate::quantity;
use crate::settings::{self, DataPath};

/// An I/O forwarding file system: mounts a directory and schedules the reads and writes to it.
#[derive(Debug, Parser)]
#[command(name = "iofwd", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Mount a directory, through an agent in this process, or what an agent elsewhere exports
    #[command(after_help = "Example:\n  iofwd mount /lustre/project /mnt/project\n  \
        iofwd mount --cache=close-to-open --allow-other /data /mnt/data\n  \
        iofwd mount --key-file /etc/iofwd/key ion1:7040/scratch /mnt/scratch\n  \
        iofwd mount unix:/run/iofwd/agent.sock /mnt/scratch\n  \
        iofwd mount servers:ds1:7041,ds2:7041 /mnt/scratch")]
    Mount(Box<MountArguments>),
    /// Serve directories to clients on other nodes
    #[command(after_help = agent::EXAMPLES)]
    Agent(agent::AgentArguments),
    /// Keep names and stripes of files for agents: a data server
    #[command(after_help = server::EXAMPLES)]
    Server(server::ServerArguments),
    /// Look whether names, sizes and stripes on data servers agree, and make them agree
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArguments),
    /// Ask a running agent, or tell it to change something
    #[command(after_help = ctl::EXAMPLES)]
    Ctl(ctl::CtlArguments),
    /// Wait for everything under way, make it durable, unmount, confirm
    #[command(after_help = "Example:\n  iofwd unmount /mnt/project")]
    Unmount(UnmountArguments),
    /// Show what an agent, or the one behind a mountpoint, has done
    #[command(after_help = status::EXAMPLES)]
    Status(status::StatusArguments),
    /// Show what an agent does, live, in a terminal
    #[command(after_help = top::EXAMPLES)]
    Top(top::TopArguments),
    /// Show on which servers the bytes of files are, on a mount or anywhere
    #[command(after_help = layout::EXAMPLES)]
    Layout(layout::LayoutArguments),
    /// Make the key that an agent and its clients share
    #[command(after_help = "Example:\n  iofwd key new /etc/iofwd/agent.key")]
    Key(key::KeyArguments),
    /// Replay a recording of `iofwd mount --record` in virtual time, and compare the decisions
    #[command(after_help = "Example:\n  iofwd mount --record=/tmp/trace /data /mnt\n  \
        iofwd replay /tmp/trace")]
    Replay(ReplayArguments),
    /// Put the load of parallel applications on a directory, measure and compare
    #[command(after_help = bench::EXAMPLES)]
    Bench(Box<bench::BenchArguments>),
    /// Simulate clients, agents and servers in virtual time: a scenario file, a preset, or all of what
    /// the TWINS thesis published
    #[command(after_help = sim::EXAMPLES)]
    Sim(Box<sim::SimArguments>),
    /// Mount a sample directory, run a few programs on it, show what the scheduler did, clean up
    #[command(after_help = "Example:\n  iofwd demo")]
    Demo,
    /// Write man pages, or what makes a shell complete commands
    #[command(after_help = generate::EXAMPLES)]
    Generate(generate::GenerateArguments),
}

#[derive(Debug, Clone, Args)]
struct MountArguments {
    /// The directory to forward, or an agent: HOST:PORT[/EXPORT[/DIRECTORY]], or
    /// unix:PATH[:EXPORT[/DIRECTORY]]; of several, HOST:PORT,HOST:PORT/..., any will do; or data
    /// servers: servers:HOST:PORT,HOST:PORT
    source: PathBuf,
    /// Where it appears
    mountpoint: PathBuf,
    /// Stay in the foreground, and log to standard error
    #[arg(short, long)]
    foreground: bool,
    /// What this node may cache: coherent, close-to-open or exclusive
    #[arg(long, value_name = "MODE", default_value_t = Cache::Coherent, env = "IOFWD_CACHE")]
    cache: Cache,
    /// Let other users in; their own permissions decide what they may do
    #[arg(long)]
    allow_other: bool,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Replace the mountpoint of a mount that died
    #[arg(long)]
    force: bool,
    /// Scheduling policy
    #[arg(long, value_name = "NAME", default_value = "twins", env = "IOFWD_POLICY")]
    policy: String,
    /// Length of a time window, for example 500us or 4ms [default: that of the policy]
    #[arg(long, value_name = "TIME", value_parser = quantity::span, env = "IOFWD_WINDOW")]
    window: Option<Span>,
    /// Within a window, wait for those that went with the last batch: good where many processes read
    /// or write a file in step, from disks
    #[arg(long, env = "IOFWD_GATHER")]
    gather: bool,
    /// Treat files as striped over so many servers, unless their file system tells where they are
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    servers: u32,
    /// Bytes of a file on one server before the next one follows
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = quantity::bytes)]
    stripe: u64,
    /// Servers that may have a queue of their own; those that come later share one
    #[arg(long, value_name = "COUNT", default_value_t = 64, env = "IOFWD_QUEUES",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    queues: u32,
    /// The configuration of an OrangeFS file system: which handles are whose
    #[arg(long, value_name = "FILE", env = "IOFWD_PVFS_CONFIG")]
    pvfs_config: Option<PathBuf>,
    /// The ceph command: ask it on which daemons the objects of CephFS files are
    #[arg(long, value_name = "PROGRAM", env = "IOFWD_CEPH_COMMAND")]
    ceph_command: Option<PathBuf>,
    /// Through the cache of this node or around it: auto (around where the file system has data
    /// servers), direct or buffered
    #[arg(long, value_name = "WAY", default_value_t = DataPath::Auto, env = "IOFWD_DATA")]
    data: DataPath,
    /// Have every request take as long as on this device: hdd, ssd or null, and what is different, as
    /// in hdd,read=200M,depth=1
    #[arg(long, value_name = "DEVICE")]
    device: Option<device::Spec>,
    /// Reads and writes under way at one server at a time
    #[arg(long, value_name = "COUNT", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: u32,
    /// Requests of the kernel served at a time
    #[arg(long, value_name = "COUNT", default_value_t = 32,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Read requests from the device even where the kernel could hand them over by io_uring. By default
    /// root has it do so from Linux 6.14 on, others where an administrator has set enable_uring
    #[arg(long)]
    no_rings: bool,
    /// Options as mount(8) has them: ro, allow_other, cache=..., policy=..., noexec, ...
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,
    /// Record what is done to the scheduler, for iofwd replay
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The key that the agent has too
    #[arg(long, value_name = "FILE", env = "IOFWD_KEY_FILE")]
    key_file: Option<PathBuf>,
    /// Certificates that may vouch for the agent: the connection is encrypted with TLS 1.3
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The agent's name in its certificate [default: the host that was typed]
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_name: Option<String>,
    /// This client's certificate, if the agent wants one
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_private_key"])]
    tls_certificate: Option<PathBuf>,
    /// The private key of this client's certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_private_key: Option<PathBuf>,
    /// Variables of a process that name its job; the first that is set counts
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        env = "IOFWD_JOB_VARIABLES",
        default_value = "SLURM_JOB_ID,PBS_JOBID,FLUX_JOB_ID"
    )]
    job_variables: Vec<String>,
    /// Connections to the agent
    #[arg(long, value_name = "COUNT", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=4))]
    connections: u32,
    /// Give up reaching the agent after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    connect_timeout: u64,
    /// Have .iofwd/status and .iofwd/layout/PATH below the mountpoint, which listings do not show
    #[arg(long)]
    introspect: bool,
    /// Publish metrics and a page here, to whoever reaches it: ADDRESS:PORT, for an agent in this process
    #[arg(long, value_name = "ADDRESS", env = "IOFWD_METRICS", value_parser = settings::address)]
    metrics: Option<SocketAddr>,
    /// Log reads and writes that take longer, and why, where the agent is in this process
    #[arg(long, value_name = "TIME", default_value = "1s", env = "IOFWD_SLOW",
          value_parser = quantity::span)]
    slow: Span,
    /// Which of several agents to turn to: client, the one that the client's name stands for; a place
    /// in the list, from 0 on; file, each file's reads and writes to an agent of its own; stripe, the
    /// same for each stretch of --stripe bytes. With file and stripe all else (names, locks, appends)
    /// goes to one, as with client, and the share of an agent that is lost to the next in the list
    #[arg(long, value_name = "WHICH", default_value = "0")]
    spread: Spread,
    /// What applications see of an agent that is lost: wait until it, or another one, is there, or
    /// an error
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = OnLoss::Wait)]
    on_loss: OnLoss,
    /// Wait for so many seconds at most, then fail until there is an agent again
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    loss_bound: u64,
    /// Have calls that an agent has not answered after so many seconds fail with ETIMEDOUT, whatever they
    /// wait for; they may still be done. Without it they wait
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    deadline: Option<u64>,
    #[command(flatten)]
    log: log::LogArguments,
}

/// What applications see of an agent that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OnLoss {
    /// They wait.
    Wait,
    /// They get `EIO`.
    Error,
}

#[derive(Debug, Args)]
struct UnmountArguments {
    /// The mountpoint
    mountpoint: PathBuf,
    /// Give up after so many seconds: of waiting for everything to be durable, then of waiting for the
    /// end of the mount's process
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

#[derive(Debug, Args)]
struct ReplayArguments {
    /// The recording
    file: PathBuf,
}

/// An error as the user reads it: what is wrong, and what to do about it.
type Failure = String;

/// Everything that can be typed, for those who document it.
pub fn command() -> clap::Command {
    generate::command()
}

/// Run what was typed.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let result = match helper::translate(&arguments) {
        Some(Ok(mount)) => mount::run(&mount),
        Some(Err(failure)) => Err(failure),
        None => dispatch(Cli::parse_from(arguments).command),
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            say_error(&failure);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Mount(arguments) => mount::run(&arguments),
        Command::Agent(arguments) => agent::run(&arguments),
        Command::Server(arguments) => server::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Ctl(arguments) => ctl::run(&arguments),
        Command::Unmount(arguments) => unmount::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Layout(arguments) => layout::run(&arguments),
        Command::Key(arguments) => key::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Demo => demo::run(),
        Command::Generate(arguments) => generate::run(&arguments),
    }
}

/// A line for the user. That nobody may be listening is no failure.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn say_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "iofwd: {line}");
}
