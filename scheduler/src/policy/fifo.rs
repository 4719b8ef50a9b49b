//! First in, first out: the oldest request whose server has room.
//!
//! Published as FIFO in IOFSL (Ohta et al., 2010) and as TO in AGIOS (Boito et al., 2013). Good as a
//! baseline, and where requests are large and already in order.
//!
//! Waiting bound: twice the service time for each request ahead, as for one of them the wait may be
//! for its server to become idle and then for room in all, plus what is in flight.

use crate::policy::{Batch, Decision, Load, Policy, Setup};
use crate::queue::Lines;
use crate::request::{Request, RequestId};
use crate::room::Room;
use crate::time::{Span, Time};

/// A line for each server.
#[derive(Debug)]
pub struct Fifo(Lines);

impl Fifo {
    /// An empty queue for the servers of this setup.
    pub fn new(setup: &Setup) -> Fifo {
        Fifo(Lines::new(setup))
    }
}

impl Policy for Fifo {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn push(&mut self, _now: Time, request: Request) {
        self.0.push(&request);
    }

    fn next(&mut self, _now: Time, room: &Room) -> Decision {
        match self.0.oldest(room) {
            Some(slot) => Decision::Issue(Batch::one(self.0.remove(slot))),
            None if self.is_empty() => Decision::Empty,
            None => Decision::WaitUntil(Time::NEVER),
        }
    }

    fn pass(&mut self, _now: Time, room: &Room, request: &Request) -> bool {
        !room.is_full() && room.admits(request)
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.0.find(id).map(|slot| self.0.remove(slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.0.drain()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        load.in_order()
    }
}
