//! How an engine is set up: the policy, the servers it believes in, the bounds.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use iofwd_mount::Errno;
use iofwd_scheduler::layout::Layout;
use iofwd_scheduler::policy::{self, Directive, Setup};
use iofwd_scheduler::request::ServerId;
use iofwd_scheduler::room::Limit;
use iofwd_scheduler::scheduler::{Config, Scheduler};
use iofwd_scheduler::time::{Span, Time};

use crate::budget::Budget;
use crate::trace::{Header, Recorder};

use super::clock::Clock;
use super::cost::Costs;
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
    /// Treat every file as striped over so many servers; 1: the directory is one server.
    pub servers: u32,
    /// Bytes of a file on one server before the next one follows.
    pub stripe: u64,
    /// Requests under way at one server at a time.
    pub depth: u32,
    /// Variables that name the job of a process of this node.
    pub job_variables: Vec<String>,
    /// Write down here what is done to the scheduler.
    pub record: Option<PathBuf>,
}

impl Default for EngineSettings {
    fn default() -> EngineSettings {
        EngineSettings {
            policy: "twins".into(),
            window: None,
            servers: 1,
            stripe: 64 << 10,
            depth: 64,
            job_variables: crate::settings::JobSettings::default().variables,
            record: None,
        }
    }
}

impl EngineSettings {
    /// Whether an engine can be set up so; if not, what is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.layout()?;
        self.config().check().map_err(|error| error.to_string())?;
        self.policy().map(drop)
    }

    fn layout(&self) -> Result<Layout, String> {
        if self.servers == 1 {
            return Ok(Layout::single(ServerId(0)));
        }
        let servers = (0..self.servers).map(ServerId).collect();
        Layout::round_robin(self.stripe, servers).map_err(|error| error.to_string())
    }

    fn config(&self) -> Config {
        let mut config = Config::new(Setup::new(self.servers));
        config.each = Limit::new(self.depth, config.each.bytes);
        config.total = Limit::new(config.total.requests, IN_FLIGHT_BYTES);
        config
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
        policy(&self.policy, &Setup::new(self.servers))
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
        let core = Arc::new(Core {
            layout: settings.layout().map_err(explain)?,
            clock,
            state: Mutex::new(State {
                scheduler,
                queued: HashMap::new(),
                next: 0,
                deadline: Time::NEVER,
                stopping: false,
                costs: Costs::new(),
            }),
            timer: Condvar::new(),
            idle: Condvar::new(),
            workers: Workers::new((settings.depth * settings.servers).min(WORKERS_MOST) as usize),
            budget: Budget::new(WAITING_BYTES),
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
/// Threads for requests that had to wait.
const WORKERS_MOST: u32 = 256;
