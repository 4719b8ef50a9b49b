//! Time order with aggregation: the oldest request, taking its contiguous neighbours along.
//!
//! Published as TO-agg in AGIOS (Boito et al., 2015), where an arrival searches the whole queue for
//! somebody to join; here neighbours are found when one of them leaves, in constant time. Good where
//! `fifo` is, when requests are small.
//!
//! Waiting bound: that of `fifo`. A younger request may leave earlier in the company of an older
//! one, but never delays one that is older than its company by more than the batch it makes larger.

use crate::policy::{Decision, Limit, Load, Policy, Setup};
use crate::queue::Runs;
use crate::request::{Request, RequestId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Lines from which contiguous runs are taken.
#[derive(Debug)]
pub struct ToAgg {
    queue: Runs,
    batch: Limit,
}

impl ToAgg {
    /// An empty queue for the servers of this setup.
    pub fn new(setup: &Setup) -> ToAgg {
        ToAgg { queue: Runs::new(setup), batch: setup.batch }
    }
}

impl Policy for ToAgg {
    fn name(&self) -> &'static str {
        "to-agg"
    }

    fn push(&mut self, _now: Time, request: Request) {
        self.queue.push(&request);
    }

    fn next(&mut self, _now: Time, room: &Room) -> Decision {
        match self.queue.lines().oldest(room) {
            Some(slot) => {
                let server = self.queue.lines().get(slot).server;
                Decision::Issue(self.queue.take(slot, room.left(server).min(self.batch)))
            }
            None if self.is_empty() => Decision::Empty,
            None => Decision::WaitUntil(Time::NEVER),
        }
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.queue.find(id)?;
        Some(self.queue.remove(slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.queue.drain()
    }

    fn len(&self) -> usize {
        self.queue.lines().len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        load.in_order()
    }
}
