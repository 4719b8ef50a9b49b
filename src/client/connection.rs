//! One connection to the agent: calls that were sent, those that wait for room, and who the agent
//! was told of.

use std::collections::{HashMap, VecDeque};
use std::io::IoSlice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use iofwd_mount::Errno;
use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::NodeId;

use crate::budget::Budget;
use crate::link::{Frame, Handler, Link, Outgoing};
use crate::wire::answer::Answer;
use crate::wire::call::{Call, Request};
use crate::wire::frame::{self, PREFIX, Prefix};

use super::callers::Who;
use super::pending::{Ask, Pending, Then, Waiting};

/// A connection to the agent.
#[derive(Debug)]
pub(super) struct Connection {
    link: OnceLock<Arc<Link>>,
    /// The cost of calls that may be under way.
    grant: usize,
    load: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: usize,
    pending: HashMap<u64, Pending>,
    waiting: VecDeque<Waiting>,
    slots: HashMap<Arc<Who>, u32>,
    next_slot: u32,
    is_gone: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (pending, waiting) = (self.pending.len(), self.waiting.len());
        f.debug_struct("State").field("pending", &pending).field("waiting", &waiting).finish()
    }
}

impl Connection {
    pub(super) fn new(grant: usize) -> Arc<Connection> {
        let (link, load) = (OnceLock::new(), AtomicUsize::new(0));
        Arc::new(Connection { link, grant, load, state: Mutex::default() })
    }

    /// What carries it.
    pub(super) fn carry(&self, link: Arc<Link>) {
        let _ = self.link.set(link);
    }

    pub(super) fn link(&self) -> Option<&Arc<Link>> {
        self.link.get()
    }

    /// How much there is to do.
    pub(super) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// How many calls wait for room.
    pub(super) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// How long the oldest call has been waiting for its answer.
    pub(super) fn oldest(&self) -> Option<Duration> {
        self.state().pending.values().map(|pending| pending.since.elapsed()).max()
    }

    /// Send a call, or keep it until there is room.
    pub(super) fn ask(
        &self,
        id: u64,
        key: RequestKey,
        who: &Arc<Who>,
        ask: Ask<'_>,
        budget: &Arc<Budget>,
        then: Then,
    ) {
        let Some(link) = self.link.get() else { return then(Err(NOT_CONNECTED)) };
        let mut state = self.state();
        if state.is_gone {
            drop(state);
            return then(Err(NOT_CONNECTED));
        }
        let slot = state.slot(link, who);
        let head =
            frame::encode(&Request { id, slot, call: ask.call }, ask.payload.len(), ask.room);
        let sizes = (head.len() - PREFIX, ask.payload.len(), ask.room);
        let prefix = Prefix { head: sizes.0, payload: sizes.1, room: sizes.2, in_order: false };
        let cost = prefix.cost();
        let pending = Pending { key, cost, since: Instant::now(), then };
        self.load.fetch_add(cost, Ordering::Relaxed);
        if state.has_room(cost, self.grant) {
            state.used += cost;
            state.pending.insert(id, pending);
            drop(state);
            let payload = [IoSlice::new(ask.payload)];
            return link.send(Outgoing { head: &head, payload: &payload, share: None });
        }
        drop(state);
        let _share = budget.wait_for(ask.payload.len());
        let waiting = Waiting { id, head, payload: ask.payload.to_vec(), pending, _share };
        self.state().waiting.push_back(waiting);
        // There may be room by now, and nothing else to notice it.
        self.send_waiting(link);
    }

    /// The kernel gives up references; nobody waits for that.
    pub(super) fn forget(&self, node: NodeId, references: u64) {
        let Some(link) = self.link.get() else { return };
        let call = Call::Forget { node, references };
        link.send_unhurried(&frame::encode(&Request { id: 0, slot: 0, call }, 0, 0));
    }

