//! aIOLi: objects in the order of their oldest need, each served for a quantum that adapts.
//!
//! Published by Lebre et al. (2006), and for data servers in AGIOS (Boito et al., 2013). Good for
//! large requests of several processes to few files on disks: it waits for each batch, sorts and
//! merges meanwhile, and stays with an object as long as that pays. As published it starves; here
//! what has waited for long goes first.
//!
//! Waiting bound: the age and one hold, and then all that arrived before, in order.

mod turns;

use turns::{Place, Turns};

use crate::batch::Batch;
use crate::policy::aging::{self, AGE, AGE_LEAST, AGE_MOST};
use crate::policy::hold::{self, HOLD, PastId, Pasts, REMEMBERED, passes};
use crate::policy::{Decision, Limit, Load, OutOfRange, Policy, Setup};
use crate::queue::{CACHED, LaneKey, Lanes, Lobby, Rotation, Row, Shelf, Timeline, approach};
use crate::request::{Request, RequestId, ServerId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Settings of [`Aioli`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AioliSettings {
    /// What a request gains in its first pass and an object may issue in its first turn, in bytes.
    /// Default 64 KiB, the stripe of most file systems; 512 B to 1 GiB.
    pub quantum: u64,
    /// How long an object is held back for a better order. Default 0.9 ms, as published; up to 1 s.
    pub hold: Span,
    /// A request that has waited for so long goes first. Default 250 ms; 1 ms to 1 min.
    pub age: Span,
}

impl AioliSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        hold::check(self.hold, self.quantum)?;
        OutOfRange::unless("age", self.age.as_nanos(), AGE_LEAST, AGE_MOST)
    }
}

impl Default for AioliSettings {
    fn default() -> Self {
        AioliSettings { quantum: 64 << 10, hold: HOLD, age: AGE }
    }
}

/// Requests by object and offset, and at each server the object whose turn it is.
#[derive(Debug)]
pub struct Aioli {
    settings: AioliSettings,
    batch: Limit,
    queue: Timeline,
    shelf: Shelf,
    lanes: Lanes<Lane>,
    pasts: Pasts,
    servers: Vec<Turns>,
    rotation: Rotation,
    run: Vec<u32>,
    /// None in it is for an object that has its turn.
    lobby: Lobby,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    place: Place,
    past: PastId,
    row: Row,
}

impl Aioli {
    /// Empty queues for the servers of this setup.
    pub fn new(setup: &Setup, settings: AioliSettings) -> Aioli {
        Aioli {
            settings,
            batch: setup.batch,
            queue: Timeline::new(setup),
            shelf: Shelf::new(),
            lanes: Lanes::new(REMEMBERED),
            pasts: Pasts::default(),
            servers: (0..setup.servers).map(|_| Turns::default()).collect(),
            rotation: Rotation::new(setup),
            run: Vec::new(),
            lobby: Lobby::new(),
        }
    }

    fn lane(&self, slot: u32) -> u32 {
        let key = LaneKey::object(&self.queue.get(slot));
        self.lanes.find(key).expect("a queued request has a lane")
    }

    /// Puts the batch that goes next to a server into `run`; its lane.
    fn first(&mut self, now: Time, server: ServerId, room: &Room) -> Option<u32> {
        let limit = room.left(server).min(self.batch);
        if let Some(slot) = aging::overdue(&self.queue, server, now, self.settings.age) {
            if self.servers[server.index()].turn.is_none() || self.lobby.has(slot) {
                self.settle(); // None of an object that has its turn stays in the lobby.
            }
            let lane = self.lane(slot);
            self.gather(lane, slot, limit);
            if self.lobby.could_join(self.queue.pool(), &self.run) {
                self.settle();
                self.gather(lane, slot, limit);
            }
            return Some(lane);
        }
        if let Some(lane) = self.go_on(server, limit) {
            return Some(lane);
        }
        self.settle();
        self.end_holds(now, server);
        loop {
            let arrived = self.queue.pool().pushed();
            let lane = self.servers[server.index()].oldest(arrived)?;
            let slot = self.lanes.get(lane).row.lowest().expect("a lane that waits has requests");
            self.gather(lane, slot, limit);
            let start = self.queue.get(slot).local;
            let past = self.pasts.get(self.lanes.get(lane).past);
            let Some(past) = past else { return Some(lane) };
            if !past.history.doubts(start, self.run.len()) {
                return Some(lane);
            }
            past.until = now + self.settings.hold;
            self.put(server, lane, Place::HELD);
            self.end_holds(now, server);
        }
    }

