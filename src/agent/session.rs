//! One client of the agent: what it holds, and who it may speak for.
//!
//! A client names only nodes and open files that it was told of itself; everything it holds is given
//! back when its last connection is gone.

mod connection;
mod dispatch;
mod responder;
mod rights;
mod stripes;

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry as Slot;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{Attr, Entry, HandleId, LockOwner, NodeId};
use iofwd_mount::{Errno, Reply};

use crate::link::{Hub, Link};

use super::Forwarder;
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
    /// Nodes it was told of, and how often.
    nodes: DashMap<NodeId, u64>,
    files: DashMap<HandleId, Kind>,
    links: Mutex<Vec<Arc<Link>>>,
    ended: AtomicBool,
    counts: Arc<Counts>,
}

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
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
pub struct Terms {
    /// The client's number, below 2^24.
    pub id: u64,
    /// Who it is, in words.
    pub client: String,
    /// What it may use.
    pub agent: Arc<dyn Forwarder>,
    /// The directory below the export that it sees as its root.
    pub root: NodeId,
    /// As whom.
    pub rights: Rights,
}

impl Session {
    /// A client that has no connection yet.
    pub fn new(terms: Terms, counts: Arc<Counts>) -> Arc<Session> {
        Arc::new(Session {
            id: terms.id,
            client: terms.client,
            agent: terms.agent,
            root: terms.root,
            rights: terms.rights,
            nodes: DashMap::new(),
            files: DashMap::new(),
            links: Mutex::default(),
            ended: AtomicBool::new(false),
            counts,
        })
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
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let link = hub.adopt(socket, grant, connection)?;
        if link.is_closed() {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        links.push(link);
        Ok(())
    }

    /// Send the client away.
    pub fn close(&self, reason: &str) {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner).clone();
        links.iter().for_each(|link| link.close(reason));
    }

    /// A connection is gone; with the last one everything the client held is.
    fn disconnected(&self, link: &Arc<Link>, reason: &str) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|other| !Arc::ptr_eq(other, link));
        let is_last = links.is_empty();
        drop(links);
        if is_last && !self.ended.swap(true, Ordering::AcqRel) {
            tracing::info!(client = self.client, session = self.id, reason, "client left");
            self.give_back();
        }
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
        self.nodes.contains_key(&theirs).then_some(theirs).ok_or(Errno::ESTALE)
    }

    /// A handle, if it is the client's.
    fn handle(&self, handle: HandleId) -> Result<HandleId, Errno> {
        self.files.contains_key(&handle).then_some(handle).ok_or(Errno::EBADF)
    }

    /// Attributes, as the client knows the node.
    fn outgoing(&self, attr: Attr) -> Attr {
        if attr.node == self.root { Attr { node: NodeId::ROOT, ..attr } } else { attr }
    }

    /// The client is about to be told of a node.
    fn keep_node(&self, entry: Entry) -> Entry {
        *self.nodes.entry(entry.attr.node).or_insert(0) += 1;
        if self.has_ended() {
            self.forget(entry.attr.node, 1);
        }
        Entry { attr: self.outgoing(entry.attr) }
    }

    /// The client is about to be told of an open file or directory.
    fn keep_handle(&self, handle: HandleId, kind: Kind) {
        self.files.insert(handle, kind);
        if self.has_ended() {
            self.drop_handle(handle);
        }
    }

    /// The client gives up so many references to a node, but no more than it has.
    fn forget(&self, node: NodeId, references: u64) {
        let Slot::Occupied(mut held) = self.nodes.entry(node) else { return };
        let given = references.min(*held.get());
        *held.get_mut() -= given;
        if *held.get() == 0 {
            held.remove();
        }
        self.agent.forget(node, given);
    }

    fn drop_handle(&self, handle: HandleId) {
        let nobody = || Reply::call(|_| {});
        match self.files.remove(&handle).map(|(_, kind)| kind) {
            Some(Kind::File) => self.agent.release(NodeId::ROOT, handle, nobody()),
            Some(Kind::Directory) => self.agent.releasedir(NodeId::ROOT, handle, nobody()),
            None => {}
        }
    }

    /// The name of a call, among those of all clients.
    fn key(&self, id: u64) -> RequestKey {
        RequestKey(self.id << CALL_BITS | id & ((1 << CALL_BITS) - 1))
    }

    fn owner(&self, key: u64) -> LockOwner {
        LockOwner { client: self.id, key }
    }
}

/// Calls of one client are told apart by so many bits of their number.
const CALL_BITS: u32 = 40;
