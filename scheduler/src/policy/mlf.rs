//! Multilevel feedback: objects in turn, each request when its growing quantum covers its length.
//!
//! Published in AGIOS (Boito et al., 2015) as aIOLi without the wait for completions. Good for many
//! small requests of several processes: they are sorted and merged, and large ones let them pass.
//! Lower offsets could go first for ever; here what has waited for long goes first.
//!
//! Waiting bound: the age and one hold, and then all that arrived before, in order.

use std::collections::BTreeSet;

use crate::batch::Batch;
use crate::policy::aging::{self, AGE, AGE_LEAST, AGE_MOST};
use crate::policy::hold::{self, HOLD, History, REMEMBERED, passes};
use crate::policy::{Decision, Limit, Load, OutOfRange, Policy, Setup};
use crate::queue::{LaneKey, Lanes, Ring, Rotation, Shelf, Timeline};
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
    qualified: Shelf,
    lanes: Lanes<Lane>,
    servers: Vec<Passes>,
    rotation: Rotation,
    run: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    queued: u32,
    qualified: u32,
    place: Place,
    history: History,
}

/// Where a lane waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Nothing of it qualifies.
    #[default]
    Nowhere,
    /// It has its turn in this pass.
    This,
    /// It has its turn in the next pass.
    Next,
    /// It is held back until then.
    Held(Time),
}

/// The passes over the objects of one server.
#[derive(Debug, Default)]
struct Passes {
    count: u64,
    this: Ring,
    next: Ring,
    held: BTreeSet<(Time, u32)>,
    /// Requests that do not qualify yet, by the pass in which they will.
    gaining: BTreeSet<(u64, u32)>,
}

impl Mlf {
    /// Empty queues for the servers of this setup.
    pub fn new(setup: &Setup, settings: MlfSettings) -> Mlf {
        Mlf {
            settings,
            batch: setup.batch,
            queue: Timeline::new(setup),
            qualified: Shelf::new(),
            lanes: Lanes::new(REMEMBERED),
            servers: (0..setup.servers).map(|_| Passes::default()).collect(),
            rotation: Rotation::new(setup),
            run: Vec::new(),
        }
    }

    fn lane(&self, slot: u32) -> u32 {
        let key = LaneKey::object(self.queue.get(slot));
        self.lanes.find(key).expect("a queued request has a lane")
    }

    /// Puts the request that goes next to a server, and its company, into `run`; its lane.
    fn first(&mut self, now: Time, server: ServerId, room: &Room) -> Option<u32> {
        let limit = room.left(server).min(self.batch);
        if let Some(slot) = aging::overdue(&self.queue, server, now, self.settings.age) {
            let lane = self.lane(slot);
            self.qualified.gather(lane, self.queue.pool(), slot, limit, &mut self.run);
            return Some(lane);
        }
        self.qualify(server);
        self.end_holds(now, server);
        loop {
            let lane = match self.servers[server.index()].this.head() {
                Some(lane) => lane,
                None if self.pass(server) => continue,
                None => return None,
            };
            let slot = self.qualified.lowest(lane).expect("a lane with a turn has somebody");
            self.qualified.gather(lane, self.queue.pool(), slot, limit, &mut self.run);
            let start = self.queue.get(slot).local;
            if !self.lanes.get_mut(lane).history.doubts(start, self.run.len()) {
                return Some(lane);
            }
            self.put(server, lane, Place::Held(now + self.settings.hold));
            self.end_holds(now, server);
        }
    }

    /// Begins a pass: the lanes served in the last one have turns again, and more requests qualify.
    /// Passes in which nothing could happen are left out. Whether any lane has a turn.
    fn pass(&mut self, server: ServerId) -> bool {
        let passes = &mut self.servers[server.index()];
        passes.count += 1;
        std::mem::swap(&mut passes.this, &mut passes.next);
        let mut lane = passes.this.head();
        if lane.is_none() {
            let Some(&(due, _)) = passes.gaining.first() else { return false };
            passes.count = passes.count.max(due);
        }
        while let Some(turn) = lane {
            self.lanes.get_mut(turn).place = Place::This;
            lane = self.lanes.following(turn);
        }
        self.qualify(server);
        true
    }

    /// Moves requests of a server whose quantum covers them now to those that qualify: a few at a
    /// time, so that no call pays for a whole flood of arrivals.
    fn qualify(&mut self, server: ServerId) {
        for _ in 0..AT_ONCE {
            let passes = &mut self.servers[server.index()];
            let Some(&(due, slot)) = passes.gaining.first() else { break };
            if due > passes.count {
                break;
            }
            passes.gaining.pop_first();
            self.queue.pool_mut().set_mark(slot, QUALIFIED);
            let lane = self.lane(slot);
            self.qualified.add(lane, self.queue.pool(), slot);
            self.lanes.get_mut(lane).qualified += 1;
            if self.lanes.get(lane).place == Place::Nowhere {
                self.put(server, lane, Place::This);
            }
        }
    }

