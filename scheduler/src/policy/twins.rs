//! TWINS, server time windows: in each window an agent serves one server, and no two agents the same.
//!
//! Published by Bez et al. (2017). Good where many agents share few servers, above all for reads of
//! a shared file; requests that wait for their window also meet more neighbours to go out with.
//!
//! Beyond the publication: windows lie on a grid of the shared clock, so agents stay in step; a
//! server is given no more than it can finish before its window ends; batches are aggregated.
//!
//! Waiting bound: for each request ahead and the request itself two rounds of windows and one
//! service time: every window issues at least one batch unless something is still outstanding.

mod grid;
mod rate;

use std::ops::Range;

use grid::Grid;
use rate::Rate;

use crate::policy::{Decision, Directive, Done, Load, OutOfRange, Policy, Setup, Window};
use crate::queue::Runs;
use crate::request::{Request, RequestId, ServerId};
use crate::room::{Limit, Room};
use crate::time::{Span, Time};

/// What happens in a window whose server has nothing queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Wait, as published: the other servers belong to other agents.
    Strict,
    /// Serve the fullest queue among the servers that no other agent owns in this window.
    Conserving,
}

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// On the grid of the clock that all agents share.
    Grid,
    /// At this agent's first attempt to issue, as published.
    Local,
}

/// Settings of [`Twins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwinsSettings {
    /// Length of a window. Default 1 ms, the best overall in the publication, which tried 0.125 to
    /// 8 ms; 10 us, below which no timer keeps up, to 10 s.
    pub window: Span,
    /// Default strict.
    pub mode: Mode,
    /// Default grid.
    pub phase: Phase,
    /// Servers that a window covers. Default 1; up to 65,536, where more than there are means all.
    pub group: u32,
    /// Bytes that may be outstanding at a server of unknown speed. Default 4 MiB: a millisecond of a
    /// fast server; 1 B to 1 GiB.
    pub blind: u64,
}

impl TwinsSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless("window", self.window.as_nanos(), 10_000, 10_000_000_000)?;
        OutOfRange::unless("group", self.group.into(), 1, 65_536)?;
        OutOfRange::unless("blind", self.blind, 1, 1 << 30)
    }
}

impl Default for TwinsSettings {
    fn default() -> Self {
        TwinsSettings {
            window: Span::from_millis(1),
            mode: Mode::Strict,
            phase: Phase::Grid,
            group: 1,
            blind: 4 << 20,
        }
    }
}

/// One queue per server, and a window that says which of them is served.
#[derive(Debug)]
pub struct Twins {
    settings: TwinsSettings,
    batch: Limit,
    grid: Grid,
    queues: Runs,
    rates: Vec<Rate>,
    /// Begin of the last window in which something went to each server.
    served: Vec<Option<Time>>,
}

impl Twins {
    /// Empty queues for the servers of this setup.
    pub fn new(setup: &Setup, settings: TwinsSettings) -> Twins {
        Twins {
            settings,
            batch: setup.batch,
            grid: Grid::new(setup, &settings),
            queues: Runs::new(setup),
            rates: vec![Rate::default(); setup.servers as usize],
            served: vec![None; setup.servers as usize],
        }
    }

    /// The servers that the window at `now` covers.
    pub fn aim(&mut self, now: Time) -> Range<u32> {
        self.grid.turn(now);
        self.grid.covered(self.grid.group())
    }

    /// Bytes that a server can do before the window ends, beside what is outstanding there.
    fn capacity(&self, now: Time, room: &Room, server: ServerId) -> u64 {
        if self.grid.is_single() {
            return u64::MAX;
        }
        let rest = self.grid.end().since(now);
        let capacity = self.rates[server.index()].capacity(rest).unwrap_or(self.settings.blind);
        capacity.saturating_sub(room.outstanding(server))
    }

    /// Whether a server is idle and was given nothing in this window yet. Then one batch may go
    /// however long it takes, or a slow server would never get anything.
    fn is_first(&self, room: &Room, server: ServerId) -> bool {
        room.in_flight(server) == 0 && self.served[server.index()] != Some(self.grid.begin())
    }

    /// The oldest request among these servers that may go in this window.
    fn oldest(&self, now: Time, room: &Room, covered: Range<u32>) -> Option<u32> {
        let mut best = (u64::MAX, None);
        for server in covered.map(ServerId) {
            let queue = self.queues.lines().queue(server);
            let Some(slot) = queue.head().filter(|_| queue.order() < best.0) else { continue };
            let length = self.queues.lines().get(slot).length();
            let fits = || self.capacity(now, room, server) >= length;
            if room.takes(server, length) && (self.is_first(room, server) || fits()) {
                best = (queue.order(), Some(slot));
            }
        }
        best.1
    }

