//! An agent that serves clients of other processes and nodes: its exports, its clients, and the
//! terms on which they are let in.

mod clients;

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dashmap::DashMap;

use iofwd_mount::store::NodeId;

use crate::backend::posix::Identity;
use crate::control::pages::Pages;
use crate::key::Key;
use crate::layout::Advice;
use crate::layout::pvfs::Ranges;
use crate::link::Hub;
use crate::penalty::Penalties;
use crate::report::Report;
use crate::settings::{self, AgentPlace, Settings, Transport};
use crate::tls::AgentTls;
use crate::wire::greeting::Bytes32;

use super::engine::{EngineSettings, LayoutSettings};
use super::export::Export;
use super::session::{Counts, Rights, Session, Squash};
use super::state::{Number, Orphans, State, Unused};
use super::{Forwarder, Survival};

pub(super) use clients::Wanted;

/// An agent with its exports and clients.
#[derive(Debug)]
pub struct Service {
    pub(super) settings: Settings,
    pub(super) key: Option<Key>,
    pub(super) tls: Option<AgentTls>,
    exports: Vec<Export>,
    pub(super) hub: Arc<Hub>,
    sessions: DashMap<u64, Known>,
    next: AtomicU64,
    counts: Arc<Counts>,
    penalties: Mutex<Penalties>,
    pub(super) pages: Pages,
    /// What outlives the agent, if anything does.
    state: Option<Arc<State>>,
    /// Which of several agents it is, as long as it lives.
    _number: Option<Number>,
    orphans: Mutex<(Instant, Orphans, Unused)>,
    begun: Instant,
    is_stopping: AtomicBool,
}

/// What is behind an export, or why it cannot be had.
pub type Opened = Result<Arc<dyn Forwarder>, String>;

/// A client, and what its further connections must show.
#[derive(Debug)]
struct Known {
    session: Arc<Session>,
    token: Bytes32,
    connections: usize,
}

/// Who is at the other end of a connection, as far as can be seen from here.
#[derive(Clone, Debug)]
pub(super) enum Peer {
    /// Somebody at an address.
    Address(IpAddr),
    /// A process of this node.
    Local { uid: u32, gid: u32 },
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Address(address) => write!(f, "{address}"),
            Peer::Local { uid, .. } => write!(f, "user {uid} of this node"),
        }
    }
}

impl Peer {
    /// Whether it may tell the agent what to do: its own user, or the super-user, of this node.
    pub(super) fn is_master(&self) -> bool {
        let own = nix::unistd::geteuid().as_raw();
        matches!(self, Peer::Local { uid, .. } if *uid == 0 || *uid == own)
    }
}

impl Service {
    /// Open the exports, each as it is said; nobody can connect yet.
    pub fn new(
        settings: Settings,
        open: &dyn Fn(&settings::Export, &EngineSettings, Option<Survival>) -> Opened,
    ) -> Result<Arc<Service>, String> {
        let key = settings.key_file.as_deref().map(Key::load).transpose();
        let key = key.map_err(|error| error.to_string())?;
        let tls = settings.tls.as_ref().map(|files| {
            let client_ca = files.client_ca.as_deref();
            AgentTls::load(&files.certificate, &files.private_key, client_ca)
        });
        let tls = tls.transpose().map_err(|error| error.to_string())?;
        let mut engine = engine_settings(&settings);
        engine.layouts = layouts(&settings.layout)?;
        engine.check()?;
        let state = open_state(&settings)?;
        let number = number(&settings, state.as_deref())?;
        engine.place.index = number.as_ref().map(|number| number.number).or(engine.place.index);
        let exports: Result<Vec<Export>, String> = settings
            .exports
            .iter()
            .map(|export| {
                let survival = state.as_ref().map(|state| Survival::new(state, &export.name));
                let agent = open(export, &engine, survival)?;
                Ok(Export { settings: export.clone(), agent })
            })
            .collect();
        let hub = Hub::start(THREADS, settings.limits.memory as usize)
            .map_err(|error| format!("cannot start: {error}"))?;
        Ok(Arc::new(Service {
            settings,
            key,
            tls,
            exports: exports?,
            hub,
            sessions: DashMap::new(),
            next: AtomicU64::new(1),
            counts: Arc::default(),
            penalties: Mutex::default(),
            pages: Pages::default(),
            state,
            _number: number,
            orphans: Mutex::new((Instant::now(), Orphans::default(), Unused::default())),
            begun: Instant::now(),
            is_stopping: AtomicBool::new(false),
        }))
    }

