//! How an engine is set up: the policy, the servers it believes in, the bounds.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use iofwd_mount::Errno;
use iofwd_scheduler::policy::{self, Directive, Setup};
use iofwd_scheduler::request::ServerId;
use iofwd_scheduler::room::Limit;
use iofwd_scheduler::scheduler::{Config, Scheduler};
use iofwd_scheduler::time::{Span, Time};

use crate::budget::Budget;
use crate::device;
use crate::layout::{Advice, Description, First, Pattern, Rule, Server};
use crate::settings::{AgentPlace, DataPath};
use crate::trace::{Header, Recorder};

use super::clock::Clock;
use super::cost::Costs;
use super::devices::Devices;
use super::levels::Levels;
use super::recorded::Recorded;
use super::workers::Workers;
use super::{Core, Engine, State, timer};

/// What can be set.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The scheduling policy, by name.
    pub policy: String,
    /// The length of a window, for policies that have them; `None` is the policy's default.
    pub window: Option<Span>,
    /// Within a window, wait for those that went with the last batch.
    pub gather: bool,
    /// Treat files whose file system says nothing as striped over so many servers; 1: they are on one.
    pub servers: u32,
    /// Bytes of such a file on one server before the next one follows.
    pub stripe: u64,
    /// Which of the agents that share the servers it is.
    pub place: AgentPlace,
    /// How files are laid out.
    pub layouts: LayoutSettings,
    /// How data go to the backing.
    pub data: DataPath,
    /// Have every server be as slow as this device.
    pub device: Option<device::Spec>,
    /// Requests under way at one server at a time.
    pub depth: u32,
    /// Variables that name the job of a process of this node.
    pub job_variables: Vec<String>,
    /// Write down here what is done to the scheduler.
    pub record: Option<PathBuf>,
    /// A request that takes longer is told of in the log.
    pub slow: Span,
}

/// How files are laid out.
#[derive(Clone, Debug)]
pub struct LayoutSettings {
    /// Servers that may have a queue of their own; those that come later share one.
    pub queues: u32,
    /// The servers by their numbers; none: numbered as they are met.
    pub servers: Vec<Server>,
    /// Rules for files whose file system says nothing; the first that fits counts.
    pub rules: Vec<Rule>,
    /// What is known of file systems beforehand.
    pub advice: Advice,
    /// The `ceph` command, if it is to be asked where objects are.
    pub ceph_command: Option<PathBuf>,
}

impl Default for LayoutSettings {
    fn default() -> LayoutSettings {
        LayoutSettings {
            queues: QUEUES,
            servers: Vec::new(),
            rules: Vec::new(),
            advice: Advice::default(),
            ceph_command: None,
        }
    }
}

impl Default for EngineSettings {
    fn default() -> EngineSettings {
        EngineSettings {
            policy: "twins".into(),
            window: None,
            gather: false,
            servers: 1,
            stripe: 64 << 10,
            place: AgentPlace::default(),
            layouts: LayoutSettings::default(),
            data: DataPath::default(),
            device: None,
            depth: 64,
            job_variables: crate::settings::JobSettings::default().variables,
            record: None,
            slow: SLOW,
        }
    }
}

