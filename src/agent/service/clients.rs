//! Clients come, go, come back, and are given up.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use iofwd_mount::store::NodeId;

use crate::agent::export::Export;
use crate::agent::session::{Session, Terms};
use crate::agent::state::{Record, State, name_of};
use crate::agent::{AgentId, Forwarder, Visit};
use crate::wire::greeting::{Bytes32, Welcome};

use super::{CONNECTIONS_MOST, Known, Peer, Service, clean, rights};

/// What a client wants to use, and who it says it is.
#[derive(Clone, Copy, Debug)]
pub(in crate::agent) struct Wanted<'a> {
    pub(in crate::agent) export: &'a str,
    pub(in crate::agent) subtree: &'a [u8],
    pub(in crate::agent) client: &'a str,
}

/// A session, and what the client is told of it.
type Admitted = (Arc<Session>, Welcome);
/// What a client is served from, and what it calls its root.
type Place = (Arc<dyn Forwarder>, NodeId);

/// Where a client is let in.
enum Received {
    Here(Place),
    /// Where it is known by this.
    Elsewhere(Place, Bytes32),
    Unknown,
}

impl Service {
    /// A client that wants to use an export: a session for it, or why not.
    pub(in crate::agent) fn admit(
        &self,
        peer: &Peer,
        wanted: &Wanted<'_>,
    ) -> Result<Admitted, String> {
        let export = self.export(peer, wanted.export)?;
        let (place, token) = match self.receive(export, wanted, None, None)? {
            Received::Here(place) => (place, new_token()?),
            Received::Elsewhere(place, token) => (place, token),
            Received::Unknown => return Err("what is behind it does not let anybody in".into()),
        };
        let begin = |state: &Arc<State>| Ok((state.begin(&token)?, Arc::clone(state)));
        let record = self.state.as_ref().map(begin).transpose();
        // Not the client's fault; it is served as well as can be.
        let record = record.unwrap_or_else(|error: std::io::Error| {
            tracing::error!(%error, "a client will not be able to come back");
            None
        });
        hand_over(export, record.as_ref())?;
        self.open(peer, (export, wanted), place, token, record)
    }

    /// A client that was here, or at another agent, before. `None` if it is not known.
    pub(in crate::agent) fn resume(
        &self,
        peer: &Peer,
        token: &Bytes32,
        wanted: &Wanted<'_>,
    ) -> Result<Option<Admitted>, String> {
        let known = self.sessions.iter().find(|known| known.token == *token);
        let here = known.map(|known| (*known.key(), Arc::clone(&known.session)));
        if let Some((id, session)) = here
            && !session.has_ended()
        {
            session.come_back(PATIENCE)?;
            if let Some(mut known) = self.sessions.get_mut(&id) {
                known.connections = 1;
            }
            let welcome = self.welcome(&session, *token);
            return Ok(Some((session, welcome)));
        }
        let Some(state) = &self.state else { return Ok(None) };
        let taken = state.take_over(token, PATIENCE).map_err(|error| {
            format!("another agent, which serves this client, does not let it go: {error}")
        })?;
        let Some(record) = taken else { return Ok(None) };
        let record = Some((record, Arc::clone(state)));
        let export = self.export(peer, wanted.export)?;
        let before = hand_over(export, record.as_ref())?;
        match self.receive(export, wanted, Some(*token), before)? {
            Received::Here(place) | Received::Elsewhere(place, _) => {
                self.open(peer, (export, wanted), place, *token, record).map(Some)
            }
            Received::Unknown => Ok(None),
        }
    }

    /// Where a client is served: here, or by way of whoever keeps what it holds.
    fn receive(
        &self,
        export: &Export,
        wanted: &Wanted<'_>,
        token: Option<Bytes32>,
        before: Option<AgentId>,
    ) -> Result<Received, String> {
        let Some(gate) = export.agent.gate() else {
            let root = self.root(export, wanted.subtree)?;
            return Ok(Received::Here((Arc::clone(&export.agent), root)));
        };
        let subtree = self.subtree(export, wanted.subtree)?;
        let subtree =
            std::str::from_utf8(subtree).map_err(|_| "the directory's name is no text")?;
        let visit = Visit { client: wanted.client, subtree, token, before };
        Ok(match gate.receive(&visit)? {
            Some(received) => Received::Elsewhere((received.store, NodeId::ROOT), received.token),
            None => Received::Unknown,
        })
    }

