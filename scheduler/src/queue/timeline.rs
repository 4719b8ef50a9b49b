//! Requests listed in order of arrival, by server, that leave in any other order.

use super::{List, Pool};
use crate::policy::Setup;
use crate::request::{Request, RequestId, ServerId};

/// A pool whose requests are listed by server, oldest first.
#[derive(Debug)]
pub struct Timeline {
    pool: Pool,
    servers: Vec<List>,
}

impl Timeline {
    /// An empty timeline for the servers of this setup.
    pub fn new(setup: &Setup) -> Timeline {
        Timeline { pool: Pool::new(), servers: vec![List::new(); setup.servers as usize] }
    }

    /// Adds a request as the youngest and returns its slot.
    pub fn push(&mut self, request: Request) -> u32 {
        let slot = self.pool.insert(request);
        self.pool.append(&mut self.servers[request.server.index()], slot);
        slot
    }

    /// Takes a request out.
    pub fn remove(&mut self, slot: u32) -> Request {
        let server = self.pool.get(slot).server;
        self.pool.unlink(&mut self.servers[server.index()], slot);
        self.pool.remove(slot)
    }

    /// Takes all requests out, in order of arrival.
    pub fn drain(&mut self) -> Vec<Request> {
        let all = self.pool.drain();
        self.servers.fill(List::new());
        all
    }

    /// The requests of one server.
    #[inline]
    pub fn list(&self, server: ServerId) -> &List {
        &self.servers[server.index()]
    }

    /// The requests of one server, oldest first.
    pub fn oldest(&self, server: ServerId) -> impl Iterator<Item = u32> {
        self.pool.oldest(self.list(server))
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        u32::try_from(self.servers.len()).expect("the number of servers was a u32")
    }

    /// All requests, by slot.
    #[inline]
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// All requests, by slot, to put marks on them.
    #[inline]
    pub const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// The slot of the request with this id.
    pub fn find(&mut self, id: RequestId) -> Option<u32> {
        self.pool.find(id)
    }

    /// The request at a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Request {
        self.pool.get(slot)
    }

    /// Number of requests.
    pub const fn len(&self) -> usize {
        self.pool.len()
    }

    /// Whether there is no request.
    pub const fn is_empty(&self) -> bool {
        self.pool.is_empty()
    }
}
