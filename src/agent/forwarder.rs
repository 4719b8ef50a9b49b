//! What clients of other processes are served from: a store, and what is to be done around it.

use std::sync::Arc;

use iofwd_mount::caller::{Introduction, RequestKey};
use iofwd_mount::store::{HandleId, NodeId, OpenHow};
use iofwd_mount::{Errno, Store};

use crate::report::Report;
use crate::telemetry::snapshot::Export;
use crate::wire::call::{LockCall, Once};
use crate::wire::greeting::Bytes32;

use super::Agent;
use super::callers::Guest;
use super::engine::Engine;
use super::look::Names;

/// A store that serves several clients, whatever lies behind it.
pub trait Forwarder: Store + std::fmt::Debug {
    /// Somebody who may be named as a caller from now on.
    fn introduce(&self, guest: Guest) -> Introduction;
    /// Nobody will be named so any more.
    fn dismiss(&self, introduction: Introduction);
    /// A client is gone: nothing of what it locked is, and it waits for nothing.
    fn left(&self, client: u64);
    /// How many callers wait for a lock, or for their turn.
    fn waiting(&self) -> usize;
    /// Wait for everything under way, and make everything written durable.
    fn settle(&self) -> Result<(), Errno>;
    /// Make everything durable that was written by now.
    fn make_durable(&self) -> Result<(), Errno>;
    /// What was done so far.
    fn report(&self) -> Report;
    /// What it does, for those who watch.
    fn look(&self, names: Names) -> Export;
    /// Where reads and writes wait for their turn.
    fn engine(&self) -> &Engine;
    /// A client has no connection just now, and may come back: it waits for nothing.
    fn stop_waiting(&self, client: u64);
    /// A client closes a file.
    fn close_file(&self, handle: HandleId, client: u64);
    /// Nothing more will be asked of what is behind it.
    fn leave(&self) {}
    /// The agent of a directory, if it is one: its clients can come back to it.
    fn local(&self) -> Option<&Agent> {
        None
    }
    /// The agent of a data server, if it is one's.
    fn data_server(&self) -> Option<&Agent> {
        None
    }
    /// Whether somebody behind it keeps what clients hold, and how they are let in there.
    fn gate(&self) -> Option<&dyn Gate> {
        None
    }
    /// The way on to whoever keeps what this client holds, if it is not kept here.
    fn passage(&self) -> Option<&dyn Passage> {
        None
    }
}

/// Which agent acted for a client. No two that were ever started have the same.
pub type AgentId = [u8; 16];

/// Where each client gets a store of its own, because somebody behind it keeps what the client holds.
pub trait Gate {
    /// Who acts for clients here.
    fn agent(&self) -> AgentId;
    /// Let a client in. `None` if it says that it was here, and is not known.
    fn receive(&self, visit: &Visit<'_>) -> Result<Option<Received>, String>;
}

/// A client that wants to be let in.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// Who it is, in words.
    pub client: &'a str,
    /// What it calls its root.
    pub subtree: &'a str,
    /// By what it is known, if it was here before,
    pub token: Option<Bytes32>,
    /// and who acted for it then, and died.
    pub before: Option<AgentId>,
}

/// What a client that was let in gets.
#[derive(Debug)]
pub struct Received {
    /// A store for it alone.
    pub store: Arc<dyn Forwarder>,
    /// By what it will be known again.
    pub token: Bytes32,
}

/// What is passed on of what a client holds, to whoever keeps it.
pub trait Passage {
    /// The voucher for a node.
    fn voucher(&self, node: NodeId) -> Box<[u8]>;
    /// The voucher for what is open.
    fn voucher_open(&self, handle: HandleId) -> Box<[u8]>;
    /// The client knows this node, so many times, and saw it last there.
    fn adopt(&self, node: NodeId, references: u64, voucher: &[u8], place: (NodeId, &[u8]));
    /// The client has this open; `how` if it is a file.
    fn reopen(&self, node: NodeId, handle: HandleId, voucher: &[u8], how: Option<OpenHow>);
    /// The client holds this lock.
    fn reclaim(&self, lock: &LockCall);
    /// The client has told everything.
    fn restored(&self) -> Result<(), Errno>;
    /// A call that must not be done twice is under way from now on
    fn begin_once(&self, key: RequestKey, id: u64, once: Once);
    /// and until now.
    fn end_once(&self, key: RequestKey);
    /// The client does not come back.
    fn leave(&self);
    /// The client goes on with another agent.
    fn part(&self);
}

impl Forwarder for Agent {
    fn introduce(&self, guest: Guest) -> Introduction {
        self.callers.introduce(guest)
    }

    fn dismiss(&self, introduction: Introduction) {
        self.callers.dismiss(introduction);
    }

    fn left(&self, client: u64) {
        self.locks.release_client(client);
        if let Some(keeper) = &self.keeper {
            keeper.left(client);
        }
    }

    fn waiting(&self) -> usize {
        let turns = self.keeper.as_ref().map_or(0, |keeper| keeper.waiting());
        self.locks.len_waiting() + turns
    }

    fn settle(&self) -> Result<(), Errno> {
        Agent::settle(self)
    }

    fn make_durable(&self) -> Result<(), Errno> {
        Agent::make_durable(self)
    }

    fn report(&self) -> Report {
        Agent::report(self)
    }

    fn look(&self, names: Names) -> Export {
        Agent::look(self, names)
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn stop_waiting(&self, client: u64) {
        self.locks.stop_waiting(client);
    }

    fn close_file(&self, handle: HandleId, client: u64) {
        Agent::close_file(self, handle, client);
    }

    fn local(&self) -> Option<&Agent> {
        Some(self)
    }

    fn data_server(&self) -> Option<&Agent> {
        self.keeper.is_some().then_some(self)
    }
}
