//! Servers taking turns, for policies that decide within a server.

use crate::policy::Setup;
use crate::request::ServerId;

/// All servers, beginning with the one whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    turn: u32,
    servers: u32,
}

impl Rotation {
    /// It is the first server's turn.
    pub const fn new(setup: &Setup) -> Rotation {
        Rotation { turn: 0, servers: setup.servers }
    }

    /// The servers in the order of their turns.
    pub fn order(self) -> impl Iterator<Item = ServerId> {
        (self.turn..self.servers).chain(0..self.turn).map(ServerId)
    }

    /// Ends the turn of a server: it is the next one's.
    pub const fn served(&mut self, server: ServerId) {
        self.turn = (server.0 + 1) % self.servers;
    }
}
