//! No policy: a request goes out when it arrives, or as soon after as the bounds on what is in
//! flight allow, and never together with another.
//!
//! NOOP in AGIOS. Good for measuring what a policy gains or costs, and for devices that sort requests
//! better themselves.
//!
//! Waiting bound: that of `fifo`, whose order the requests keep when they must wait at all.

use crate::policy::{Decision, Fifo, Load, Policy, Setup};
use crate::request::{Request, RequestId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Holds only what the bounds hold back.
#[derive(Debug)]
pub struct Noop(Fifo);

impl Noop {
    /// Holds nothing yet.
    pub fn new(setup: &Setup) -> Noop {
        Noop(Fifo::new(setup))
    }
}

impl Policy for Noop {
    fn name(&self) -> &'static str {
        "none"
    }

    fn push(&mut self, now: Time, request: Request) {
        self.0.push(now, request);
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        self.0.next(now, room)
    }

    fn pass(&mut self, now: Time, room: &Room, request: &Request) -> bool {
        self.0.pass(now, room, request)
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.0.cancel(id)
    }

    fn drain(&mut self) -> Vec<Request> {
        self.0.drain()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        self.0.waiting_bound(load)
    }
}
