//! Lines that know their neighbours: they give out a request together with those it touches.

use super::{Front, Lines, Neighbours};
use crate::batch::Batch;
use crate::policy::Setup;
use crate::request::{Request, RequestId, ServerId};
use crate::room::Limit;

/// Requests in order of arrival from which contiguous runs are taken, all in constant time.
#[derive(Debug)]
pub struct Runs {
    lines: Lines,
    fronts: Vec<Front>,
    neighbours: Neighbours,
    run: Vec<u32>,
}

impl Runs {
    /// Nothing queued for the servers of this setup.
    pub fn new(setup: &Setup) -> Runs {
        Runs {
            lines: Lines::new(setup),
            fronts: vec![Front::new(); setup.servers as usize],
            neighbours: Neighbours::new(setup, 0),
            run: Vec::new(),
        }
    }

    /// Adds a request as the youngest.
    pub fn push(&mut self, request: &Request) {
        let slot = self.lines.push(request);
        let line = self.lines.queue(request.server).line();
        let front = &mut self.fronts[request.server.index()];
        front.join(&mut self.neighbours, self.lines.pages(), line, slot);
    }

    /// Takes a request out alone.
    pub fn remove(&mut self, slot: u32) -> Request {
        let server = self.lines.get(slot).server;
        let line = self.lines.queue(server).line();
        let front = &mut self.fronts[server.index()];
        front.leave(&mut self.neighbours, self.lines.pages(), line, slot);
        self.lines.remove(slot)
    }

    /// Takes a request out together with its neighbours on both sides, as the limit allows.
    pub fn take(&mut self, slot: u32, limit: Limit) -> Batch {
        let mut run = std::mem::take(&mut self.run);
        self.neighbours.gather(self.lines.pages(), slot, limit, &mut run);
        let batch = Batch::gathered(&run, |slot| self.remove(slot));
        self.run = run;
        batch
    }

    /// How many requests and bytes would be taken out with one, itself included.
    pub fn company(&self, slot: u32, limit: Limit) -> Limit {
        let mut run = Vec::with_capacity(USUAL);
        self.neighbours.gather(self.lines.pages(), slot, limit, &mut run);
        let bytes = run.iter().map(|&slot| self.lines.get(slot).length()).sum();
        Limit::new(run.len() as u32, bytes)
    }

    /// Of the oldest requests of a server, as many as are looked through, the one of the same object
    /// as the very oldest that lies before all others of it.
    pub fn hindmost(&self, server: ServerId) -> Option<u32> {
        let queue = self.lines.queue(server);
        let oldest = self.lines.get(queue.head()?);
        let front = self.lines.pages().walk(queue.line()).take(LOOKED_THROUGH);
        let of_it = front.map(|slot| (self.lines.get(slot), slot)).filter(|(request, _)| {
            request.file == oldest.file && request.operation == oldest.operation
        });
        of_it.min_by_key(|(request, _)| request.local).map(|(_, slot)| slot)
    }

    /// The slot of the request with this id.
    pub fn find(&mut self, id: RequestId) -> Option<u32> {
        self.lines.find(id)
    }

    /// Takes all requests out, in order of arrival.
    pub fn drain(&mut self) -> Vec<Request> {
        self.neighbours.clear();
        self.fronts.fill(Front::new());
        self.lines.drain()
    }

    /// The requests in order of arrival.
    #[inline]
    pub const fn lines(&self) -> &Lines {
        &self.lines
    }
}

/// Members that a batch has at most as a rule.
const USUAL: usize = 16;
/// Requests of a line that are looked through one by one: more than go together as a rule.
const LOOKED_THROUGH: usize = 64;
