//! Requests in order of arrival, a line for each server: a busy one holds back its own alone.

use super::{Line, Pages};
use crate::policy::Setup;
use crate::request::{Request, RequestId, ServerId};
use crate::room::Room;

/// A line for each server, from which requests leave oldest first, or nearly so.
#[derive(Debug)]
pub struct Lines {
    pages: Pages,
    servers: Vec<Queue>,
}

/// What is queued for one server.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    line: Line,
    order: u64,
    bytes: u64,
}

impl Lines {
    /// Empty lines for the servers of this setup.
    pub fn new(setup: &Setup) -> Lines {
        Lines { pages: Pages::new(), servers: vec![Queue::EMPTY; setup.servers as usize] }
    }

    /// Adds a request as the youngest and returns its slot.
    pub fn push(&mut self, request: &Request) -> u32 {
        let queue = &mut self.servers[request.server.index()];
        let slot = self.pages.append(&mut queue.line, request);
        queue.bytes = queue.bytes.wrapping_add(request.length());
        if queue.len() == 1 {
            queue.order = self.pages.order(slot);
        }
        slot
    }

    /// Takes a request out.
    pub fn remove(&mut self, slot: u32) -> Request {
        let server = self.pages.get(slot).server;
        let queue = &mut self.servers[server.index()];
        let first = queue.line.head() == Some(slot);
        let request = self.pages.remove(&mut queue.line, slot);
        queue.bytes = queue.bytes.wrapping_sub(request.length());
        if first {
            queue.order = queue.head().map_or(u64::MAX, |head| self.pages.order(head));
        }
        request
    }

    /// Takes all requests out, in order of arrival.
    pub fn drain(&mut self) -> Vec<Request> {
        self.servers.fill(Queue::EMPTY);
        self.pages.drain()
    }

    /// The oldest request of any server that may go now.
    pub fn oldest(&self, room: &Room) -> Option<u32> {
        if room.is_full() {
            return None;
        }
        let mut best = (u64::MAX, None);
        for queue in &self.servers {
            if queue.order < best.0 {
                let head = queue.head().filter(|&slot| room.admits(&self.pages.get(slot)));
                if head.is_some() {
                    best = (queue.order, head);
                }
            }
        }
        best.1
    }

    /// The requests of one server.
    #[inline]
    pub fn queue(&self, server: ServerId) -> &Queue {
        &self.servers[server.index()]
    }

    /// The oldest request of each server that has any.
    pub fn heads(&self) -> impl Iterator<Item = u32> {
        self.servers.iter().filter_map(Queue::head)
    }

    /// All requests, by slot.
    #[inline]
    pub const fn pages(&self) -> &Pages {
        &self.pages
    }

    /// The slot of the request with this id.
    pub fn find(&mut self, id: RequestId) -> Option<u32> {
        self.pages.find(id)
    }

    /// The request at a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Request {
        self.pages.get(slot)
    }

    /// Number of requests.
    pub const fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is no request.
    pub const fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

impl Queue {
    const EMPTY: Queue = Queue { line: Line::new(), order: u64::MAX, bytes: 0 };

    /// The slot of the oldest request.
    #[inline]
    pub const fn head(&self) -> Option<u32> {
        self.line.head()
    }

    /// The oldest request's place in the order of arrival; past all others if there is none.
    #[inline]
    pub const fn order(&self) -> u64 {
        self.order
    }

    /// Number of requests.
    pub const fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether there is no request.
    pub const fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Bytes of all requests.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The requests, oldest first.
    #[inline]
    pub const fn line(&self) -> &Line {
        &self.line
    }
}
