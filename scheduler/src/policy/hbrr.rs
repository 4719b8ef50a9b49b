//! Handle-based round robin: each object in turn, a few merged ranges at a time.
//!
//! Published by Ohta et al. (2010) as the second scheduler of IOFSL, whose settings call it "merge".
//! Good for many files at once: none starves, and ranges that touch go out together.
//!
//! Waiting bound: a request needs as many turns of its object as there are quanta of requests ahead
//! of it, and between two turns every other object has one.

use crate::batch::Batch;
use crate::policy::{Decision, Limit, Load, OutOfRange, Policy, Setup};
use crate::queue::{CACHED, Front, LaneKey, Lanes, Line, Neighbours, Pages, Ring, Rotation};
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
    /// Requests that came lately and are not in their lanes yet: to find the lanes of several at a
    /// time costs little more than to find one, as what is not in the cache is loaded at once. None
    /// of them is for an object whose turn it is, nor for a server where nobody has one.
    lobby: Vec<Request>,
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
            lobby: Vec::with_capacity(LOBBY),
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
        let Lane { line, front } = self.lanes.get(lane);
        if front.is_entered() {
            self.neighbours.gather(&self.pages, slot, limit, &mut run);
        } else {
            self.neighbours.look_through(&self.pages, line, slot, limit, &mut run);
        }
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
        self.settle();
        let turns = &mut self.servers[server.index()];
        turns.left = self.settings.quantum;
        if let Some(lane) = turns.ring.head() {
            let Lane { line, front } = self.lanes.get_mut(lane);
            front.hide(&mut self.neighbours, &self.pages, line);
            self.lanes.dequeue(&mut turns.ring, lane);
            self.lanes.enqueue(&mut turns.ring, lane);
        }
        self.look_forward(server);
    }

    /// Whether there is more than stays in the cache.
    const fn is_cold(&self) -> bool {
        self.pages.len() > CACHED
    }

    /// Begins to load what those need that have their turns next.
    fn look_forward(&self, server: ServerId) {
        if !self.is_cold() {
            return;
        }
        let Some(lane) = self.servers[server.index()].ring.head() else { return };
        self.pages.touch_behind(&self.lanes.get(lane).line);
        if let Some(next) = self.lanes.following(lane) {
            self.pages.touch_head(&self.lanes.get(next).line);
            if let Some(after) = self.lanes.following(next) {
                self.lanes.touch(after);
            }
        }
    }

    /// Takes a request out, and its lane too if it was the last one.
    fn remove(&mut self, lane: u32, slot: u32) -> Request {
        let Lane { line, front } = self.lanes.get_mut(lane);
        front.leave(&mut self.neighbours, &self.pages, line, slot);
        let request = self.pages.remove(line, slot);
        if line.is_empty() {
            self.settle();
            let turns = &mut self.servers[request.server.index()];
            let had_turn = turns.ring.head() == Some(lane);
            self.lanes.dequeue(&mut turns.ring, lane);
            self.lanes.retire(lane);
            if had_turn {
                turns.left = self.settings.quantum;
                self.look_forward(request.server);
            }
        }
        request
    }

    /// Puts the requests of the lobby into their lanes.
    fn settle(&mut self) {
        if self.lobby.is_empty() {
            return;
        }
        let mut lobby = std::mem::take(&mut self.lobby);
        let keys = || lobby.iter().map(LaneKey::object);
        keys().for_each(|key| self.lanes.expect(key));
        let lanes = || keys().filter_map(|key| self.lanes.guess(key));
        lanes().for_each(|lane| self.lanes.touch(lane));
        lanes().for_each(|lane| self.pages.touch_tail(&self.lanes.get(lane).line));
        lobby.drain(..).for_each(|request| self.place(&request));
        self.lobby = lobby;
    }

    fn place(&mut self, request: &Request) {
        let lane = self.lanes.of(LaneKey::object(request));
        if self.lanes.get(lane).line.is_empty() {
            self.lanes.enqueue(&mut self.servers[request.server.index()].ring, lane);
        }
        let Lane { line, front } = self.lanes.get_mut(lane);
        let slot = self.pages.append(line, request);
        front.join(&mut self.neighbours, &self.pages, line, slot);
    }
}

impl Policy for Hbrr {
    fn name(&self) -> &'static str {
        "hbrr"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let key = LaneKey::object(&request);
        let turn = self.servers[request.server.index()].ring.head();
        if !self.is_cold() || turn.is_none_or(|lane| self.lanes.key(lane) == key) {
            self.settle();
            self.place(&request);
            return;
        }
        self.lobby.push(request);
        if self.lobby.len() == LOBBY {
            self.settle();
        }
    }

    fn next(&mut self, _now: Time, room: &Room) -> Decision {
        match self.choose(room) {
            Some((server, lane, slot)) => Decision::Issue(self.issue(room, server, lane, slot)),
            None if self.is_empty() => Decision::Empty,
            None => Decision::WaitUntil(Time::NEVER),
        }
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.settle();
        let slot = self.pages.find(id)?;
        let lane = self.lanes.find(LaneKey::object(&self.pages.get(slot)))?;
        Some(self.remove(lane, slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.settle();
        self.neighbours.clear();
        self.lanes.clear();
        self.servers.fill(Turns { ring: Ring::new(), left: self.settings.quantum });
        self.pages.drain()
    }

    fn len(&self) -> usize {
        self.pages.len() + self.lobby.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        let quantum = u64::from(self.settings.quantum);
        let turns = load.ahead / quantum + 1;
        let batches = turns.saturating_mul(quantum).saturating_mul(load.lanes.max(1));
        load.in_rotation(batches)
    }
}

/// Objects with up to so many requests are looked through for neighbours in their turn: longer ones are
/// entered in a table.
const SHORT: usize = 32;

/// Requests that are put into their lanes at once: as many loads as a processor has under way.
const LOBBY: usize = 16;
