//! The agent is gone: look for it, or for the next one, tell it what the client had, and send again
//! what was not answered. Applications wait meanwhile, up to a bound.

mod restore;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use iofwd_mount::Errno;

use crate::wire::greeting::Purpose;

use super::Client;
use super::connect::{ConnectError, Gathered};

/// Rung when a connection is gone.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Which connections are gone, and why.
    gone: Option<(u64, String)>,
    /// The client has ended.
    is_over: bool,
}

impl Alarm {
    /// A connection of that generation is gone.
    pub(super) fn ring(&self, generation: u64, reason: &str) {
        let mut state = self.state();
        if state.gone.as_ref().is_none_or(|gone| gone.0 < generation) {
            state.gone = Some((generation, reason.into()));
        }
        self.rung.notify_all();
    }

    /// There is nothing to be looked after any more.
    pub(super) fn end(&self) {
        self.state().is_over = true;
        self.rung.notify_all();
    }

    /// Until a connection is gone; `None` if the client has ended.
    fn wait(&self) -> Option<(u64, String)> {
        let mut state = self.state();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(gone) = state.gone.take() {
                return Some(gone);
            }
            state = self.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Rest for so long; whether the client goes on.
    fn rest(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.state();
        while !state.is_over {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.rung.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        !state.is_over
    }

    fn is_over(&self) -> bool {
        self.state().is_over
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Look after the client's connections for as long as it exists.
pub(super) fn start(client: &Arc<Client>) -> std::io::Result<()> {
    let (alarm, client) = (Arc::clone(&client.alarm), Arc::downgrade(client));
    thread::Builder::new().name("iofwd-resume".into()).spawn(move || guard(&alarm, &client))?;
    Ok(())
}

fn guard(alarm: &Alarm, client: &Weak<Client>) {
    while let Some((generation, reason)) = alarm.wait() {
        let Some(client) = client.upgrade() else { return };
        // Others of the same time are gone already.
        if generation == client.presence.generation() {
            client.resume(&reason);
        }
    }
}

impl Client {
    /// Until there is an agent again, or the client ends.
    fn resume(&self, reason: &str) {
        if self.alarm.is_over() {
            return;
        }
        let agent = self.agent();
        self.presence.lose(reason);
        self.close_links("another connection is gone");
        if self.presence.grace().is_zero() {
            tracing::error!(%agent, reason, "lost the agent, which cannot resume");
            self.presence.give_up();
            self.answer_all();
            return;
        }
        tracing::warn!(%agent, reason, "lost the agent; looking for it");
        let begun = Instant::now();
        let mut pause = PAUSE_LEAST;
        let mut last = String::new();
        loop {
            match self.try_agents(begun.elapsed()) {
                Ok(agent) => {
                    let after_ms = begun.elapsed().as_millis() as u64;
                    return tracing::warn!(agent, after_ms, "there is an agent again; going on");
                }
                Err(why) if why != last => {
                    tracing::warn!(why, "no agent yet");
                    last = why;
                }
                Err(_) => {}
            }
            if begun.elapsed() >= self.how.loss_bound && !self.presence.is_given_up() {
                let seconds = self.how.loss_bound.as_secs();
                tracing::error!(seconds, "no agent for too long: calls fail until there is one");
                self.presence.give_up();
            }
            if self.presence.is_given_up() {
                self.answer_all();
            }
            // Not all clients of an agent at the same moment.
            let jitter = pause / 4 * u32::from(jitter() % 4) / 4;
            let left = self.how.loss_bound.saturating_sub(begun.elapsed());
            let rest = if left.is_zero() { pause } else { pause.min(left) };
            if !self.alarm.rest(rest + jitter) {
                return;
            }
            pause = (pause * 2).min(PAUSE_MOST);
        }
    }

    /// Each agent once, from the one that was lost on; the name of the one that is there.
    fn try_agents(&self, lost_for: Duration) -> Result<String, String> {
        let agents = &self.how.source.agents;
        let resume = self.how.resume(self.presence.token());
        let (mut unknown, mut why) = (Vec::new(), String::new());
        for step in 0..agents.len() {
            let at = (self.presence.at() + step) % agents.len();
            match self.try_agent(at, &resume, false) {
                Ok(true) => return Ok(agents[at].to_string()),
                Ok(false) => unknown.push(at),
                Err(error) => why = error,
            }
            if self.alarm.is_over() {
                return Err("the client ends".into());
            }
        }
        // Nobody knows the client, and nobody will: it begins anew with what it has vouchers for.
        let nobody = self.how.begins_anew
            && (unknown.len() == agents.len() || lost_for > self.presence.grace());
        match unknown.first() {
            Some(at) if nobody => match self.try_agent(*at, &self.how.mount(), true) {
                Ok(_) => Ok(agents[*at].to_string()),
                Err(error) => Err(error),
            },
            Some(at) => {
                // Nor will anybody ever: whoever asks finds out what to do without waiting.
                if !self.how.begins_anew && unknown.len() == agents.len() {
                    self.presence.give_up();
                }
                Err(format!("the agent at {} does not know this client", agents[*at]))
            }
            None => Err(why),
        }
    }

    /// Whether the agent knows the client; then everything goes on.
    fn try_agent(&self, at: usize, purpose: &Purpose, is_new: bool) -> Result<bool, String> {
        let agent = &self.how.source.agents[at];
        let gathered = self.gather(agent, purpose);
        match gathered.map_err(|error: ConnectError| error.to_string())? {
            Gathered::Unknown => Ok(false),
            Gathered::Welcome(welcome, sockets) => {
                self.restore(&welcome, sockets, is_new)
                    .map_err(|error| format!("the agent at {agent} was lost again: {error}"))?;
                self.presence.find(at, &welcome);
                Ok(true)
            }
        }
    }

    pub(super) fn close_links(&self, reason: &str) {
        let links = self.connections.iter().filter_map(|connection| connection.link());
        links.for_each(|link| link.close(reason));
    }

    /// Nobody will answer what is under way.
    pub(super) fn answer_all(&self) {
        for (file, bytes) in self.unacknowledged() {
            tracing::error!(file, bytes, "not written");
            self.presence.not_written(file, bytes);
        }
        let count: usize =
            self.connections.iter().map(|one| one.give_up(Errno::EIO, |_| true)).sum();
        if count > 0 {
            tracing::error!(calls = count, "calls failed because there is no agent");
        }
    }
}

fn jitter() -> u8 {
    let mut byte = [0];
    let _ = getrandom::fill(&mut byte);
    byte[0]
}

/// Between two attempts, at first
const PAUSE_LEAST: Duration = Duration::from_millis(20);
/// and at last.
const PAUSE_MOST: Duration = Duration::from_secs(2);
