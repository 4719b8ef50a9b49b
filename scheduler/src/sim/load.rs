//! What is on its way between a sender and a server: one message there, one command, one message back.

use super::device::Stretch;
use super::report::Bar;
use super::server::Command;
use crate::policy::Batch;
use crate::request::{Operation, ServerId};
use crate::time::Time;

/// One batch on its way, or a process's own request where there are no agents.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) sender: u32,
    pub(super) server: ServerId,
    pub(super) stretch: Stretch,
    issued: Time,
    /// When the device began with it and finished it, once it has.
    pub(super) begun: Time,
    pub(super) done: Time,
    pub(super) freight: Freight,
}

/// What a load answers when it comes back.
#[derive(Clone, Debug)]
pub(super) enum Freight {
    /// A part of the request of the process that sent it.
    Own,
    /// A batch of an agent.
    Batch(Batch),
    /// So many requests or parts of requests of a list of an agent, by its number.
    List(u32, u32),
}

impl Load {
    /// A load that leaves now.
    pub(super) const fn new(now: Time, sender: u32, server: ServerId, stretch: Stretch) -> Load {
        let (issued, begun, done) = (now, now, now);
        Load { sender, server, stretch, issued, begun, done, freight: Freight::Own }
    }

    /// Bytes that travel to the server.
    pub(super) const fn outbound(&self) -> u64 {
        match self.stretch.operation {
            Operation::Read => 0,
            Operation::Write => self.stretch.bytes,
        }
    }

    /// Bytes that travel back.
    pub(super) const fn inbound(&self) -> u64 {
        self.stretch.bytes - self.outbound()
    }

    /// What the server is told: which load it is, from which machine.
    pub(super) const fn command(&self, load: u32, sender: u32) -> Command {
        Command { load, sender, stretch: self.stretch }
    }

    /// For the picture.
    pub(super) fn bar(&self) -> Bar {
        Bar {
            sender: self.sender,
            server: self.server,
            issued: self.issued,
            begun: self.begun,
            done: self.done,
            bytes: self.stretch.bytes,
            members: match &self.freight {
                Freight::Own => 1,
                Freight::Batch(batch) => batch.members() as u32,
                Freight::List(_, members) => *members,
            },
        }
    }
}

/// Loads by number; numbers are used again.
#[derive(Debug, Default)]
pub(super) struct Loads {
    loads: Vec<Option<Load>>,
    free: Vec<u32>,
}

impl Loads {
    pub(super) fn insert(&mut self, load: Load) -> u32 {
        if let Some(index) = self.free.pop() {
            self.loads[index as usize] = Some(load);
            return index;
        }
        self.loads.push(Some(load));
        (self.loads.len() - 1) as u32
    }

    pub(super) fn get(&mut self, index: u32) -> &mut Load {
        self.loads[index as usize].as_mut().expect("an event names a load that is on its way")
    }

    pub(super) fn remove(&mut self, index: u32) -> Load {
        self.free.push(index);
        self.loads[index as usize].take().expect("a load returns once")
    }
}