    /// Give up a call of that name: whether there was one.
    pub(super) fn cancel(&self, key: RequestKey) -> bool {
        let Some(link) = self.link.get() else { return false };
        let mut state = self.state();
        if let Some(at) = state.waiting.iter().position(|waiting| waiting.pending.key == key) {
            let waiting = state.waiting.remove(at);
            drop(state);
            if let Some(Waiting { pending, .. }) = waiting {
                self.load.fetch_sub(pending.cost, Ordering::Relaxed);
                (pending.then)(Err(Errno::EINTR));
            }
            return true;
        }
        let found = state.pending.iter().find(|(_, pending)| pending.key == key).map(|(id, _)| *id);
        drop(state);
        if let Some(id) = found {
            let call = Call::Cancel { id };
            let head = frame::encode(&Request { id: 0, slot: 0, call }, 0, 0);
            link.send(Outgoing { head: &head, payload: &[], share: None });
        }
        found.is_some()
    }

    fn send_waiting(&self, link: &Arc<Link>) {
        loop {
            let mut state = self.state();
            let Some(cost) = state.waiting.front().map(|waiting| waiting.pending.cost) else {
                return;
            };
            if !state.can_take(cost, self.grant) {
                return;
            }
            let Some(Waiting { id, head, payload, pending, .. }) = state.waiting.pop_front() else {
                return;
            };
            state.used += cost;
            state.pending.insert(id, pending);
            drop(state);
            let payload = [IoSlice::new(&payload)];
            link.send(Outgoing { head: &head, payload: &payload, share: None });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a call may go at once; those that wait go first.
    fn has_room(&self, cost: usize, grant: usize) -> bool {
        self.waiting.is_empty() && self.can_take(cost, grant)
    }

    fn can_take(&self, cost: usize, grant: usize) -> bool {
        self.used == 0 || self.used + cost <= grant
    }

    /// The number by which the agent knows somebody on this connection; it is told now if need be.
    fn slot(&mut self, link: &Arc<Link>, who: &Arc<Who>) -> u32 {
        if let Some(slot) = self.slots.get(who) {
            return *slot;
        }
        // A number is used again only when every call that meant its last owner is long done.
        if self.slots.len() >= SLOTS_REMEMBERED {
            self.slots.clear();
        }
        let slot = self.next_slot;
        self.next_slot = (slot + 1) % SLOTS;
        let call = Call::Introduce { slot, uid: who.uid, gid: who.gid, job: who.job };
        let groups: Vec<u8> = who.groups.iter().flat_map(|group| group.to_le_bytes()).collect();
        let head = frame::encode_in_order(&Request { id: 0, slot: 0, call }, groups.len());
        // Before anybody else can name the slot.
        link.send(Outgoing { head: &head, payload: &[IoSlice::new(&groups)], share: None });
        self.slots.insert(Arc::clone(who), slot);
        slot
    }
}

/// A connection as the link knows it.
pub(super) struct Receiver(pub(super) Arc<Connection>);

impl Handler for Receiver {
    fn frame(&self, link: &Arc<Link>, frame: Frame) {
        let answer: Answer = match frame::decode(&frame.head) {
            Ok(answer) => answer,
            Err(malformed) => return link.close(malformed.0),
        };
        let pending = {
            let mut state = self.0.state();
            let pending = state.pending.remove(&answer.id);
            state.used -= pending.as_ref().map_or(0, |pending| pending.cost);
            pending
        };
        let Some(pending) = pending else {
            return link.close("the agent answered a call that was not made");
        };
        self.0.load.fetch_sub(pending.cost, Ordering::Relaxed);
        self.0.send_waiting(link);
        let result = answer.result.map_err(Errno::from_raw);
        (pending.then)(result.map(|value| (value, frame.payload)));
    }

    fn closed(&self, _link: &Arc<Link>, reason: &str) {
        let mut state = self.0.state();
        state.is_gone = true;
        let pending: Vec<Pending> = state.pending.drain().map(|(_, pending)| pending).collect();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        tracing::error!(reason, calls = pending.len() + waiting.len(), "lost the agent");
        let all = pending.into_iter().chain(waiting.into_iter().map(|waiting| waiting.pending));
        all.for_each(|pending| (pending.then)(Err(NOT_CONNECTED)));
    }
}

/// What a call gets that nobody will answer. Not `ENOTCONN`, by which dead mounts are known.
const NOT_CONNECTED: Errno = Errno::EIO;
/// The agent keeps so many users of a connection;
const SLOTS: u32 = 1 << 16;
/// of these we remember which number they have.
const SLOTS_REMEMBERED: usize = 1 << 15;
