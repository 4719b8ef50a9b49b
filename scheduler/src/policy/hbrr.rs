//! Handle-based round robin: each object in turn, a few merged ranges at a time.
//!
//! Published by Ohta et al. (2010) as the second scheduler of IOFSL, whose settings call it "merge".
//! Good for many files at once: none starves, and ranges that touch go out together.
//!
//! Waiting bound: a request needs as many turns of its object as there are quanta of requests ahead
//! of it, and between two turns every other object has one.

use crate::batch::Batch;
use crate::policy::{Decision, Limit, Load, OutOfRange, Policy, Setup};
use crate::queue::{Front, LaneKey, Lanes, Line, Neighbours, Pages, Ring, Rotation};
use crate::request::{Request, RequestId, ServerId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Settings of [`Hbrr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HbrrSettings {
    /// Merged ranges that an object may issue in its turn. Default 8, as in IOFSL; 1 to 1,024, as
    /// the others wait for it.
    pub quantum: u32,
}

impl HbrrSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless("quantum", self.quantum.into(), 1, 1_024)
    }
}

impl Default for HbrrSettings {
    fn default() -> Self {
        HbrrSettings { quantum: 8 }
    }
}

/// A queue per object in order of arrival, and the objects of each server in a ring.
#[derive(Debug)]
pub struct Hbrr {
    settings: HbrrSettings,
    batch: Limit,
    pages: Pages,
    neighbours: Neighbours,
    lanes: Lanes<Lane>,
    servers: Vec<Turns>,
    rotation: Rotation,
    run: Vec<u32>,
}

/// The requests of one object.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    line: Line,
    front: Front,
}

/// Whose turn it is at one server, and how many ranges are left of it.
#[derive(Clone, Copy, Debug)]
struct Turns {
    ring: Ring,
    left: u32,
}

impl Hbrr {
    /// Empty queues for the servers of this setup.
    pub fn new(setup: &Setup, settings: HbrrSettings) -> Hbrr {
        let turns = Turns { ring: Ring::new(), left: settings.quantum };
        Hbrr {
            settings,
            batch: setup.batch,
            pages: Pages::new(),
            neighbours: Neighbours::new(setup, SHORT),
            lanes: Lanes::new(0),
            servers: vec![turns; setup.servers as usize],
            rotation: Rotation::new(setup),
            run: Vec::new(),
        }
    }

    /// The oldest request of the object whose turn it is, at the first server with room for it.
    fn choose(&self, room: &Room) -> Option<(ServerId, u32, u32)> {
        if room.is_full() {
            return None;
        }
        self.rotation.order().find_map(|server| {
            let lane = self.servers[server.index()].ring.head()?;
            let slot = self.lanes.get(lane).line.head()?;
            room.admits(&self.pages.get(slot)).then_some((server, lane, slot))
        })
    }

    fn issue(&mut self, room: &Room, server: ServerId, lane: u32, slot: u32) -> Batch {
        let mut run = std::mem::take(&mut self.run);
        let limit = room.left(server).min(self.batch);
        let Lane { line, front } = self.lanes.get_mut(lane);
        front.show(&mut self.neighbours, &self.pages, line);
        self.neighbours.gather(&self.pages, slot, limit, &mut run);
        self.rotation.served(server);
        self.servers[server.index()].left -= 1;
        let batch = Batch::gathered(&run, |slot| self.remove(lane, slot));
        self.run = run;
        if self.servers[server.index()].left == 0 {
            self.end_turn(server);
        }
        batch
    }

    /// Lets the next object of a server have its turn.
    fn end_turn(&mut self, server: ServerId) {
        let turns = &mut self.servers[server.index()];
        turns.left = self.settings.quantum;
        if let Some(lane) = turns.ring.head() {
            let Lane { line, front } = self.lanes.get_mut(lane);
            front.hide(&mut self.neighbours, &self.pages, line);
            self.lanes.dequeue(&mut turns.ring, lane);
            self.lanes.enqueue(&mut turns.ring, lane);
        }
    }

    /// Takes a request out, and its lane too if it was the last one.
    fn remove(&mut self, lane: u32, slot: u32) -> Request {
        let Lane { line, front } = self.lanes.get_mut(lane);
        front.leave(&mut self.neighbours, &self.pages, line, slot);
        let request = self.pages.remove(line, slot);
        if line.is_empty() {
            let turns = &mut self.servers[request.server.index()];
            if turns.ring.head() == Some(lane) {
                turns.left = self.settings.quantum;
            }
            self.lanes.dequeue(&mut turns.ring, lane);
            self.lanes.retire(lane);
        }
        request
    }
}

impl Policy for Hbrr {
    fn name(&self) -> &'static str {
        "hbrr"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let lane = self.lanes.of(LaneKey::object(&request));
        if self.lanes.get(lane).line.is_empty() {
            self.lanes.enqueue(&mut self.servers[request.server.index()].ring, lane);
        }
        let Lane { line, front } = self.lanes.get_mut(lane);
        let slot = self.pages.append(line, &request);
        front.join(&mut self.neighbours, &self.pages, line, slot);
    }

    fn next(&mut self, _now: Time, room: &Room) -> Decision {
        match self.choose(room) {
            Some((server, lane, slot)) => Decision::Issue(self.issue(room, server, lane, slot)),
            None if self.is_empty() => Decision::Empty,
            None => Decision::WaitUntil(Time::NEVER),
        }
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.pages.find(id)?;
        let lane = self.lanes.find(LaneKey::object(&self.pages.get(slot)))?;
        Some(self.remove(lane, slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.neighbours.clear();
        self.lanes.clear();
        self.servers.fill(Turns { ring: Ring::new(), left: self.settings.quantum });
        self.pages.drain()
    }

    fn len(&self) -> usize {
        self.pages.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        let quantum = u64::from(self.settings.quantum);
        let turns = load.ahead / quantum + 1;
        let batches = turns.saturating_mul(quantum).saturating_mul(load.lanes.max(1));
        load.in_rotation(batches)
    }
}

/// Where there are many objects, those with up to so many requests are looked through for neighbours
/// when they have their turn, not before: then they are in the cache.
const SHORT: usize = 32;