    /// From here on the client is served.
    pub(super) fn serve(&self, session: &Arc<Session>, socket: OwnedFd) {
        let grant = self.grant();
        if let Err(error) = session.connect(&self.hub, socket, grant) {
            tracing::warn!(client = session.client(), %error, "a connection could not be used");
        }
    }

    fn grant(&self) -> usize {
        self.settings.limits.memory_per_client as usize / CONNECTIONS_MOST
    }

    fn export(&self, peer: &Peer, name: &str) -> Result<&Export, String> {
        let export = match (name, self.exports.as_slice()) {
            ("", [only]) => Some(only),
            (name, exports) => exports.iter().find(|export| export.settings.name == name),
        };
        let admitted = export.filter(|export| match peer {
            Peer::Address(address) => export.settings.admits(*address),
            Peer::Local { .. } => true,
        });
        admitted.ok_or_else(|| match name {
            "" => "it has several exports: say which, as HOST:PORT/EXPORT".into(),
            name => format!("there is no export '{}' for {peer}", clean(name)),
        })
    }

    fn root(&self, export: &Export, subtree: &[u8]) -> Result<NodeId, String> {
        if self.subtree(export, subtree)?.is_empty() {
            return Ok(NodeId::ROOT);
        }
        let shown = clean(&String::from_utf8_lossy(subtree));
        export.subtree(subtree).map_err(|errno| format!("'{shown}' below it: {errno}"))
    }

