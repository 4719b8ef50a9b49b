//! First in, first out: the oldest request whose server has room.
//!
//! Published as FIFO in IOFSL (Ohta et al., 2010) and as TO in AGIOS (Boito et al., 2013). Good as a
//! baseline, and where requests are large and already in order.
//!
//! Waiting bound: twice the service time for each request ahead, as for one of them the wait may be
//! for its server to become idle and then for room in all, plus what is in flight.

use crate::policy::{Batch, Decision, Load, Policy, Setup};
use crate::queue::{List, Pool};
use crate::request::{Request, RequestId};
use crate::room::Room;
use crate::time::{Span, Time};

/// One timeline, kept as a list per server so that a busy one holds back its own requests only.
#[derive(Debug)]
pub struct Fifo {
    pool: Pool,
    servers: Vec<List>,
}

impl Fifo {
    /// An empty queue for the servers of this setup.
    pub fn new(setup: &Setup) -> Fifo {
        Fifo { pool: Pool::new(), servers: vec![List::new(); setup.servers as usize] }
    }

    fn remove(&mut self, slot: u32) -> Request {
        let server = self.pool.get(slot).server;
        self.pool.unlink(&mut self.servers[server.index()], slot);
        self.pool.remove(slot)
    }

    /// The oldest request that may go now.
    fn oldest(&self, room: &Room) -> Option<u32> {
        if room.is_full() {
            return None;
        }
        let mut best = (u64::MAX, None);
        for list in &self.servers {
            if list.order() < best.0 {
                let head = list.head().filter(|&slot| room.admits(self.pool.get(slot)));
                if head.is_some() {
                    best = (list.order(), head);
                }
            }
        }
        best.1
    }
}

impl Policy for Fifo {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let slot = self.pool.insert(request);
        self.pool.append(&mut self.servers[request.server.index()], slot);
    }

    fn next(&mut self, _now: Time, room: &Room) -> Decision {
        match self.oldest(room) {
            Some(slot) => Decision::Issue(Batch::one(self.remove(slot))),
            None if self.is_empty() => Decision::Empty,
            None => Decision::WaitUntil(Time::NEVER),
        }
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.pool.find(id).map(|slot| self.remove(slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        let all = self.pool.drain(self.servers.iter());
        self.servers.fill(List::new());
        all
    }

    fn len(&self) -> usize {
        self.pool.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        load.in_order()
    }
}