    fn gather(&mut self, lane: u32, slot: u32, limit: Limit) {
        let row = &self.lanes.get(lane).row;
        self.shelf.gather(row, self.queue.pool(), slot, limit, &mut self.run);
    }

    /// The object whose turn has begun, if its next request fits in what is left of its quantum.
    fn go_on(&mut self, server: ServerId, limit: Limit) -> Option<u32> {
        let (lane, used) = self.servers[server.index()].turn?;
        let rest = self.quantum(lane).saturating_sub(used);
        let slot = self.lanes.get(lane).row.lowest();
        match slot.filter(|&slot| self.queue.get(slot).length() <= rest) {
            Some(slot) => {
                self.gather(lane, slot, limit.min(Limit::new(limit.requests, rest)));
                Some(lane)
            }
            None => {
                self.end_turn(server, lane, used);
                None
            }
        }
    }

    /// Bytes that a lane may issue in its turn; it has had one.
    fn quantum(&mut self, lane: u32) -> u64 {
        self.pasts.get(self.lanes.get(lane).past).map_or(0, |past| past.quantum)
    }

    /// Adapts the quantum of an object to what it made of its turn; everybody gains by a pass.
    fn end_turn(&mut self, server: ServerId, lane: u32, used: u64) {
        let default = self.settings.quantum;
        let quantum = &mut self.pasts.of(&mut self.lanes.get_mut(lane).past).quantum;
        let adapted = match used.saturating_mul(100) / (*quantum).max(1) {
            175.. => *quantum * 2,
            125.. => *quantum + *quantum / 2,
            75.. => *quantum,
            _ => *quantum / 2,
        };
        *quantum = adapted.clamp(1, default.saturating_mul(16));
        self.servers[server.index()].turn = None;
        self.servers[server.index()].pass(self.queue.pool().pushed());
        self.changed(server, lane);
    }

    fn end_holds(&mut self, now: Time, server: ServerId) {
        while let Some(lane) = self.servers[server.index()].release(now) {
            self.lanes.get_mut(lane).place = Place::NOWHERE;
            self.place_by_head(server, lane);
        }
    }

    /// Puts a lane where its head says: the request with the lowest offset.
    fn place_by_head(&mut self, server: ServerId, lane: u32) {
        let place = match self.lanes.get(lane).row.lowest() {
            None => Place::NOWHERE,
            Some(slot) => {
                let order = self.queue.pool().order(slot);
                let needed = passes(self.queue.get(slot).length(), self.settings.quantum);
                let due = self.servers[server.index()].entered(order) + u64::from(needed);
                Place::waiting(due, order)
            }
        };
        self.put(server, lane, place);
    }

    fn put(&mut self, server: ServerId, lane: u32, place: Place) {
        let Lane { place: before, past, .. } = *self.lanes.get(lane);
        self.lanes.get_mut(lane).place = place;
        let until = self.pasts.get(past).map_or(Time::ZERO, |past| past.until);
        self.servers[server.index()].put(lane, before, place, until);
    }

    /// Takes note that requests came to or left a lane.
    fn changed(&mut self, server: ServerId, lane: u32) {
        let (place, queued) = (self.lanes.get(lane).place, self.lanes.get(lane).row.count());
        let in_turn = self.servers[server.index()].turn.is_some_and(|(turn, _)| turn == lane);
        let held = place == Place::HELD && queued > 0;
        if !in_turn && !held {
            self.place_by_head(server, lane);
        }
        if queued == 0 && !in_turn {
            self.settle();
            if let Some(forgotten) = self.lanes.retire(lane) {
                self.pasts.forget(forgotten.past);
            }
        }
    }