    /// A request of the fullest queue that no agent owns in this window.
    fn donated(&self, now: Time, room: &Room) -> Option<u32> {
        let mut best = (0, None);
        for server in (0..room.servers()).map(ServerId) {
            let bytes = self.queues.lines().queue(server).bytes();
            if bytes <= best.0 || self.grid.is_owned(server) {
                continue;
            }
            let slot = self.oldest(now, room, server.0..server.0 + 1);
            if slot.is_some() {
                best = (bytes, slot);
            }
        }
        best.1
    }

    fn choose(&self, now: Time, room: &Room) -> Option<u32> {
        let covered = self.grid.covered(self.grid.group());
        let idle = || !self.has_any(covered.clone());
        match self.settings.mode {
            Mode::Conserving if idle() => self.donated(now, room),
            Mode::Conserving | Mode::Strict => self.oldest(now, room, covered),
        }
    }

    /// The next time at which anything changes by itself: a window of a server with requests, or in
    /// conserving mode any window.
    fn wake(&self, now: Time) -> Time {
        if self.grid.is_single() {
            return Time::NEVER;
        }
        if self.settings.mode == Mode::Conserving {
            return self.grid.end();
        }
        let waiting = |group: u32| self.has_any(self.grid.covered(group));
        let ahead = self.grid.following().position(waiting).unwrap_or(0);
        (self.grid.end() + self.settings.window * ahead as u64).max(now + Span::from_nanos(1))
    }

    /// Remembers which servers of the window could have taken more, had it been longer.
    fn note_held_back(&mut self, room: &Room) {
        for server in self.grid.covered(self.grid.group()).map(ServerId) {
            let head = self.queues.lines().queue(server).head();
            let length = head.map(|slot| self.queues.lines().get(slot).length());
            if length.is_some_and(|length| room.takes(server, length)) {
                self.rates[server.index()].hold_back();
            }
        }
    }

    /// Remembers that a window of a server begins to be used, and that its idle time ends.
    fn note_issue(&mut self, now: Time, room: &Room, slot: u32) {
        let Request { server, extent, .. } = self.queues.lines().get(slot);
        let served = &mut self.served[server.index()];
        if *served != Some(self.grid.begin()) {
            *served = Some(self.grid.begin());
            self.rates[server.index()].turn(extent.length);
        }
        if room.in_flight(server) == 0 {
            self.rates[server.index()].start(now);
        }
    }

    fn has_any(&self, mut servers: Range<u32>) -> bool {
        servers.any(|server| !self.queues.lines().queue(ServerId(server)).is_empty())
    }
}

impl Policy for Twins {
    fn name(&self) -> &'static str {
        "twins"
    }

    fn push(&mut self, _now: Time, request: Request) {
        self.queues.push(&request);
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        if self.is_empty() {
            return Decision::Empty;
        }
        self.grid.turn(now);
        match self.choose(now, room) {
            Some(slot) => {
                let server = self.queues.lines().get(slot).server;
                let always = if self.is_first(room, server) { FIRST } else { 0 };
                self.note_issue(now, room, slot);
                let limit = Limit::new(u32::MAX, self.capacity(now, room, server).max(always));
                let limit = limit.min(room.left(server)).min(self.batch);
                Decision::Issue(self.queues.take(slot, limit))
            }
            None => {
                self.note_held_back(room);
                Decision::WaitUntil(self.wake(now))
            }
        }
    }

    fn complete(&mut self, now: Time, done: &Done) {
        let end = self.grid.end_of(done.issued);
        self.rates[done.request.server.index()].learn(now, done, end);
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.queues.find(id)?;
        Some(self.queues.remove(slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.queues.drain()
    }

    fn direct(&mut self, _now: Time, directive: &Directive) {
        match *directive {
            Directive::ClockOffset(offset) => self.grid.set_offset(offset, self.settings.phase),
            Directive::Window(window) => {
                let settings = TwinsSettings { window, ..self.settings };
                if settings.check().is_ok() {
                    self.settings = settings;
                    self.grid.set_window(window);
                }
            }
            Directive::Weight(..) => {}
        }
    }

    fn len(&self) -> usize {
        self.queues.lines().len()
    }

    fn window(&self, now: Time) -> Option<Window> {
        (!self.grid.is_single()).then(|| self.grid.at(now)).flatten()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        if self.grid.is_single() {
            return load.in_order();
        }
        let round = self.settings.window * u64::from(self.grid.groups());
        (round * 2 + load.service) * (load.ahead + 1) + load.service
    }
}

/// Bytes that the first batch of a window may have, however slow the server seems. A disk takes longer to
/// get to a place than to read this much there, so that a batch that is cut short leaves the rest to
/// be sought again; anything faster than a disk moves it in a part of a window.
const FIRST: u64 = 256 << 10;
