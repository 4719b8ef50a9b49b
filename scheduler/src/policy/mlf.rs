//! Multilevel feedback: objects in turn, each request when its growing quantum covers its length.
//!
//! Published in AGIOS (Boito et al., 2015) as aIOLi without the wait for completions. Good for many
//! small requests of several processes: they are sorted and merged, and large ones let them pass.
//! Lower offsets could go first for ever; here what has waited for long goes first.
//!
//! Waiting bound: the age and one hold, and then all that arrived before, in order.

mod gaining;
mod passes;

use passes::{Passes, Place, QUALIFIED};

use crate::batch::Batch;
use crate::policy::aging::{self, AGE, AGE_LEAST, AGE_MOST};
use crate::policy::hold::{self, HOLD, PastId, Pasts, REMEMBERED};
use crate::policy::{Decision, Limit, Load, OutOfRange, Policy, Setup};
use crate::queue::{CACHED, LaneKey, Lanes, Rotation, Row, Shelf, Timeline, approach};
use crate::request::{Request, RequestId, ServerId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Settings of [`Mlf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlfSettings {
    /// What a request gains in its first pass, in bytes; twice that with the second, and so on.
    /// Default 8 KiB, as published; 512 B to 1 GiB.
    pub quantum: u64,
    /// How long an object is held back for a better order. Default 0.9 ms, as published; up to 1 s.
    pub hold: Span,
    /// A request that has waited for so long goes first. Default 250 ms; 1 ms to 1 min.
    pub age: Span,
}

impl MlfSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        hold::check(self.hold, self.quantum)?;
        OutOfRange::unless("age", self.age.as_nanos(), AGE_LEAST, AGE_MOST)
    }
}

impl Default for MlfSettings {
    fn default() -> Self {
        MlfSettings { quantum: 8 << 10, hold: HOLD, age: AGE }
    }
}

/// Requests by object: those that gain quantum, and by offset those that qualify.
#[derive(Debug)]
pub struct Mlf {
    settings: MlfSettings,
    batch: Limit,
    queue: Timeline,
    shelf: Shelf,
    lanes: Lanes<Lane>,
    pasts: Pasts,
    servers: Vec<Passes>,
    rotation: Rotation,
    run: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    qualified: Row,
    place: Place,
    past: PastId,
}

impl Mlf {
    /// Empty queues for the servers of this setup.
    pub fn new(setup: &Setup, settings: MlfSettings) -> Mlf {
        Mlf {
            settings,
            batch: setup.batch,
            queue: Timeline::new(setup),
            shelf: Shelf::new(),
            lanes: Lanes::new(REMEMBERED),
            pasts: Pasts::default(),
            servers: (0..setup.servers).map(|_| Passes::default()).collect(),
            rotation: Rotation::new(setup),
            run: Vec::new(),
        }
    }

    fn lane(&self, slot: u32) -> u32 {
        let key = LaneKey::object(&self.queue.get(slot));
        self.lanes.find(key).expect("a queued request has a lane")
    }

    /// Puts the request that goes next to a server, and its company, into `run`; its lane.
    fn first(&mut self, now: Time, server: ServerId, room: &Room) -> Option<u32> {
        let limit = room.left(server).min(self.batch);
        if let Some(slot) = aging::overdue(&self.queue, server, now, self.settings.age) {
            let lane = self.lane_of_overdue(server, slot);
            self.gather(lane, slot, limit);
            return Some(lane);
        }
        self.qualify(server);
        self.end_holds(now, server);
        loop {
            let lane = match self.servers[server.index()].head() {
                Some(lane) => lane,
                None if self.pass(server) => continue,
                None => return None,
            };
            let slot = self.lanes.get(lane).qualified.lowest();
            let slot = slot.expect("a lane with a turn has somebody");
            self.gather(lane, slot, limit);
            let start = self.queue.get(slot).local;
            let past = self.pasts.get(self.lanes.get(lane).past);
            let Some(past) = past else { return Some(lane) };
            if !past.history.doubts(start, self.run.len()) {
                return Some(lane);
            }
            past.until = now + self.settings.hold;
            self.put(server, lane, Place::Held);
            self.end_holds(now, server);
            if self.queue.len() > CACHED {
                self.look_ahead(server);
            }
        }
    }

    fn gather(&mut self, lane: u32, slot: u32, limit: Limit) {
        let row = &self.lanes.get(lane).qualified;
        self.shelf.gather(row, self.queue.pool(), slot, limit, &mut self.run);
    }

    /// Begins a pass; whether any lane has a turn then.
    fn pass(&mut self, server: ServerId) -> bool {
        if !self.servers[server.index()].begin() {
            return false;
        }
        self.qualify(server);
        true
    }

    /// Moves requests of a server whose quantum covers them now to those that qualify: a few at a
    /// time, so that no call pays for a whole flood of arrivals.
    fn qualify(&mut self, server: ServerId) {
        let passes = &mut self.servers[server.index()];
        let Some(first) = passes.qualify() else { return };
        let mut slots = [first; AT_ONCE];
        let mut count = 1;
        while count < AT_ONCE
            && let Some(slot) = passes.qualify()
        {
            slots[count] = slot;
            count += 1;
        }
        if self.queue.len() > CACHED {
            let pool = self.queue.pool();
            slots[..count].iter().for_each(|&slot| pool.touch(slot));
            approach(&slots[..count], pool, &self.lanes);
        }
        for &slot in &slots[..count] {
            self.enter(server, slot);
        }
    }

    /// The lane of a request that is overdue, and so qualifies at once if it has not yet.
    fn lane_of_overdue(&mut self, server: ServerId, slot: u32) -> u32 {
        let mark = self.queue.pool().mark(slot);
        if mark == QUALIFIED {
            return self.lane(slot);
        }
        self.servers[server.index()].forget(slot, mark);
        self.enter(server, slot)
    }

    /// Lets a request qualify; its lane.
    fn enter(&mut self, server: ServerId, slot: u32) -> u32 {
        self.queue.pool_mut().set_mark(slot, QUALIFIED);
        let lane = self.lanes.of(LaneKey::object(&self.queue.get(slot)));
        let state = self.lanes.get_mut(lane);
        self.shelf.add(&mut state.qualified, self.queue.pool(), slot);
        if state.place == Place::Nowhere {
            self.put(server, lane, self.servers[server.index()].this());
        }
        lane
    }

    /// Begins to load what goes next: the lanes whose turns come, or what is overdue.
    fn prepare(&mut self, server: ServerId, overdue: bool) {
        if self.queue.len() <= CACHED {
            return;
        }
        if overdue {
            let (pasts, shelves) = (&self.pasts, (&self.lanes, &mut self.shelf));
            aging::prepare(&self.queue, server, shelves, |lane| {
                pasts.touch(lane.past);
                &lane.qualified
            });
        }
        self.look_ahead(server);
    }

    /// Begins to load what the lanes need that have their turns next, each thing once: what it is found by
    /// was asked for two turns before.
    fn look_ahead(&self, server: ServerId) {
        let mut next = self.servers[server.index()].head();
        for turn in 0..=TURNS_AHEAD {
            let Some(lane) = next else { return };
            if turn == TURNS_AHEAD {
                self.lanes.touch(lane);
                return;
            }
            let state = self.lanes.get(lane);
            match (turn, state.qualified.lowest()) {
                (1, Some(slot)) => self.queue.pool().touch_last(slot),
                (3, _) => {
                    self.shelf.touch_lowest(&state.qualified, self.queue.pool());
                    self.pasts.touch(state.past);
                }
                _ => {}
            }
            next = self.lanes.following(lane);
        }
    }

    fn end_holds(&mut self, now: Time, server: ServerId) {
        while let Some(lane) = self.servers[server.index()].released(now) {
            self.put(server, lane, self.servers[server.index()].this());
        }
    }

    /// Moves a lane from where it waits to another place.
    fn put(&mut self, server: ServerId, lane: u32, place: Place) {
        let passes = &mut self.servers[server.index()];
        let state = self.lanes.get_mut(lane);
        let before = std::mem::replace(&mut state.place, place);
        let past = Some(state.past).filter(|_| before == Place::Held || place == Place::Held);
        let until =
            past.and_then(|past| self.pasts.get(past)).map_or(Time::ZERO, |past| past.until);
        match before {
            Place::Nowhere => {}
            Place::Turn(ring) => self.lanes.dequeue(passes.ring(ring), lane),
            Place::Held => {
                assert!(passes.held.remove(&(until, lane)), "held lanes are listed")
            }
        }
        match place {
            Place::Nowhere => {}
            Place::Turn(ring) => self.lanes.enqueue(passes.ring(ring), lane),
            Place::Held => assert!(passes.held.insert((until, lane)), "it was not held"),
        }
    }

    fn issue(&mut self, server: ServerId, lane: u32) -> Batch {
        let run = std::mem::take(&mut self.run);
        let batch = Batch::gathered(&run, |slot| self.remove_from(lane, slot));
        self.run = run;
        let extent = batch.local_extent();
        let state = self.lanes.get_mut(lane);
        let past = self.pasts.of(&mut state.past);
        past.history.note(extent.offset, extent.end(), batch.members());
        let next = self.servers[server.index()].next();
        let place = if state.qualified.count() > 0 { next } else { Place::Nowhere };
        self.put(server, lane, place);
        self.retire_if_empty(lane);
        self.rotation.served(server);
        batch
    }

    /// Takes a request that qualifies out of its lane and of the queue.
    fn remove_from(&mut self, lane: u32, slot: u32) -> Request {
        let row = &mut self.lanes.get_mut(lane).qualified;
        self.shelf.remove(row, self.queue.pool(), slot);
        self.queue.remove(slot)
    }

    /// Retires a lane of which nothing qualifies.
    fn retire_if_empty(&mut self, lane: u32) {
        if self.lanes.get(lane).qualified.count() == 0
            && let Some(forgotten) = self.lanes.retire(lane)
        {
            self.pasts.forget(forgotten.past);
        }
    }
}

impl Policy for Mlf {
    fn name(&self) -> &'static str {
        "mlf"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let slot = self.queue.push(request);
        let passes = hold::passes(request.length(), self.settings.quantum);
        let mark = self.servers[request.server.index()].gain(slot, passes);
        self.queue.pool_mut().set_mark(slot, mark);
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        if self.is_empty() {
            return Decision::Empty;
        }
        if !room.is_full() {
            for server in self.rotation.order() {
                if let Some(lane) = self.first(now, server, room)
                    && room.admits(&self.queue.get(self.run[0]))
                {
                    let batch = self.issue(server, lane);
                    self.prepare(server, aging::is_overdue(batch.first(), now, self.settings.age));
                    return Decision::Issue(batch);
                }
            }
        }
        let ends = self.servers.iter().filter_map(Passes::wake);
        let wake = ends.filter(|&until| until > now).min();
        Decision::WaitUntil(wake.unwrap_or(Time::NEVER))
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.queue.find(id)?;
        let (server, mark) = (self.queue.get(slot).server, self.queue.pool().mark(slot));
        if mark != QUALIFIED {
            self.servers[server.index()].forget(slot, mark);
            return Some(self.queue.remove(slot));
        }
        let lane = self.lane(slot);
        let request = self.remove_from(lane, slot);
        if self.lanes.get(lane).qualified.count() == 0 {
            self.put(server, lane, Place::Nowhere);
        }
        self.retire_if_empty(lane);
        Some(request)
    }

    fn drain(&mut self) -> Vec<Request> {
        self.shelf.clear();
        self.lanes.clear();
        self.pasts = Pasts::default();
        self.servers.iter_mut().for_each(|passes| *passes = Passes::default());
        self.queue.drain()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        self.settings.hold + aging::bound(load, self.settings.age)
    }
}

/// Requests that qualify in one call: more than arrive between two, so that none stays behind.
const AT_ONCE: usize = 32;

/// Lanes that are loaded before it is their turn: some are held back when it comes.
const TURNS_AHEAD: usize = 5;
