//! The other side of a mount whose agent is elsewhere: every operation of the mount's `Store` becomes
//! a call over the wire.
//!
//! No thread of the mount waits for the network: a call leaves at once, or when the agent has
//! granted room for it, and its answer goes to the kernel from the thread that read it.

mod acting;
mod callers;
mod connect;
mod connection;
mod demand;
mod holdings;
mod pending;
mod places;
mod presence;
mod reach;
mod resume;
mod room;
mod shares;
mod source;
mod spread;
mod stalled;
mod store;
mod watch;
mod whereabouts;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use iofwd_mount::caller::RequestKey;
use iofwd_mount::{Caller, Errno};

use crate::budget::Budget;
use crate::control;
use crate::link::Hub;
use crate::report::Report;
use crate::wire::answer::Value;
use crate::wire::call::{Call, Once};
use crate::wire::stripe::FileCall;

use acting::Acting;
use callers::{Callers, Who};
use connection::Connection;
use holdings::Holdings;
use pending::{Answered, Ask, Asker, Then};
use places::Places;
use presence::Presence;
use resume::Alarm;
use shares::Shares;
use whereabouts::{Bytes, Whereabouts};

pub use connect::{ConnectError, How, control};
pub(crate) use demand::Demanded;
pub use shares::Share;
pub use source::{Address, Source};
pub use spread::Spread;

/// A client of an agent.
#[derive(Debug)]
pub struct Client {
    how: Arc<How>,
    connections: Vec<Arc<Connection>>,
    callers: Callers,
    next: AtomicU64,
    /// For the bytes of writes that wait until the agent has room for them.
    budget: Arc<Budget>,
    hub: Arc<Hub>,
    whereabouts: Arc<Whereabouts>,
    holdings: Arc<Holdings>,
    places: Arc<Places>,
    presence: Presence,
    alarm: Arc<Alarm>,
    /// Other agents that reads and writes go to.
    shares: OnceLock<Arc<Shares>>,
    /// Connects, and carries what is encrypted; one that acts for somebody else has none of its own.
    runtime: Option<tokio::runtime::Runtime>,
    /// Whom it acts for, if not for itself.
    acting: Option<Acting>,
}

impl Client {
    /// Ask the agent something on behalf of a caller. `then` gets the answer, on some thread.
    fn ask(&self, caller: &Caller, ask: Ask<'_>, then: impl FnOnce(Answered) + Send + 'static) {
        let who = self.callers.of(caller);
        self.ask_in_company(&who, (caller.request, caller.pid), ask, Box::new(then));
    }

    /// Ask what nobody waits for who is asked for by this thread: it may wait for others.
    fn ask_in_company(&self, who: &Arc<Who>, asker: (RequestKey, u32), ask: Ask<'_>, then: Then) {
        self.ask_soon(who, asker, ask, then, true);
    }

    fn ask_as(&self, who: &Arc<Who>, asker: (RequestKey, u32), ask: Ask<'_>, then: Then) {
        self.ask_soon(who, asker, ask, then, false);
    }