    fn issue(&mut self, server: ServerId, lane: u32) -> Batch {
        let run = std::mem::take(&mut self.run);
        let batch = Batch::gathered(&run, |slot| self.remove_from(lane, slot));
        self.run = run;
        let extent = batch.local_extent();
        let past = self.pasts.of(&mut self.lanes.get_mut(lane).past);
        past.history.note(extent.offset, extent.end(), batch.members());
        past.quantum = if past.quantum == 0 { self.settings.quantum } else { past.quantum };
        self.take_turn(server, lane, extent.length);
        self.rotation.served(server);
        batch
    }

    /// Begins to load what goes next.
    fn prepare(&mut self, server: ServerId, overdue: bool) {
        if self.queue.len() <= CACHED || !overdue {
            return;
        }
        let shelves = (&self.lanes, &mut self.shelf);
        aging::prepare(&self.queue, server, shelves, |lane| &lane.row);
    }

    /// Charges a batch to the turn of its lane, which begins with it unless it has begun.
    fn take_turn(&mut self, server: ServerId, lane: u32, bytes: u64) {
        match self.servers[server.index()].turn {
            Some((turn, used)) if turn == lane => {
                self.servers[server.index()].turn = Some((lane, used + bytes));
            }
            Some(_) => self.changed(server, lane),
            None => {
                if self.queue.len() > CACHED {
                    self.shelf.touch_requests(&self.lanes.get(lane).row, self.queue.pool());
                }
                self.put(server, lane, Place::NOWHERE);
                self.servers[server.index()].turn = Some((lane, bytes));
            }
        }
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
        let row = &mut self.lanes.get_mut(lane).row;
        let head = row.lowest();
        self.shelf.add(row, self.queue.pool(), slot);
        if row.lowest() != head {
            self.changed(request.server, lane);
        }
    }

    fn remove_from(&mut self, lane: u32, slot: u32) -> Request {
        let row = &mut self.lanes.get_mut(lane).row;
        self.shelf.remove(row, self.queue.pool(), slot);
        if let Some(next) = row.lowest() {
            self.queue.pool().touch_leaving(next);
        }
        self.queue.remove(slot)
    }
}

impl Policy for Aioli {
    fn name(&self) -> &'static str {
        "aioli"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let slot = self.queue.push(request);
        let turn = self.servers[request.server.index()].turn;
        let has_turn =
            turn.is_some_and(|(lane, _)| self.lanes.key(lane) == LaneKey::object(&request));
        if has_turn || !self.lobby.admit(self.queue.len(), slot) {
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
                if room.in_flight(server) == 0
                    && let Some(lane) = self.first(now, server, room)
                    && room.admits(&self.queue.get(self.run[0]))
                {
                    let batch = self.issue(server, lane);
                    self.prepare(server, aging::is_overdue(batch.first(), now, self.settings.age));
                    return Decision::Issue(batch);
                }
            }
        }
        let ends = self.servers.iter().filter_map(Turns::wake);
        let wake = ends.filter(|&until| until > now).min();
        Decision::WaitUntil(wake.unwrap_or(Time::NEVER))
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.settle();
        let slot = self.queue.find(id)?;
        let lane = self.lane(slot);
        let request = self.remove_from(lane, slot);
        self.changed(request.server, lane);
        Some(request)
    }

    fn drain(&mut self) -> Vec<Request> {
        self.lobby.empty();
        self.shelf.clear();
        self.lanes.clear();
        self.pasts = Pasts::default();
        self.servers.iter_mut().for_each(|turns| *turns = Turns::default());
        self.queue.drain()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        self.settings.hold + aging::bound(load, self.settings.age)
    }
}
