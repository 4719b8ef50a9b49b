//! One client of the agent: what it holds, and who it may speak for.
//!
//! A client names only nodes and open files that it was told of itself, or has a voucher for. What it
//! holds is kept for a while when its last connection is gone, if it can come back; then everything
//! is given back.

mod connection;
mod dispatch;
mod once;
mod passing;
mod responder;
mod restore;
mod rights;
mod stripes;

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry as Slot;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{Attr, Entry, HandleId, LockOwner, NodeId};
use iofwd_mount::{Errno, Reply};

use crate::link::{Hub, Link};

use super::state::{Opening, Record, State};
use super::{Agent, Forwarder};
use connection::Connection;

pub use rights::{Rights, Squash};

/// One client.
#[derive(Debug)]
pub struct Session {
    id: u64,
    /// In words, for people.
    client: String,
    agent: Arc<dyn Forwarder>,
    /// The node that the client calls its root.
    root: NodeId,
    rights: Rights,
    /// Its file among those that outlive the agent; without one it cannot come back.
    record: Option<Arc<Record>>,
    /// Where that file is.
    state: Option<Arc<State>>,
    /// Nodes it was told of.
    nodes: DashMap<NodeId, Told>,
    /// What it calls nodes that it knows from another agent.
    aliases: DashMap<NodeId, NodeId>,
    files: DashMap<HandleId, Opened>,
    links: Mutex<Links>,
    ended: AtomicBool,
    /// What it sent and is being dealt with.
    under_way: AtomicUsize,
    /// How often it came back.
    round: AtomicU64,
    counts: Arc<Counts>,
}

/// A node that a client knows.
#[derive(Clone, Copy, Debug)]
struct Told {
    ours: NodeId,
    /// How often the client was told of it,
    references: u64,
    /// and how many of our references that are.
    held: u64,
    round: u64,
}

/// What a handle of the client names.
#[derive(Clone, Copy, Debug)]
struct Opened {
    ours: Result<HandleId, Errno>,
    kind: Kind,
    round: u64,
}

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

/// Something that a client sent is being dealt with, until this is dropped.
#[derive(Debug)]
struct UnderWay(Arc<Session>);

