//! What clients of other processes are served from: a store, and what is to be done around it.

use iofwd_mount::caller::Introduction;
use iofwd_mount::{Errno, Store};

use crate::report::Report;
use crate::telemetry::snapshot::Export;

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
    /// The agent of a directory, if it is one: what its clients have can be found again by another.
    fn directory(&self) -> Option<&Agent> {
        None
    }
    /// The agent of a data server, if it is one's.
    fn data_server(&self) -> Option<&Agent> {
        None
    }
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

    fn directory(&self) -> Option<&Agent> {
        Some(self)
    }

    fn data_server(&self) -> Option<&Agent> {
        self.keeper.is_some().then_some(self)
    }
}
