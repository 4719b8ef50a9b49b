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
use crate::queue::{LaneKey, Lanes, Rotation, Shelf, Sorted, Timeline};
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
    lanes: Lanes<u64>,
    sizes: Vec<Sorted>,
    rotation: Rotation,
    run: Vec<u32>,
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
            sizes: vec![Sorted::new(); setup.servers as usize],
            rotation: Rotation::new(setup),
            run: Vec::new(),
        }
    }

    fn lane(&self, slot: u32) -> u32 {
        let key = LaneKey::object(&self.queue.get(slot));
        self.lanes.find(key).expect("a queued request has a lane")
    }

    /// The request that goes next to a server, and its lane.
    fn first(&self, now: Time, server: ServerId) -> Option<(u32, u32)> {
        if let Some(slot) = aging::overdue(&self.queue, server, now, self.settings.age) {
            return Some((self.lane(slot), slot));
        }
        let lane = self.sizes[server.index()].first()? as u32;
        Some((lane, self.shelf.lowest(lane)?))
    }

    fn issue(&mut self, room: &Room, lane: u32, slot: u32) -> Batch {
        let server = self.queue.get(slot).server;
        let mut run = std::mem::take(&mut self.run);
        let limit = room.left(server).min(self.batch);
        self.shelf.gather(lane, self.queue.pool(), slot, limit, &mut run);
        self.rotation.served(server);
        let batch = Batch::gathered(&run, |slot| self.remove(lane, slot));
        self.run = run;
        batch
    }

    fn remove(&mut self, lane: u32, slot: u32) -> Request {
        self.shelf.remove(lane, self.queue.pool(), slot);
        let request = self.queue.remove(slot);
        let bytes = *self.lanes.get(lane);
        self.resize(request.server, lane, bytes, bytes - size(&request));
        request
    }

    /// Moves a lane to the place of its new size; one without any leaves.
    fn resize(&mut self, server: ServerId, lane: u32, from: u64, to: u64) {
        let sizes = &mut self.sizes[server.index()];
        if from > 0 {
            sizes.remove(by_size(from, lane));
        }
        if to == 0 {
            self.lanes.retire(lane);
        } else {
            *self.lanes.get_mut(lane) = to;
            sizes.insert(by_size(to, lane));
        }
    }
}

impl Policy for Sjf {
    fn name(&self) -> &'static str {
        "sjf"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let slot = self.queue.push(request);
        let lane = self.lanes.of(LaneKey::object(&request));
        self.shelf.add(lane, self.queue.pool(), slot);
        let bytes = *self.lanes.get(lane);
        self.resize(request.server, lane, bytes, bytes + size(&request));
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
                    return Decision::Issue(self.issue(room, lane, slot));
                }
            }
        }
        Decision::WaitUntil(Time::NEVER)
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.queue.find(id)?;
        let lane = self.lane(slot);
        Some(self.remove(lane, slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.shelf.clear();
        self.lanes.clear();
        self.sizes.iter_mut().for_each(Sorted::clear);
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

/// A size and a lane as one number that sorts by them.
const fn by_size(bytes: u64, lane: u32) -> u128 {
    (bytes as u128) << 32 | lane as u128
}