impl UnderWay {
    fn new(session: &Arc<Session>) -> UnderWay {
        session.under_way.fetch_add(1, Ordering::SeqCst);
        UnderWay(Arc::clone(session))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Connections, and since when there is none.
#[derive(Debug, Default)]
struct Links {
    all: Vec<Arc<Link>>,
    alone_since: Option<Instant>,
}

/// What became of requests, of all clients together.
#[derive(Debug, Default)]
pub struct Counts {
    /// Requests that were let in.
    pub accepted: AtomicU64,
    /// Answered with what was asked for.
    pub done: AtomicU64,
    /// Answered with an error of the backing, which is an answer too.
    pub failed: AtomicU64,
}

/// How a session is set up.
#[derive(Debug)]
pub(super) struct Terms {
    /// The client's number, below 2^24.
    pub(super) id: u64,
    /// Who it is, in words.
    pub(super) client: String,
    /// What it may use.
    pub(super) agent: Arc<dyn Forwarder>,
    /// The directory below the export that it sees as its root.
    pub(super) root: NodeId,
    /// As whom.
    pub(super) rights: Rights,
    /// What outlives the agent of it, and where it is kept.
    pub(super) record: Option<(Record, Arc<State>)>,
}

impl Session {
    /// A client that has no connection yet.
    pub(super) fn new(terms: Terms, counts: Arc<Counts>) -> Arc<Session> {
        let (record, state) = terms.record.unzip();
        let session = Arc::new(Session {
            id: terms.id,
            client: terms.client,
            agent: terms.agent,
            root: terms.root,
            rights: terms.rights,
            record: record.map(Arc::new),
            state,
            nodes: DashMap::new(),
            aliases: DashMap::new(),
            files: DashMap::new(),
            links: Mutex::new(Links { all: Vec::new(), alone_since: Some(Instant::now()) }),
            ended: AtomicBool::new(false),
            under_way: AtomicUsize::new(0),
            round: AtomicU64::new(0),
            counts,
        });
        if let (Some(record), Some(agent)) = (&session.record, session.agent.local())
            && let Some(survival) = &agent.survival
        {
            let state = Arc::clone(&survival.state);
            agent.locks.write_down(session.id, state, record.name());
        }
        if let Some(keeper) = session.agent.local().and_then(|agent| agent.keeper.as_ref()) {
            keeper.visited(&session);
        }
        session
    }

    /// Whether it can come back when its connections are gone.
    pub(super) fn can_return(&self) -> bool {
        self.record.is_some()
    }

    /// The agent, where clients can come back to it.
    fn local(&self) -> Result<&Agent, Errno> {
        self.agent.local().ok_or(Errno::ESTALE)
    }

    /// What the client shows to get a node back; empty if it cannot.
    fn vouch(&self, node: NodeId) -> Box<[u8]> {
        if let Some(passage) = self.agent.passage() {
            return passage.voucher(node);
        }
        self.agent.local().map_or_else(Box::default, |agent| agent.vouch(node, None))
    }

    /// What the client shows to have something open again; empty if it cannot.
    fn vouch_open(&self, node: NodeId, handle: HandleId, opening: Opening) -> Box<[u8]> {
        if let Some(passage) = self.agent.passage() {
            return passage.voucher_open(handle);
        }
        self.agent.local().map_or_else(Box::default, |agent| agent.vouch(node, Some(opening)))
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Who it is, in words.
    pub fn client(&self) -> &str {
        &self.client
    }

    /// Whether it is over.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// One more connection of the client.
    pub fn connect(
        self: &Arc<Session>,
        hub: &Arc<Hub>,
        socket: OwnedFd,
        grant: usize,
    ) -> std::io::Result<()> {
        let connection = Box::new(Connection::new(Arc::clone(self)));
        let mut links = self.links();
        let link = hub.adopt(socket, grant, connection)?;
        if link.is_closed() {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        links.all.push(link);
        links.alone_since = None;
        Ok(())
    }

    /// Send the client away.
    pub fn close(&self, reason: &str) {
        let links = self.links().all.clone();
        links.iter().for_each(|link| link.close(reason));
    }

    /// A connection is gone; with the last one everything the client held is, unless it can come
    /// back.
    fn disconnected(&self, link: &Arc<Link>, reason: &str) {
        let mut links = self.links();
        links.all.retain(|other| !Arc::ptr_eq(other, link));
        let is_last = links.all.is_empty();
        if is_last {
            links.alone_since = Some(Instant::now());
        }
        drop(links);
        if !is_last || self.has_ended() {
            return;
        }
        tracing::info!(client = self.client, session = self.id, reason, "no connection is left");
        self.agent.stop_waiting(self.id);
        if self.record.is_none() {
            self.end();
        }
    }

    /// End it if it has had no connection for so long. Whether it is over.
    pub(super) fn end_if_alone(self: &Arc<Session>, grace: Duration) -> bool {
        let alone = self.links().alone_since.is_some_and(|since| since.elapsed() >= grace);
        if !alone || self.has_ended() {
            return self.has_ended();
        }
        if self.agent.passage().is_none() {
            self.end();
            return true;
        }
        // Somebody else is told, who may take his time.
        let session = Arc::clone(self);
        let ending = std::thread::Builder::new().name("iofwd-ending".into());
        ending.spawn(move || session.end()).is_ok()
    }

    /// The client does not come back: nothing is left of it.
    pub(super) fn end(&self) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        tracing::info!(client = self.client, session = self.id, "client left");
        if let Some(passage) = self.agent.passage() {
            return self.end_elsewhere(passage);
        }
        if let (Some(record), Some(agent)) = (&self.record, self.agent.local())
            && let Some(survival) = &agent.survival
        {
            agent.locks.written_no_more(self.id);
            survival.state.end(record);
        }
        self.give_back();
    }

    /// The client goes on with another agent, which finds what is written down.
    pub(super) fn let_go(&self) {
        if !self.ended.swap(true, Ordering::AcqRel) {
            tracing::info!(client = self.client, session = self.id, "goes on with another agent");
            if let Some(agent) = self.agent.local() {
                agent.locks.written_no_more(self.id);
            }
            self.leave_hidden();
            // What is kept elsewhere stays there.
            if self.agent.passage().is_none() {
                self.give_back();
            }
            self.close("the client goes on with another agent");
        }
    }

    /// Files that have lost their names are left for another agent, or for this one when it is
    /// started again.
    pub(super) fn leave_hidden(&self) {
        let Some(agent) = self.agent.local() else { return };
        let ours = self.files.iter().filter_map(|open| open.ours.ok());
        ours.collect::<Vec<_>>().into_iter().for_each(|handle| agent.leave_hidden(handle));
    }

    fn give_back(&self) {
        self.agent.left(self.id);
        let files: Vec<HandleId> = self.files.iter().map(|file| *file.key()).collect();
        files.into_iter().for_each(|handle| self.drop_handle(handle));
        let nodes: Vec<NodeId> = self.nodes.iter().map(|node| *node.key()).collect();
        nodes.into_iter().for_each(|node| self.forget(node, u64::MAX));
    }

    /// The client's name for a node, taken for ours, if it was told of it.
    fn node(&self, theirs: NodeId) -> Result<NodeId, Errno> {
        if theirs == NodeId::ROOT {
            return Ok(self.root);
        }
        self.nodes.get(&theirs).map(|told| told.ours).ok_or(Errno::ESTALE)
    }

    /// A handle, if it is the client's, and what it names was not lost.
    fn handle(&self, theirs: HandleId) -> Result<HandleId, Errno> {
        self.files.get(&theirs).map_or(Err(Errno::EBADF), |open| open.ours)
    }

    /// What the client calls a node.
    fn theirs(&self, ours: NodeId) -> NodeId {
        if ours == self.root {
            return NodeId::ROOT;
        }
        if self.aliases.is_empty() {
            return ours;
        }
        self.aliases.get(&ours).map_or(ours, |theirs| *theirs)
    }

    /// Attributes, as the client knows the node.
    fn outgoing(&self, attr: Attr) -> Attr {
        Attr { node: self.theirs(attr.node), ..attr }
    }

    /// The client is about to be told of a node.
    fn keep_node(&self, entry: Entry) -> Entry {
        let ours = entry.attr.node;
        let theirs = self.theirs(ours);
        // The root, met again below itself, is counted under its own name.
        let name = if theirs == NodeId::ROOT { ours } else { theirs };
        let round = self.round.load(Ordering::Relaxed);
        let mut told =
            self.nodes.entry(name).or_insert(Told { ours, references: 0, held: 0, round });
        told.references += 1;
        told.held += 1;
        told.round = round;
        drop(told);
        if self.has_ended() {
            self.forget(name, 1);
        }
        Entry { attr: Attr { node: theirs, ..entry.attr } }
    }

    /// The client is about to be told of an open file or directory.
    fn keep_handle(&self, handle: HandleId, kind: Kind) {
        let round = self.round.load(Ordering::Relaxed);
        self.files.insert(handle, Opened { ours: Ok(handle), kind, round });
        if self.has_ended() {
            self.drop_handle(handle);
        }
    }

    /// The client gives up so many references to a node, but no more than it has.
    fn forget(&self, node: NodeId, references: u64) {
        let Slot::Occupied(mut held) = self.nodes.entry(node) else { return };
        let told = held.get_mut();
        told.references = told.references.saturating_sub(references);
        if told.references == 0 {
            let told = held.remove();
            self.aliases.remove(&told.ours);
            self.agent.forget(told.ours, told.held);
        }
    }

    fn drop_handle(&self, handle: HandleId) {
        let Some((_, Opened { ours: Ok(ours), kind, .. })) = self.files.remove(&handle) else {
            return;
        };
        match kind {
            Kind::File => self.agent.close_file(ours, self.id),
            Kind::Directory => self.agent.releasedir(NodeId::ROOT, ours, Reply::call(|_| {})),
        }
    }

    /// The name of a call, among those of all clients.
    fn key(&self, id: u64) -> RequestKey {
        RequestKey(self.id << CALL_BITS | id & ((1 << CALL_BITS) - 1))
    }

    fn owner(&self, key: u64) -> LockOwner {
        LockOwner { client: self.id, key }
    }

    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls of one client are told apart by so many bits of their number.
const CALL_BITS: u32 = 40;
