//! One connection to the agent: calls that were sent, those that wait for room, and who the agent
//! was told of. What carries it can be lost and replaced; calls stay until they are answered.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::IoSlice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iofwd_mount::Errno;
use iofwd_mount::caller::RequestKey;
use iofwd_mount::company;
use iofwd_mount::store::NodeId;

use crate::budget::Budget;
use crate::link::{Frame, Handler, Hub, Link, Outgoing};
use crate::wire::answer::{Answer, Value};
use crate::wire::call::{Call, Request};
use crate::wire::frame::{self, PREFIX, Prefix};

use super::callers::Who;
use super::pending::{self, Ask, Asker, Payload, Pending, Then};
use super::resume::Alarm;
use super::room::{Place, Purpose, Room};
use super::whereabouts::{Bytes, Whereabouts};

/// A connection to the agent.
#[derive(Debug)]
pub(super) struct Connection {
    load: AtomicUsize,
    state: Mutex<State>,
    /// Rung when what carries it is gone.
    alarm: Arc<Alarm>,
    hub: Arc<Hub>,
    whereabouts: Arc<Whereabouts>,
}

#[derive(Default)]
struct State {
    link: Option<Arc<Link>>,
    /// For calls that are under way, and those that wait until they can be.
    room: Room<(u64, Pending)>,
    pending: BTreeMap<u64, Pending>,
    slots: HashMap<Arc<Who>, u32>,
    next_slot: u32,
    /// Numbers that mean what they meant, on what carries it now.
    introduced: HashSet<u32>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (pending, waiting) = (self.pending.len(), self.room.waiting());
        f.debug_struct("State").field("pending", &pending).field("waiting", &waiting).finish()
    }
}

