//! Shortest job first: the object with the fewest queued bytes, from its lowest offset on.
//!
//! Published for parallel file systems in AGIOS (Boito et al., 2015); a job is a file's queue, not a
//! request. Good for many files of different sizes: small ones do not wait for large ones. As
//! published it starves the large; here what has waited for long goes first.
//!
//! Waiting bound: the age, and then all that arrived before, in order.

use crate::batch::Batch;
use crate::policy::aging::{self, AGE, AGE_LEAST, AGE_MOST};
use crate::policy::{Decision, Limit, Load, OutOfRange, Policy, Setup};
use crate::queue::{CACHED, Heap, LaneKey, Lanes, Lobby, Rotation, Row, Shelf, Timeline, approach};
use crate::request::{Request, RequestId, ServerId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Settings of [`Sjf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SjfSettings {
    /// A request that has waited for so long goes first. Default 250 ms, well above the wait in a
    /// queue that moves; 1 ms to 1 min.
    pub age: Span,
}

impl SjfSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless("age", self.age.as_nanos(), AGE_LEAST, AGE_MOST)
    }
}

impl Default for SjfSettings {
    fn default() -> Self {
        SjfSettings { age: AGE }
    }
}

/// Requests by object and offset, and the objects of each server by queued bytes.
#[derive(Debug)]
pub struct Sjf {
    settings: SjfSettings,
    batch: Limit,
    queue: Timeline,
    shelf: Shelf,
    lanes: Lanes<Lane>,
    sizes: Vec<Heap>,
    rotation: Rotation,
    run: Vec<u32>,
    lobby: Lobby,
}

/// The requests of one object.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    bytes: u64,
    row: Row,
    /// Its place among the sizes of its server.
    place: u32,
}

impl Sjf {
    /// Empty queues for the servers of this setup.
    pub fn new(setup: &Setup, settings: SjfSettings) -> Sjf {
        Sjf {
            settings,
            batch: setup.batch,
            queue: Timeline::new(setup),
            shelf: Shelf::new(),
            lanes: Lanes::new(0),
            sizes: vec![Heap::new(); setup.servers as usize],
            rotation: Rotation::new(setup),
            run: Vec::new(),
            lobby: Lobby::new(),
        }
    }

    fn lane(&self, slot: u32) -> u32 {
        let key = LaneKey::object(&self.queue.get(slot));
        self.lanes.find(key).expect("a queued request has a lane")
    }

    /// The request that goes next to a server, and its lane.
    fn first(&mut self, now: Time, server: ServerId) -> Option<(u32, u32)> {
        if let Some(slot) = aging::overdue(&self.queue, server, now, self.settings.age) {
            if self.lobby.has(slot) {
                self.settle();
            }
            return Some((self.lane(slot), slot));
        }
        self.settle();
        let lane = self.sizes[server.index()].first()?;
        Some((lane, self.lanes.get(lane).row.lowest()?))
    }

    fn issue(&mut self, room: &Room, lane: u32, slot: u32) -> Batch {
        let server = self.queue.get(slot).server;
        let mut run = std::mem::take(&mut self.run);
        let limit = room.left(server).min(self.batch);
        self.gather(lane, slot, limit, &mut run);
        if self.lobby.could_join(self.queue.pool(), &run) {
            self.settle();
            self.gather(lane, slot, limit, &mut run);
        }
        self.rotation.served(server);
        let batch = Batch::gathered(&run, |slot| self.remove(lane, slot));
        self.run = run;
        batch
    }

    fn gather(&mut self, lane: u32, slot: u32, limit: Limit, run: &mut Vec<u32>) {
        self.shelf.gather(&self.lanes.get(lane).row, self.queue.pool(), slot, limit, run);
    }

    /// Puts the requests of the lobby into their lanes.
    fn settle(&mut self) {
        if self.lobby.is_empty() {
            return;
        }
        let slots = self.lobby.empty();
        approach(&slots, self.queue.pool(), &self.lanes);
        slots.iter().for_each(|&slot| self.place(slot));
        self.lobby.give_back(slots);
    }

    fn place(&mut self, slot: u32) {
        let request = self.queue.get(slot);
        let lane = self.lanes.of(LaneKey::object(&request));
        let state = self.lanes.get_mut(lane);
        self.sizes[request.server.index()].touch(state.place);
        self.shelf.add(&mut state.row, self.queue.pool(), slot);
        let bytes = state.bytes;
        self.resize(request.server, lane, bytes + size(&request));
    }

    /// Begins to load what goes next.
    fn prepare(&mut self, server: ServerId, overdue: bool) {
        if self.queue.len() <= CACHED {
            return;
        }
        if overdue {
            let shelves = (&self.lanes, &mut self.shelf);
            aging::prepare(&self.queue, server, shelves, |lane| &lane.row);
        }
        if let Some(lane) = self.sizes[server.index()].first() {
            self.lanes.touch(lane);
        }
        let next = (server.index() + 1) % self.sizes.len();
        if let Some(lane) = self.sizes[next].first()
            && let Some(slot) = self.lanes.get(lane).row.lowest()
        {
            self.queue.pool().touch_last(slot);
        }
        let soon = (server.index() + 2) % self.sizes.len();
        if let Some(lane) = self.sizes[soon].first() {
            let lane = self.lanes.get(lane);
            self.shelf.touch_lowest(&lane.row, self.queue.pool());
        }
    }

    fn remove(&mut self, lane: u32, slot: u32) -> Request {
        if self.lanes.get(lane).row.count() == 1 {
            self.settle(); // Those in the lobby came before the lane goes.
        }
        let state = self.lanes.get_mut(lane);
        self.shelf.remove(&mut state.row, self.queue.pool(), slot);
        let request = self.queue.remove(slot);
        let bytes = state.bytes;
        self.resize(request.server, lane, bytes - size(&request));
        request
    }

    /// Moves a lane to the place of its new size; one without any leaves.
    fn resize(&mut self, server: ServerId, lane: u32, to: u64) {
        let sizes = &mut self.sizes[server.index()];
        let state = self.lanes.get_mut(lane);
        let place = state.place;
        let from = std::mem::replace(&mut state.bytes, to);
        let moved = |lane: u32, place: u32| self.lanes.get_mut(lane).place = place;
        match (from, to) {
            (0, _) => sizes.insert(to, lane, moved),
            (_, 0) => sizes.remove(place, moved),
            _ => sizes.change(place, to, moved),
        }
        if to == 0 {
            self.lanes.retire(lane);
        }
    }
}

impl Policy for Sjf {
    fn name(&self) -> &'static str {
        "sjf"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let slot = self.queue.push(request);
        if !self.lobby.admit(self.queue.len(), slot) {
            self.settle();
            self.place(slot);
        }
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        if self.is_empty() {
            return Decision::Empty;
        }
        if !room.is_full() {
            for server in self.rotation.order() {
                if let Some((lane, slot)) = self.first(now, server)
                    && room.admits(&self.queue.get(slot))
                {
                    let batch = self.issue(room, lane, slot);
                    self.prepare(server, aging::is_overdue(batch.first(), now, self.settings.age));
                    return Decision::Issue(batch);
                }
            }
        }
        Decision::WaitUntil(Time::NEVER)
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.settle();
        let slot = self.queue.find(id)?;
        let lane = self.lane(slot);
        Some(self.remove(lane, slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.lobby.empty();
        self.shelf.clear();
        self.lanes.clear();
        self.sizes.iter_mut().for_each(Heap::clear);
        self.queue.drain()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        aging::bound(load, self.settings.age)
    }
}

/// What a request adds to the size of its lane: never nothing, so that an empty lane is one of size 0.
fn size(request: &Request) -> u64 {
    request.length().max(1)
}