    fn end_holds(&mut self, now: Time, server: ServerId) {
        while let Some(&(until, lane)) = self.servers[server.index()].held.first() {
            if until > now {
                break;
            }
            self.put(server, lane, Place::This);
        }
    }

    /// Moves a lane from where it waits to another place.
    fn put(&mut self, server: ServerId, lane: u32, place: Place) {
        let passes = &mut self.servers[server.index()];
        match std::mem::replace(&mut self.lanes.get_mut(lane).place, place) {
            Place::Nowhere => {}
            Place::This => self.lanes.dequeue(&mut passes.this, lane),
            Place::Next => self.lanes.dequeue(&mut passes.next, lane),
            Place::Held(until) => {
                assert!(passes.held.remove(&(until, lane)), "held lanes are listed")
            }
        }
        match place {
            Place::Nowhere => {}
            Place::This => self.lanes.enqueue(&mut passes.this, lane),
            Place::Next => self.lanes.enqueue(&mut passes.next, lane),
            Place::Held(until) => assert!(passes.held.insert((until, lane)), "it was not held"),
        }
    }

    fn issue(&mut self, server: ServerId, lane: u32) -> Batch {
        let run = std::mem::take(&mut self.run);
        let batch = Batch::gathered(&run, |slot| self.remove_from(lane, slot));
        self.run = run;
        let extent = batch.local_extent();
        let state = self.lanes.get_mut(lane);
        state.history.note(extent.offset, extent.end(), batch.members());
        let place = if state.qualified > 0 { Place::Next } else { Place::Nowhere };
        self.put(server, lane, place);
        self.retire_if_empty(lane);
        self.rotation.served(server);
        batch
    }

    /// Takes a request out of the queue and of whatever its lane knows of it.
    fn remove_from(&mut self, lane: u32, slot: u32) -> Request {
        let state = self.lanes.get_mut(lane);
        state.queued -= 1;
        let mark = self.queue.pool().mark(slot);
        if mark == QUALIFIED {
            state.qualified -= 1;
            self.qualified.remove(lane, self.queue.pool(), slot);
        } else {
            let passes = &mut self.servers[self.queue.get(slot).server.index()];
            passes.gaining.remove(&(due(passes.count, mark), slot));
        }
        self.queue.remove(slot)
    }

    fn retire_if_empty(&mut self, lane: u32) {
        if self.lanes.get(lane).queued == 0 {
            self.lanes.retire(lane);
        }
    }
}

impl Policy for Mlf {
    fn name(&self) -> &'static str {
        "mlf"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let slot = self.queue.push(request);
        let lane = self.lanes.of(LaneKey::object(&request));
        self.lanes.get_mut(lane).queued += 1;
        let passes_needed = passes(request.length(), self.settings.quantum);
        let passes = &mut self.servers[request.server.index()];
        let due = passes.count + u64::from(passes_needed);
        passes.gaining.insert((due, slot));
        self.queue.pool_mut().set_mark(slot, mark(due));
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        if self.is_empty() {
            return Decision::Empty;
        }
        if !room.is_full() {
            for server in self.rotation.order() {
                if let Some(lane) = self.first(now, server, room)
                    && room.admits(self.queue.get(self.run[0]))
                {
                    return Decision::Issue(self.issue(server, lane));
                }
            }
        }
        let ends = self.servers.iter().filter_map(|passes| passes.held.first());
        let wake = ends.map(|&(until, _)| until).filter(|&until| until > now).min();
        Decision::WaitUntil(wake.unwrap_or(Time::NEVER))
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.queue.find(id)?;
        let lane = self.lane(slot);
        let request = self.remove_from(lane, slot);
        if self.lanes.get(lane).qualified == 0 {
            self.put(request.server, lane, Place::Nowhere);
        }
        self.retire_if_empty(lane);
        Some(request)
    }

    fn drain(&mut self) -> Vec<Request> {
        self.qualified.clear();
        self.lanes.clear();
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

/// The mark of a request that qualifies; others bear the pass in which they will.
const QUALIFIED: u16 = 0;

/// A pass as a mark: no request needs more than 65 passes, so the lowest bits tell it.
fn mark(due: u64) -> u16 {
    u16::try_from(due % MARKS).expect("a remainder of 65,535 is a u16") + 1
}

/// The pass that a mark put on since stands for.
fn due(count: u64, mark: u16) -> u64 {
    let ahead = (u64::from(mark) - 1 + MARKS - count % MARKS) % MARKS;
    count + ahead
}

const MARKS: u64 = 65_535;