impl Connection {
    /// Not carried by anything yet.
    pub(super) fn new(
        alarm: Arc<Alarm>,
        hub: Arc<Hub>,
        whereabouts: Arc<Whereabouts>,
    ) -> Arc<Connection> {
        let (load, state) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Connection { load, state, alarm, hub, whereabouts })
    }

    /// It is carried by this from now on. What was not answered is sent again.
    pub(super) fn carry(&self, link: Arc<Link>, grant: usize) {
        let mut state = self.state();
        state.link = Some(Arc::clone(&link));
        state.room.set_grant(grant);
        state.slots.clear();
        state.introduced.clear();
        let State { pending, introduced, .. } = &mut *state;
        for pending in pending.values() {
            // Not twice: what was asked under the number before would lose its meaning.
            if introduced.insert(pending.slot) {
                introduce(&link, pending.slot, &pending.who);
            }
            let payload = [IoSlice::new(&pending.payload)];
            link.send(Outgoing { head: &pending.again(), payload: &payload, share: None });
        }
        drop(state);
        self.send_waiting();
    }

    /// Ask something over a connection that does not carry this one yet.
    pub(super) fn ask_over(&self, link: &Arc<Link>, id: u64, call: Call<'_>, then: Then) {
        let who = Who::client();
        let slot = SLOTS - 1;
        let head = frame::encode(&Request { id, slot, once: None, call }, 0, 0);
        let pending = Pending {
            key: RequestKey(0),
            thread: 0,
            who: Arc::clone(&who),
            slot,
            cost: 0,
            bytes: None,
            purpose: Purpose::Little,
            since: Instant::now(),
            head: head.clone(),
            payload: Arc::default(),
            lent: None,
            room: 0,
            told: 0,
            then,
            is_late: false,
            share: None,
        };
        self.state().pending.insert(id, pending);
        introduce(link, slot, &who);
        link.send(Outgoing { head: &head, payload: &[], share: None });
    }

    /// Nobody waits for that call any more.
    pub(super) fn drop_call(&self, id: u64) {
        let dropped = self.state().pending.remove(&id);
        drop(dropped);
    }

    pub(super) fn link(&self) -> Option<Arc<Link>> {
        self.state().link.clone()
    }

    /// How much there is to do.
    pub(super) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// How many calls wait for room.
    pub(super) fn waiting(&self) -> usize {
        self.state().room.waiting()
    }

    /// How long the oldest call has been waiting for its answer.
    pub(super) fn oldest(&self) -> Option<Duration> {
        self.state().pending.values().next().map(|pending| pending.since.elapsed())
    }

    /// Send a call, or keep it until there is room. Then it matters where files are: of those it
    /// answers with, the agent should be asked.
    pub(super) fn ask(
        &self,
        asker: &Asker<'_>,
        ask: Ask<'_>,
        budget: &Arc<Budget>,
        then: Then,
    ) -> Vec<Bytes> {
        // In case it has to be sent again; before anybody else has to wait for it.
        let payload = Arc::new(Payload::of(ask.payload, &self.hub));
        let mut state = self.state();
        let link = state.link.clone();
        let slot = state.slot(link.as_ref(), asker.who);
        let bytes = Bytes::of(&ask.call, ask.payload.len().max(ask.room));
        let request = Request { id: asker.id, slot, once: asker.once, call: ask.call };
        let head = frame::encode(&request, ask.payload.len(), ask.room);
        let sizes = (head.len() - PREFIX, ask.payload.len(), ask.room);
        let prefix = Prefix { head: sizes.0, payload: sizes.1, room: sizes.2, in_order: false };
        let cost = prefix.cost();
        let purpose = self.whereabouts.purpose(bytes.as_ref());
        let mut pending = Pending {
            key: asker.key,
            thread: asker.thread,
            who: Arc::clone(asker.who),
            slot,
            cost,
            bytes,
            purpose,
            since: Instant::now(),
            head,
            payload,
            lent: None,
            room: ask.room,
            told: 0,
            then,
            is_late: false,
            share: None,
        };
        self.load.fetch_add(cost, Ordering::Relaxed);
        if state.room.has_room(purpose, cost) {
            state.room.take(purpose, cost);
            let head = pending.head.clone();
            let lends = link.as_ref().is_some_and(|link| pending.lend(link));
            // Whoever sends it must have it, too.
            let payload = Arc::clone(&pending.payload);
            // One that is alone will probably stay so.
            let is_alone = state.pending.is_empty();
            state.pending.insert(asker.id, pending);
            drop(state);
            if let Some(link) = link {
                let waits = !lends && !is_alone && asker.may_wait && company::keep_back(&link);
                let manner = if waits { Manner::Soon } else { Manner::at_once(lends) };
                send_first(&link, &head, &payload, manner);
            }
            return Vec::new();
        }
        drop(state);
        company::depart();
        pending.share = Some(budget.wait_for(ask.payload.len()));
        let mut state = self.state();
        // It may have become known meanwhile where the file is; from now on `sort` sees to it.
        let purpose = self.whereabouts.purpose(pending.bytes.as_ref());
        pending.purpose = purpose;
        state.room.wait(purpose, cost, (asker.id, pending));
        let unknown = state.unknown(&self.whereabouts);
        drop(state);
        // There may be room by now, and nothing else to notice it.
        self.send_waiting();
        unknown
    }

    /// It is known by now where some files are that calls are about.
    pub(super) fn sort(&self) {
        let mut state = self.state();
        let State { pending, room, .. } = &mut *state;
        for pending in pending.values_mut().filter(|pending| pending.purpose == UNKNOWN) {
            room.give_back(UNKNOWN, pending.cost);
            pending.purpose = self.whereabouts.purpose(pending.bytes.as_ref());
            room.take(pending.purpose, pending.cost);
        }
        room.sort(|(_, waiting)| self.whereabouts.purpose(waiting.bytes.as_ref()));
        drop(state);
        self.send_waiting();
    }

    /// The kernel gives up references; nobody waits for that.
    pub(super) fn forget(&self, node: NodeId, references: u64) {
        let Some(link) = self.link() else { return };
        let call = Call::Forget { node, references };
        link.send_unhurried(&frame::encode(&Request { id: 0, slot: 0, once: None, call }, 0, 0));
    }

    /// A signal came for whoever waits for a call of that name: whether there is one.
    pub(super) fn cancel(&self, key: RequestKey) -> bool {
        let mut state = self.state();
        let waiting = state.room.remove(|(_, waiting)| waiting.key == key);
        if !waiting.is_empty() {
            drop(state);
            for (_, pending) in waiting {
                self.load.fetch_sub(pending.cost, Ordering::Relaxed);
                (pending.then)(Err(Errno::EINTR));
            }
            return true;
        }
        let found = state.pending.iter().find(|(_, pending)| pending.key == key).map(|(id, _)| *id);
        let link = state.link.clone();
        drop(state);
        if let (Some(id), Some(link)) = (found, link) {
            let call = Call::Cancel { id };
            let head = frame::encode(&Request { id: 0, slot: 0, once: None, call }, 0, 0);
            link.send(Outgoing { head: &head, payload: &[], share: None });
        }
        found.is_some()
    }

    /// Answer calls, sent or not, that `which` names, because nobody else will.
    pub(super) fn give_up(&self, errno: Errno, which: impl Fn(&Pending) -> bool) -> usize {
        let mut state = self.state();
        let ids: Vec<u64> =
            state.pending.iter().filter(|(_, p)| which(p)).map(|(id, _)| *id).collect();
        let mut gone: Vec<Pending> = ids.iter().filter_map(|id| state.pending.remove(id)).collect();
        for pending in &gone {
            state.room.give_back(pending.purpose, pending.cost);
        }
        let waiting = state.room.remove(|(_, waiting)| which(waiting));
        gone.extend(waiting.into_iter().map(|(_, waiting)| waiting));
        drop(state);
        let count = gone.len();
        for pending in gone {
            self.load.fetch_sub(pending.cost, Ordering::Relaxed);
            (pending.then)(Err(errno));
        }
        count
    }

    /// Let those go who wait for such calls, with an error. The calls stay, and are sent again if need
    /// be: whatever they are about is in use until they are answered.
    pub(super) fn detach(&self, errno: Errno, which: impl Fn(&Pending) -> bool) {
        let mut state = self.state();
        let State { pending, room, .. } = &mut *state;
        let all = pending.values_mut().chain(room.iter_mut().map(|(_, pending)| pending));
        let mut gone: Vec<Then> = Vec::new();
        for pending in all.filter(|pending| which(pending)) {
            pending.thread = 0;
            pending.is_late = true;
            gone.push(std::mem::replace(&mut pending.then, Box::new(|_| {})));
        }
        drop(state);
        gone.into_iter().for_each(|then| then(Err(errno)));
    }

    /// Calls that have been waiting for so long, or twice, four times … as long, since last asked.
    pub(super) fn overdue(&self, patience: Duration) -> Vec<(Vec<u8>, Duration)> {
        let mut found = Vec::new();
        for pending in self.state().pending.values_mut() {
            let waiting = pending.since.elapsed();
            if waiting > patience * (1 << pending.told.min(16)) {
                pending.told += 1;
                found.push((pending.head.clone(), waiting));
            }
        }
        found
    }

    /// Calls that were sent, the oldest first.
    pub(super) fn sent<T>(&self, look: impl FnMut(&Pending) -> Option<T>) -> Vec<T> {
        self.state().pending.values().filter_map(look).collect()
    }

    fn send_waiting(&self) {
        loop {
            let mut state = self.state();
            let Some((purpose, (id, mut pending))) = state.room.next() else { return };
            pending.purpose = purpose;
            let link = state.link.clone();
            if let Some(link) = link.as_ref().filter(|_| state.introduced.insert(pending.slot)) {
                introduce(link, pending.slot, &pending.who);
            }
            let (head, payload) = (pending.head.clone(), Arc::clone(&pending.payload));
            let lends = link.as_ref().is_some_and(|link| pending.lend(link));
            state.pending.insert(id, pending);
            drop(state);
            if let Some(link) = link {
                send_first(&link, &head, &payload, Manner::at_once(lends));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Files that calls are about, one call for each, and nobody knows where they are or has asked.
    fn unknown(&mut self, whereabouts: &Whereabouts) -> Vec<Bytes> {
        let waiting = self.room.iter_mut().map(|(_, waiting)| &*waiting);
        let all = self.pending.values().chain(waiting);
        let bytes = all.filter(|call| call.purpose == UNKNOWN).filter_map(|call| call.bytes);
        bytes.filter(|bytes| whereabouts.wants(bytes.node)).collect()
    }

    /// The number by which the agent knows somebody on this connection; it is told now if need be.
    fn slot(&mut self, link: Option<&Arc<Link>>, who: &Arc<Who>) -> u32 {
        if let Some(slot) = self.slots.get(who) {
            return *slot;
        }
        // A number is used again only when every call that meant its last owner is long done.
        if self.slots.len() >= SLOTS_REMEMBERED {
            self.slots.clear();
        }
        let slot = self.next_slot;
        self.next_slot = (slot + 1) % SLOTS;
        if let Some(link) = link {
            // Before anybody else can name the slot.
            introduce(link, slot, who);
            self.introduced.insert(slot);
        }
        self.slots.insert(Arc::clone(who), slot);
        slot
    }
}

/// How a call is sent.
#[derive(Clone, Copy)]
enum Manner {
    AtOnce,
    /// With those that come with it.
    Soon,
    /// At once, and its bytes are not copied.
    Lending,
}

impl Manner {
    fn at_once(lends: bool) -> Manner {
        if lends { Manner::Lending } else { Manner::AtOnce }
    }
}

/// Send a call that was not sent before.
fn send_first(link: &Arc<Link>, head: &[u8], payload: &[u8], manner: Manner) {
    let payload = [IoSlice::new(payload)];
    let outgoing = Outgoing { head, payload: &payload, share: None };
    match manner {
        Manner::AtOnce => link.send(outgoing),
        Manner::Soon => link.send_soon(outgoing),
        Manner::Lending => link.send_lending(outgoing),
    }
}

/// Tell the agent who is meant by a number.
fn introduce(link: &Arc<Link>, slot: u32, who: &Who) {
    let call = Call::Introduce { slot, uid: who.uid, gid: who.gid, job: who.job };
    let groups: Vec<u8> = who.groups.iter().flat_map(|group| group.to_le_bytes()).collect();
    let request = Request { id: 0, slot: 0, once: None, call };
    let head = frame::encode_in_order(&request, groups.len());
    link.send(Outgoing { head: &head, payload: &[IoSlice::new(&groups)], share: None });
}

/// Give back what nobody waits for any more.
fn give_back(link: &Arc<Link>, slot: u32, value: Value) {
    for call in pending::give_back(value) {
        // The number of no call: its answer is not waited for either.
        let request = Request { id: u64::MAX, slot, once: None, call };
        let head = frame::encode(&request, 0, 0);
        link.send(Outgoing { head: &head, payload: &[], share: None });
    }
}

/// A connection as the link knows it.
pub(super) struct Receiver {
    pub(super) connection: Arc<Connection>,
    /// How often the client had connected before.
    pub(super) generation: u64,
}

impl Handler for Receiver {
    fn frame(&self, link: &Arc<Link>, frame: Frame) {
        let answer: Answer = match frame::decode(&frame.head) {
            Ok(answer) => answer,
            Err(malformed) => return link.close(malformed.0),
        };
        let pending = {
            let mut state = self.connection.state();
            let pending = state.pending.remove(&answer.id);
            if let Some(pending) = &pending {
                state.room.give_back(pending.purpose, pending.cost);
            }
            pending
        };
        // Answered twice because it was sent twice, or given up meanwhile.
        let Some(pending) = pending else { return };
        pending.take_back(link);
        self.connection.load.fetch_sub(pending.cost, Ordering::Relaxed);
        self.connection.send_waiting();
        if let (true, Ok(value)) = (pending.is_late, answer.result) {
            give_back(link, pending.slot, value);
        }
        let result = answer.result.map_err(Errno::from_raw);
        (pending.then)(result.map(|value| (value, frame.payload)));
    }

    /// Called by whoever notices, maybe in the middle of sending: nothing is done here.
    fn closed(&self, _link: &Arc<Link>, reason: &str) {
        self.connection.alarm.ring(self.generation, reason);
    }
}

const UNKNOWN: Purpose = Purpose::Data(Place::Unknown);
/// The agent keeps so many users of a connection;
const SLOTS: u32 = 1 << 16;
/// of these we remember which number they have.
const SLOTS_REMEMBERED: usize = 1 << 15;