impl EngineSettings {
    /// Whether an engine can be set up so; if not, what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.stripe == 0 {
            return Err("the stripe is 0 bytes; it must be at least 1".into());
        }
        self.everything()?;
        self.config().check().map_err(|error| error.to_string())?;
        self.policy().map(drop)
    }

    /// The rule for files that no other rule and no file system says anything about.
    pub(in crate::agent) fn everything(&self) -> Result<Description, String> {
        if self.servers == 1 {
            return Ok(Description::plain());
        }
        let pattern = Pattern::parse("*")?;
        let (stripe, servers, first) = (self.stripe, self.servers, First::Server(0));
        let description = Rule { pattern, stripe, servers, first }.describe(0);
        description.layout(&|_| ServerId(0)).map_err(|error| error.to_string())?;
        Ok(description)
    }

    /// How many servers may have a queue of their own.
    pub(in crate::agent) fn queues(&self) -> u32 {
        self.layouts.queues.max(self.servers).max(self.layouts.servers.len() as u32)
    }

    fn config(&self) -> Config {
        let mut config = Config::new(self.setup());
        config.each = Limit::new(self.depth, config.each.bytes);
        config.total = Limit::new(config.total.requests, IN_FLIGHT_BYTES);
        config
    }

    fn setup(&self) -> Setup {
        let AgentPlace { index, count } = self.place;
        Setup { agent: index.unwrap_or(0), agents: count, ..Setup::new(self.servers) }
    }

    fn recorder(&self) -> Result<Option<Recorder>, String> {
        let Some(path) = &self.record else { return Ok(None) };
        let header = Header { policy: self.policy.clone(), config: self.config() };
        File::create(path)
            .and_then(|file| Recorder::new(Box::new(BufWriter::new(file)), &header))
            .map(Some)
            .map_err(|error| format!("cannot record to {}: {error}", path.display()))
    }

    fn policy(&self) -> Result<Box<dyn policy::Policy>, String> {
        policy(&self.policy, &self.setup())
    }
}

/// The policy of a name, or which names there are.
pub(super) fn policy(name: &str, setup: &Setup) -> Result<Box<dyn policy::Policy>, String> {
    policy::by_name(name, setup).ok_or_else(|| {
        let names: Vec<&str> = policy::ALL.iter().map(|known| known.name).collect();
        format!("no policy '{name}': choose one of {}", names.join(", "))
    })
}

impl Engine {
    /// Start an engine.
    pub fn start(settings: &EngineSettings) -> Result<Engine, Errno> {
        let explain = |reason: String| {
            tracing::error!(%reason, "the engine cannot be set up");
            Errno::EINVAL
        };
        let clock = Clock::start();
        let policy = settings.policy().map_err(explain)?;
        let scheduler = Scheduler::new(&settings.config(), policy);
        let mut scheduler = Recorded::new(scheduler, settings.recorder().map_err(explain)?);
        scheduler.direct(Time::ZERO, Directive::ClockOffset(clock.offset()));
        if let Some(window) = settings.window {
            scheduler.direct(Time::ZERO, Directive::Window(window));
        }
        scheduler.direct(Time::ZERO, Directive::Gather(settings.gather));
        let core = Arc::new(Core {
            clock,
            servers: AtomicU32::new(settings.servers),
            state: Mutex::new(State {
                scheduler,
                queued: HashMap::new(),
                next: 0,
                deadline: Time::NEVER,
                stopping: false,
                draining: 0,
                costs: Costs::new(),
                levels: Levels::default(),
            }),
            timer: Condvar::new(),
            idle: Condvar::new(),
            workers: Workers::new((settings.depth * settings.queues()).min(WORKERS_MOST) as usize),
            here: AtomicUsize::new(0),
            devices: Devices::new(settings.device.clone()),
            budget: Budget::new(WAITING_BYTES),
            slow: settings.slow,
        });
        core.workers.employ(&core);
        let timed = Arc::clone(&core);
        thread::Builder::new().name("iofwd-timer".into()).spawn(move || timer::run(&timed))?;
        Ok(Engine { core })
    }
}

/// Bytes of reads and writes that workers may have under way.
const IN_FLIGHT_BYTES: u64 = 256 << 20;
/// Bytes of writes that may wait for their turn.
const WAITING_BYTES: usize = 256 << 20;
/// More than most file systems have, and a round of windows of one millisecond is over soon.
const QUEUES: u32 = 64;
/// Nobody waits so long for a disk that is well.
const SLOW: Span = Span::from_secs(1);
/// Threads for requests that had to wait.
const WORKERS_MOST: u32 = 256;