    /// The directory below an export that a client wants, if it may; empty if it wants all of it.
    fn subtree<'p>(&self, export: &Export, subtree: &'p [u8]) -> Result<&'p [u8], String> {
        if subtree.iter().all(|byte| *byte == b'/') {
            return Ok(&[]);
        }
        if !export.settings.subtrees {
            let shown = clean(&String::from_utf8_lossy(subtree));
            return Err(format!("directories below it, like '{shown}', cannot be mounted"));
        }
        Ok(subtree)
    }

    /// How long an address has to wait before it may try a key again.
    pub(super) fn penalty(&self, peer: &Peer) -> Option<Duration> {
        let Peer::Address(address) = peer else { return None };
        let penalties = self.penalties.lock().unwrap_or_else(PoisonError::into_inner);
        penalties.wait(*address, Instant::now())
    }

    /// What came of a try.
    pub(super) fn tried(&self, peer: &Peer, is_right: bool) {
        let Peer::Address(address) = peer else { return };
        let mut penalties = self.penalties.lock().unwrap_or_else(PoisonError::into_inner);
        if is_right {
            penalties.succeed(*address);
        } else {
            penalties.fail(*address, Instant::now());
        }
    }

    /// Where clients connect.
    pub fn places(&self) -> &[settings::Listen] {
        &self.settings.listen
    }

    /// How often to look after clients.
    pub fn tending(&self) -> Duration {
        TENDING
    }

    /// Whether it takes on nothing new.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Refuse new work, finish what is under way, make everything durable, and tell.
    pub fn stop(&self) -> Result<Report, String> {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.hub.hold();
        // What was taken is known of before anything is made durable.
        let end = Instant::now() + ANSWERS;
        wait_until(end, || !self.hub.is_busy());
        let mut failures = Vec::new();
        for export in &self.exports {
            if let Err(errno) = export.agent.settle() {
                failures.push(format!("export {}: {errno}", export.settings.name));
            }
        }
        // Everything that was let in is answered, but for those who wait for a lock.
        wait_until(end, || self.unanswered() == 0);
        self.exports.iter().for_each(|export| export.agent.leave());
        let report = self.totals();
        self.hub.stop("the agent stops");
        self.sessions.iter().for_each(|known| known.session.leave_hidden());
        if failures.is_empty() {
            Ok(report)
        } else {
            Err(format!("not everything could be made durable: {}", failures.join(", ")))
        }
    }

    fn unanswered(&self) -> u64 {
        let count = |of: &AtomicU64| of.load(Ordering::SeqCst);
        // First: what is let in meanwhile is not missing.
        let accepted = count(&self.counts.accepted);
        let waiting: usize = self.exports.iter().map(|export| export.agent.waiting()).sum();
        let answered = count(&self.counts.done) + count(&self.counts.failed) + waiting as u64;
        accepted.saturating_sub(answered)
    }

    fn totals(&self) -> Report {
        let count = |of: &AtomicU64| of.load(Ordering::SeqCst);
        let mut report = Report::default();
        report.add("requests", count(&self.counts.accepted));
        report.add("done", count(&self.counts.done));
        report.add("failed", count(&self.counts.failed));
        report.add("lost", self.unanswered());
        report
    }

    /// What the agent has done so far.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        report.add("version", env!("CARGO_PKG_VERSION"));
        report.add("pid", std::process::id());
        report.add("uptime_s", self.begun.elapsed().as_secs());
        let living = self.sessions.iter().filter(|known| !known.session.has_ended());
        report.add("clients", living.count());
        let (used, peak) = self.hub.memory_used();
        report.add("memory_bytes", used);
        report.add("memory_bytes_peak", peak);
        report.add("memory_bytes_limit", self.settings.limits.memory);
        report.extend(&self.totals());
        for export in &self.exports {
            for (name, value) in export.agent.report().iter() {
                if self.exports.len() == 1 {
                    report.extend(&Report::of(name, value));
                } else {
                    report.add(&format!("{}.{name}", export.settings.name), value);
                }
            }
        }
        report
    }

    /// How long it has been there.
    pub(super) fn uptime(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The agents of the exports, by name.
    pub(super) fn named_agents(&self) -> impl Iterator<Item = (&str, &Arc<dyn Forwarder>)> {
        self.exports.iter().map(|export| (export.settings.name.as_str(), &export.agent))
    }

    /// What it tells of itself, and where.
    pub fn telemetry(&self) -> &settings::TelemetrySettings {
        &self.settings.telemetry
    }

    /// The agents of the exports.
    pub(super) fn agents(&self) -> impl Iterator<Item = &Arc<dyn Forwarder>> {
        self.exports.iter().map(|export| &export.agent)
    }
}

/// The directory of what outlives the agent. One that the settings name must be usable.
fn open_state(settings: &Settings) -> Result<Option<Arc<State>>, String> {
    let Some(directory) = settings.state_directory() else {
        tracing::warn!("no state directory: clients that lose this agent cannot go on");
        return Ok(None);
    };
    match State::open(&directory) {
        Ok(state) => Ok(Some(Arc::new(state))),
        Err(error) if settings.state.is_some() => {
            Err(format!("state: cannot use {}: {error}", directory.display()))
        }
        Err(error) => {
            tracing::warn!(directory = %directory.display(), %error,
                "clients that lose this agent cannot go on: set state to a directory of its own");
            Ok(None)
        }
    }
}

