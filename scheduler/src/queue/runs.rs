//! A timeline that knows its neighbours: it gives out a request together with those it touches.

use super::{Neighbours, Timeline};
use crate::batch::Batch;
use crate::policy::Setup;
use crate::request::{Request, RequestId};
use crate::room::Limit;

/// Requests in order of arrival from which contiguous runs are taken, all in constant time.
#[derive(Debug)]
pub struct Runs {
    timeline: Timeline,
    neighbours: Neighbours,
    run: Vec<u32>,
}

impl Runs {
    /// Nothing queued for the servers of this setup.
    pub fn new(setup: &Setup) -> Runs {
        Runs { timeline: Timeline::new(setup), neighbours: Neighbours::new(), run: Vec::new() }
    }

    /// Adds a request as the youngest.
    pub fn push(&mut self, request: Request) {
        let slot = self.timeline.push(request);
        self.neighbours.add(self.timeline.pool(), slot);
    }

    /// Takes a request out alone.
    pub fn remove(&mut self, slot: u32) -> Request {
        self.neighbours.remove(self.timeline.pool(), slot);
        self.timeline.remove(slot)
    }

    /// Takes a request out together with its neighbours on both sides, as the limit allows.
    pub fn take(&mut self, slot: u32, limit: Limit) -> Batch {
        let mut run = std::mem::take(&mut self.run);
        self.neighbours.gather(self.timeline.pool(), slot, limit, &mut run);
        let batch = Batch::gathered(&run, |slot| self.remove(slot));
        self.run = run;
        batch
    }

    /// The slot of the request with this id.
    pub fn find(&mut self, id: RequestId) -> Option<u32> {
        self.timeline.find(id)
    }

    /// Takes all requests out, in order of arrival.
    pub fn drain(&mut self) -> Vec<Request> {
        self.neighbours.clear();
        self.timeline.drain()
    }

    /// The requests in order of arrival.
    #[inline]
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }
}