    fn ask_soon(
        &self,
        who: &Arc<Who>,
        (key, thread): (RequestKey, u32),
        ask: Ask<'_>,
        mut then: Then,
        may_wait: bool,
    ) {
        if self.presence.is_given_up() {
            return then(Err(NO_AGENT));
        }
        let mut once = None;
        let mut id = None;
        if let Some(acting) = &self.acting {
            (id, once) = acting.ticket(key, &ask.call).unzip();
        } else if must_be_once(&ask.call) && !self.presence.grace().is_zero() {
            let Some(place) = self.places.take() else {
                return then(Err(Errno::from_raw(libc::ENOBUFS)));
            };
            once = Some(Once { place: place.number, again: false });
            then = Box::new(move |answered| {
                drop(place);
                then(answered);
            });
        }
        let id = id.unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed));
        let asker = Asker { id, key, thread, who, once, may_wait };
        let questions = self.connection().ask(&asker, ask, &self.budget, then);
        questions.into_iter().for_each(|bytes| self.ask_where(bytes));
    }

    /// Ask where a file is, and let those go that wait for others than they have to.
    fn ask_where(&self, Bytes { node, handle, .. }: Bytes) {
        let call = Call::Ioctl { handle, command: control::LAYOUT, room: control::ANSWER as u32 };
        let ask = Ask { call, payload: &[0; 8], room: control::ANSWER };
        let whereabouts = Arc::clone(&self.whereabouts);
        let connections: Vec<_> = self.connections.iter().map(Arc::downgrade).collect();
        let then = move |answered: Answered| {
            match answered {
                Ok((_, text)) => whereabouts.learn(node, &text),
                Err(_) => whereabouts.forget(node),
            }
            connections.iter().filter_map(Weak::upgrade).for_each(|connection| connection.sort());
        };
        self.ask_as(&Who::client(), NOBODY, ask, Box::new(then));
    }

    /// The first connection that has little to do: small calls that go the same way are read and
    /// answered together. If all have much to do, the one with the least.
    fn connection(&self) -> &Arc<Connection> {
        let little = self.connections.iter().find(|connection| connection.load() < LITTLE);
        let least = || self.connections.iter().min_by_key(|connection| connection.load());
        little.or_else(least).expect("a client has connections")
    }

    /// Ask the agent, as the client itself, and wait for the answer.
    fn ask_and_wait(&self, call: Call<'_>, room: usize) -> Result<(Value, Vec<u8>), Errno> {
        let (sender, receiver) = mpsc::channel();
        let ask = Ask { call, payload: &[], room };
        let then = move |answered: Answered| {
            let _ = sender.send(answered.map(|(value, bytes)| (value, bytes.to_vec())));
        };
        self.ask_as(&Who::client(), NOBODY, ask, Box::new(then));
        receiver.recv_timeout(PATIENCE).unwrap_or(Err(Errno::from_raw(libc::ETIMEDOUT)))
    }

    fn told(&self, command: u32) -> Result<Report, Errno> {
        let (_, text) = self.ask_and_wait(Call::Control { command }, control::ANSWER)?;
        let mut report = self.own();
        report.extend(&Report::from_text(&String::from_utf8_lossy(&text)));
        Ok(report)
    }

    /// What only this side knows.
    fn own(&self) -> Report {
        let mut report = Report::default();
        report.add("version", env!("CARGO_PKG_VERSION"));
        report.add("pid", std::process::id());
        report.add("agent", self.agent());
        report.add("agents", &self.how.source);
        if let Some(shares) = self.shares.get() {
            report.add("spread", shares.describe());
        }
        report.add("resumed", self.presence.resumed());
        if let Some((since, reason)) = self.presence.lost() {
            report.add("lost_for_s", since.elapsed().as_secs());
            report.add("lost_because", reason);
        }
        report.add("connections", self.connections.len());
        report.add("calls", self.next.load(Ordering::Relaxed));
        if let Some(oldest) = self.oldest() {
            report.add("oldest_call", format!("{} {}", oldest.call, oldest.path).trim());
            report.add("oldest_call_ms", oldest.waiting.as_millis());
        }
        let waiting: usize = self.connections.iter().map(|connection| connection.waiting()).sum();
        report.add("calls_waiting_for_room", waiting);
        report
    }

    /// The agent that is there, or was.
    fn agent(&self) -> &Address {
        &self.how.source.agents[self.presence.at()]
    }

    /// Say that nothing more will be asked: what the client held is free at once.
    pub fn leave(&self) {
        self.others().for_each(|other| other.leave());
        self.alarm.end();
        if self.presence.lost().is_none() {
            let (sender, receiver) = mpsc::channel();
            let then = move |answered: Answered| {
                let _ = sender.send(answered.map(drop));
            };
            self.ask_as(&Who::client(), NOBODY, Ask::of(Call::Leave), Box::new(then));
            // An agent that does not answer finds out by itself.
            let _ = receiver.recv_timeout(FAREWELL);
        }
    }

    /// How long the agent takes to answer a call that does nothing.
    pub fn ping(&self) -> Result<Duration, Errno> {
        let begun = Instant::now();
        self.ask_and_wait(Call::Ping, 0)?;
        Ok(begun.elapsed())
    }

    /// Make everything durable that was written by now.
    pub fn settle(&self) -> Result<(), Errno> {
        self.others().try_for_each(|other| other.settle())?;
        self.told(control::FLUSH).map(drop)
    }

    /// Files with bytes that were written and that no agent has acknowledged, or never will.
    pub fn not_written(&self) -> Vec<String> {
        let mut files = self.presence.all_not_written();
        files.extend(self.unacknowledged());
        for other in self.others() {
            files.extend(other.presence.all_not_written());
            files.extend(other.unacknowledged());
        }
        files.into_iter().map(|(file, bytes)| format!("{file} ({bytes} bytes)")).collect()
    }

    /// What the agent has done so far.
    pub fn report(&self) -> Result<Report, Errno> {
        self.told(control::STATUS)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.alarm.end();
        match self.acting {
            Some(_) => self.close_links("the client has ended"),
            None => self.hub.stop("the client has ended"),
        }
    }
}

/// Whether a call changes something every time it is done.
#[expect(clippy::wildcard_enum_match_arm, reason = "most calls do not")]
fn must_be_once(call: &Call<'_>) -> bool {
    match call {
        Call::Mknod { .. }
        | Call::Mkdir { .. }
        | Call::Symlink { .. }
        | Call::Link { .. }
        | Call::Create { .. }
        | Call::Unlink { .. }
        | Call::Rmdir { .. }
        | Call::Rename { .. }
        | Call::Fallocate { .. }
        | Call::Removexattr { .. } => true,
        Call::Write(at) => at.append,
        Call::Setattr { changes, .. } => changes.size.is_some(),
        Call::File(call) => {
            matches!(call, FileCall::Wrote { append: true, .. } | FileCall::Truncate { .. })
        }
        Call::Setxattr { flags, .. } => *flags != 0,
        _ => false,
    }
}

/// Calls under way that cost less leave a connection room for more.
const LITTLE: usize = 64 << 10;
/// What a call gets that nobody will answer. Not `ENOTCONN`, by which dead mounts are known.
const NO_AGENT: Errno = Errno::EIO;
/// The client itself asks.
const NOBODY: (RequestKey, u32) = (RequestKey(0), 0);
/// How long the agent may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long making everything durable may take.
const PATIENCE: Duration = Duration::from_secs(600);