/// Which of several agents this one is, held against the others.
fn number(settings: &Settings, state: Option<&State>) -> Result<Option<Number>, String> {
    let AgentPlace { index, count } = settings.agent;
    let Some(state) = state.filter(|_| count > 1) else {
        let told = index.map(|_| None);
        return told.ok_or("agent.index: set it, or state: where agents agree on numbers".into());
    };
    let explain = |error: std::io::Error| format!("agent.index: cannot take a number: {error}");
    let Some(index) = index else {
        let free = state.free_number(count).map_err(explain)?;
        let none = || format!("agent.count: there are {count} agents with this state already");
        let number = free.ok_or_else(none)?;
        tracing::info!(index = number.number, count, "this is the number that was free");
        return Ok(Some(number));
    };
    let taken = state.take_number(index).map_err(explain)?;
    if taken.is_none() {
        tracing::warn!(index, "another agent with this state has the same number: they will meet");
    }
    Ok(taken)
}

/// How the engines of an agent are set up.
pub(super) fn engine_settings(settings: &Settings) -> EngineSettings {
    let scheduler = &settings.scheduler;
    EngineSettings {
        policy: scheduler.policy.clone(),
        window: scheduler.window,
        gather: scheduler.gather,
        servers: scheduler.servers,
        stripe: scheduler.stripe,
        place: settings.agent,
        layouts: LayoutSettings::default(),
        depth: scheduler.depth,
        job_variables: settings.job.variables.clone(),
        slow: settings.telemetry.slow,
        ..EngineSettings::default()
    }
}

/// How the files of its exports are laid out.
fn layouts(settings: &settings::LayoutSettings) -> Result<LayoutSettings, String> {
    let mut advice = Advice::default();
    if let Some(path) = &settings.pvfs_config {
        let explain = |what: String| format!("{}: {what}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| explain(error.to_string()))?;
        advice.pvfs = Some(Ranges::parse(&text).map_err(explain)?);
    }
    Ok(LayoutSettings {
        queues: settings.queues,
        servers: settings.servers.clone(),
        rules: settings.rules.clone(),
        advice,
        ceph_command: settings.ceph_command.clone(),
    })
}

/// What a client may do with an export.
fn rights(export: &settings::Export, peer: &Peer) -> Result<Rights, String> {
    let transport = match peer {
        Peer::Address(_) => Transport::Tcp,
        Peer::Local { .. } => Transport::Unix,
    };
    let squash = match (export.squash_over(transport), peer) {
        (settings::Squash::All, _) => Squash::All,
        // The kernel says who it is: it can claim to be nobody else.
        (_, Peer::Local { uid, gid }) if !peer.is_master() => Squash::Only(seen(*uid, *gid)?),
        (settings::Squash::Root, _) => Squash::Root,
        (settings::Squash::None, _) => Squash::None,
    };
    let anonymous = (export.anonymous_uid, export.anonymous_gid);
    Ok(Rights { read_only: export.read_only, squash, anonymous, least_id: export.least_uid })
}

/// A user of this node, with the groups that the system knows.
fn seen(uid: u32, gid: u32) -> Result<Identity, String> {
    if !Identity::can_be_assumed() {
        let own = nix::unistd::geteuid();
        return Err(format!("it is run by user {own}, and can act for no other"));
    }
    let user = nix::unistd::User::from_uid(uid.into()).ok().flatten();
    let name = user.and_then(|user| std::ffi::CString::new(user.name).ok());
    let groups =
        name.and_then(|name| nix::unistd::getgrouplist(&name, gid.into()).ok()).unwrap_or_default();
    Ok(Identity::new(uid, gid, groups.into_iter().map(|group| group.as_raw()).collect()))
}

fn wait_until(end: Instant, holds: impl Fn() -> bool) {
    while !holds() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What somebody else wrote, as it may stand in a log.
fn clean(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Threads that serve clients, at most: as many as all connections of one client can keep waiting for a
/// server that does not answer. They join one by one, where those there are held up.
const THREADS: usize = 1024;
/// Connections that one client may have.
const CONNECTIONS_MOST: usize = 4;
/// How soon a client that is silent, or that another agent waits for, is noticed.
const TENDING: Duration = Duration::from_millis(200);
/// How long an agent that stops waits for the last answers.
const ANSWERS: Duration = Duration::from_secs(60);
