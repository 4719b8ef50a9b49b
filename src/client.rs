//! The other side of a mount whose agent is elsewhere: every operation of the mount's `Store` becomes
//! a call over the wire.
//!
//! No thread of the mount waits for the network: a call leaves at once, or when the agent has
//! granted room for it, and its answer goes to the kernel from the thread that read it.

mod callers;
mod connect;
mod connection;
mod demand;
mod pending;
mod reach;
mod source;
mod store;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use iofwd_mount::caller::RequestKey;
use iofwd_mount::{Caller, Errno};

use crate::budget::Budget;
use crate::control;
use crate::link::Hub;
use crate::report::Report;
use crate::wire::answer::Value;
use crate::wire::call::Call;

use callers::{Callers, Who};
use connection::Connection;
use pending::{Answered, Ask};

pub use connect::{ConnectError, How, control};
pub(crate) use demand::Demanded;
pub use source::{Address, Source};

/// A client of an agent.
#[derive(Debug)]
pub struct Client {
    source: Source,
    connections: Vec<Arc<Connection>>,
    callers: Callers,
    next: AtomicU64,
    /// For the bytes of writes that wait until the agent has room for them.
    budget: Arc<Budget>,
    hub: Arc<Hub>,
    /// Carries what is encrypted.
    _runtime: Option<tokio::runtime::Runtime>,
}

impl Client {
    /// Ask the agent something on behalf of a caller. `then` gets the answer, on some thread.
    fn ask(&self, caller: &Caller, ask: Ask<'_>, then: impl FnOnce(Answered) + Send + 'static) {
        let who = self.callers.of(caller);
        self.ask_as(&who, caller.request, ask, Box::new(then));
    }

    fn ask_as(
        &self,
        who: &Arc<Who>,
        key: RequestKey,
        ask: Ask<'_>,
        then: Box<dyn FnOnce(Answered) + Send>,
    ) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = self.connection();
        connection.ask(id, key, who, ask, &self.budget, then);
    }

    /// The connection with the least to do; the first of equals, so that it stays warm.
    fn connection(&self) -> &Arc<Connection> {
        let least = self.connections.iter().min_by_key(|connection| connection.load());
        least.expect("a client has connections")
    }

    /// Ask the agent, as the client itself, and wait for the answer.
    fn ask_and_wait(&self, call: Call<'_>, room: usize) -> Result<(Value, Vec<u8>), Errno> {
        let (sender, receiver) = mpsc::channel();
        let ask = Ask { call, payload: &[], room };
        let then = move |answered: Answered| {
            let _ = sender.send(answered.map(|(value, bytes)| (value, bytes.to_vec())));
        };
        self.ask_as(&Who::client(), RequestKey(0), ask, Box::new(then));
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
        report.add("agent", &self.source);
        report.add("connections", self.connections.len());
        report.add("calls", self.next.load(Ordering::Relaxed));
        let waiting: usize = self.connections.iter().map(|connection| connection.waiting()).sum();
        report.add("calls_waiting_for_room", waiting);
        report
    }

    /// How long the agent takes to answer a call that does nothing.
    pub fn ping(&self) -> Result<Duration, Errno> {
        let begun = Instant::now();
        self.ask_and_wait(Call::Ping, 0)?;
        Ok(begun.elapsed())
    }

    /// Make everything durable that was written by now.
    pub fn settle(&self) -> Result<(), Errno> {
        self.told(control::FLUSH).map(drop)
    }

    /// What the agent has done so far.
    pub fn report(&self) -> Result<Report, Errno> {
        self.told(control::STATUS)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.hub.stop("the client has ended");
    }
}

/// How long making everything durable may take.
const PATIENCE: Duration = Duration::from_secs(600);
