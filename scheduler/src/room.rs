//! How much each server may still take: the bounds on what is in flight, and what is used of them.

use crate::request::{Request, ServerId};

/// A bound on requests and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Number of requests.
    pub requests: u32,
    /// Number of bytes.
    pub bytes: u64,
}

impl Limit {
    /// No bound at all.
    pub const NONE: Limit = Limit { requests: u32::MAX, bytes: u64::MAX };

    /// A bound of this many requests and bytes.
    pub const fn new(requests: u32, bytes: u64) -> Limit {
        Limit { requests, bytes }
    }

    /// Whether one more request of `length` bytes stays within the bound.
    #[inline]
    pub const fn takes(self, length: u64) -> bool {
        self.requests > 0 && self.bytes >= length
    }

    /// What is left after one request of `length` bytes; nothing if it was too large.
    #[inline]
    pub const fn without(self, length: u64) -> Limit {
        Limit {
            requests: self.requests.saturating_sub(1),
            bytes: self.bytes.saturating_sub(length),
        }
    }

    /// The tighter of both bounds in each respect.
    #[inline]
    pub fn min(self, other: Limit) -> Limit {
        Limit { requests: self.requests.min(other.requests), bytes: self.bytes.min(other.bytes) }
    }
}

/// What is in flight, per server and in all, against the bounds on it.
///
/// A request fits if neither its server's bounds nor the common ones are passed. One exception
/// keeps large requests from waiting for ever: a server with nothing in flight takes any request
/// while the common bounds are not used up yet, though it may pass the bounds on bytes.
#[derive(Clone, Debug)]
pub struct Room {
    servers: Vec<Use>,
    all: Use,
    each: Limit,
    total: Limit,
}

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    requests: u32,
    bytes: u64,
}

impl Room {
    /// Room of this many servers with bounds for each and in all, nothing used yet.
    pub fn new(servers: u32, each: Limit, total: Limit) -> Room {
        Room { servers: vec![Use::default(); servers as usize], all: Use::default(), each, total }
    }

    /// So many servers from now on, the new ones with nothing in flight.
    pub(crate) fn grow(&mut self, servers: u32) {
        self.servers.resize(servers as usize, Use::default());
    }

    /// Room without bounds.
    pub fn unbounded(servers: u32) -> Room {
        Room::new(servers, Limit::NONE, Limit::NONE)
    }

    /// From now on this is the bound of each server. What is in flight stays.
    pub fn bound_each(&mut self, each: Limit) {
        self.each = each;
    }

    /// The bound of each server.
    pub const fn each(&self) -> Limit {
        self.each
    }

    /// Takes note that a request went out.
    pub fn take(&mut self, request: &Request) {
        for used in [&mut self.servers[request.server.index()], &mut self.all] {
            used.requests += 1;
            used.bytes = used.bytes.saturating_add(request.length());
        }
    }

    /// Takes note that a request came back.
    pub fn give_back(&mut self, request: &Request) {
        for used in [&mut self.servers[request.server.index()], &mut self.all] {
            used.requests -= 1;
            used.bytes = used.bytes.saturating_sub(request.length());
        }
    }

    /// Whether a request of `length` bytes may go to `server` now.
    #[inline]
    pub fn takes(&self, server: ServerId, length: u64) -> bool {
        let used = self.servers[server.index()];
        if used.requests == 0 {
            return self.each.requests > 0 && self.all.below(self.total);
        }
        self.left(server).takes(length)
    }

    /// Whether this request may go now.
    #[inline]
    pub fn admits(&self, request: &Request) -> bool {
        self.takes(request.server, request.length())
    }

    /// Whether nothing may go to any server.
    #[inline]
    pub fn is_full(&self) -> bool {
        !self.all.below(self.total)
    }

    /// What a server may still take within all bounds.
    #[inline]
    pub fn left(&self, server: ServerId) -> Limit {
        self.servers[server.index()].left(self.each).min(self.all.left(self.total))
    }

    /// Bytes in flight at a server.
    #[inline]
    pub fn outstanding(&self, server: ServerId) -> u64 {
        self.servers[server.index()].bytes
    }

    /// Requests in flight at a server.
    #[inline]
    pub fn in_flight(&self, server: ServerId) -> u32 {
        self.servers[server.index()].requests
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        u32::try_from(self.servers.len()).expect("the number of servers was a u32")
    }
}

impl Use {
    #[inline]
    const fn below(self, limit: Limit) -> bool {
        self.requests < limit.requests && self.bytes < limit.bytes
    }

    #[inline]
    const fn left(self, limit: Limit) -> Limit {
        Limit {
            requests: limit.requests.saturating_sub(self.requests),
            bytes: limit.bytes.saturating_sub(self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Extent, FileId, JobId, Operation, RequestId};
    use crate::time::Time;

    fn request(server: u32, length: u64) -> Request {
        Request {
            id: RequestId(0),
            file: FileId(0),
            job: JobId(0),
            server: ServerId(server),
            operation: Operation::Write,
            extent: Extent::new(0, length),
            local: 0,
            arrived: Time::ZERO,
        }
    }

    #[test]
    fn a_large_request_goes_to_an_idle_server_only() {
        let mut room = Room::new(2, Limit::new(4, 100), Limit::new(8, 150));
        assert!(room.takes(ServerId(0), 1_000));
        room.take(&request(0, 60));
        assert!(!room.takes(ServerId(0), 41) && room.takes(ServerId(0), 40));
        room.take(&request(1, 90));
        assert!(!room.takes(ServerId(0), 1), "the common bound is used up");
        room.give_back(&request(0, 60));
        assert!(room.takes(ServerId(0), 1_000), "idle, and the common bound has something left");
    }

    #[test]
    fn counts_requests_per_server_and_in_all() {
        let mut room = Room::new(3, Limit::new(2, u64::MAX), Limit::new(3, u64::MAX));
        room.take(&request(0, 1));
        room.take(&request(0, 1));
        assert!(!room.takes(ServerId(0), 1) && room.takes(ServerId(1), 1) && !room.is_full());
        room.take(&request(1, 1));
        assert!(room.is_full() && !room.takes(ServerId(2), 1));
        assert_eq!((room.in_flight(ServerId(0)), room.outstanding(ServerId(0))), (2, 2));
    }
}