    fn open(
        &self,
        peer: &Peer,
        (export, wanted): (&Export, &Wanted<'_>),
        (agent, root): Place,
        token: Bytes32,
        record: Option<(Record, Arc<State>)>,
    ) -> Result<Admitted, String> {
        self.sessions.retain(|_, known| !known.session.has_ended());
        if self.sessions.len() >= self.settings.limits.clients as usize {
            return Err(format!(
                "it has {} clients already, as many as limits.clients allows",
                self.sessions.len()
            ));
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed) & ((1 << 24) - 1);
        let terms = Terms {
            id,
            client: format!("{} at {peer}", clean(wanted.client)),
            agent,
            root,
            rights: rights(&export.settings, peer)?,
            record,
        };
        let session = Session::new(terms, Arc::clone(&self.counts));
        let known = Known { session: Arc::clone(&session), token, connections: 1 };
        self.sessions.insert(id, known);
        let welcome = self.welcome(&session, token);
        Ok((session, welcome))
    }

    /// One more connection of a client that is there.
    pub(in crate::agent) fn join(&self, id: u64, token: &Bytes32) -> Result<Admitted, String> {
        let mut known = self.sessions.get_mut(&id).ok_or("there is no such client")?;
        // Where tokens could be guessed there is a key, and it was proven before.
        if known.token != *token || known.session.has_ended() {
            return Err("there is no such client".into());
        }
        if known.connections >= CONNECTIONS_MOST {
            return Err(format!("a client may have {CONNECTIONS_MOST} connections"));
        }
        known.connections += 1;
        Ok((Arc::clone(&known.session), self.welcome(&known.session, *token)))
    }

    fn welcome(&self, session: &Session, token: Bytes32) -> Welcome {
        let milliseconds = |time: Duration| time.as_millis() as u32;
        let limits = &self.settings.limits;
        let grace = if session.can_return() { limits.grace } else { Duration::ZERO };
        Welcome {
            session: session.id(),
            token,
            grant: self.grant() as u32,
            idle_ms: milliseconds(limits.idle),
            grace_ms: milliseconds(grace),
        }
    }

    /// Give up clients that are silent, or gone for too long; let those go that another agent waits
    /// for.
    pub fn tend(&self) {
        let limits = &self.settings.limits;
        self.hub.reap(limits.idle);
        self.sessions.retain(|_, known| !known.session.end_if_alone(limits.grace));
        let Some(state) = &self.state else { return };
        for name in state.wanted() {
            let of = |known: &Known| name_of(&known.token) == name;
            let found = self.sessions.iter().find(|known| of(known)).map(|known| *known.key());
            if let Some((_, known)) = found.and_then(|id| self.sessions.remove(&id)) {
                known.session.let_go();
            }
        }
        let mut orphans = self.orphans.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now.duration_since(orphans.0) >= limits.grace / 4 {
            orphans.0 = now;
            let count = orphans.1.sweep(state, now, limits.grace);
            for agent in self.agents().filter_map(|agent| agent.local()) {
                agent.sweep_hidden(&mut orphans.2, now, limits.grace);
            }
            if count > 0 {
                tracing::info!(
                    count,
                    "gave up clients whose agent died and that did not come back"
                );
            }
        }
    }
}

/// From now on this agent acts for the client, if it does so elsewhere; who did before, and died.
fn hand_over(
    export: &Export,
    record: Option<&(Record, Arc<State>)>,
) -> Result<Option<AgentId>, String> {
    let (Some(gate), Some((record, _))) = (export.agent.gate(), record) else { return Ok(None) };
    record.hand_over(gate.agent()).map_err(|error| format!("it cannot write to its state: {error}"))
}

fn new_token() -> Result<Bytes32, String> {
    let mut token = [0; 32];
    getrandom::fill(&mut token).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(token)
}

/// How long a client that comes back waits for what it asked before, or for another agent.
const PATIENCE: Duration = Duration::from_secs(6);
