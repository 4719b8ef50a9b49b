//! TWINS, server time windows: in each window an agent serves one server, and no two agents the same.
//!
//! Published by Bez et al. (2017). Good where many agents share few servers, above all for reads of
//! a shared file; requests that wait for their window also meet more neighbours to go out with.
//!
//! Beyond the publication: windows lie on a grid of the shared clock, so agents stay in step; a
//! server is given no more than it can finish before its window ends; batches are aggregated.
//!
//! Waiting bound: for each request ahead and the request itself two rounds of windows and one
//! service time: every window issues at least one batch unless something is still outstanding. Where
//! requests are gathered, two rounds more.

mod company;
mod gathering;
mod grid;
mod line;
mod rate;
mod settings;

use std::ops::Range;

use company::Company;
use grid::Grid;
use rate::Rate;

pub use settings::{Mode, Phase, TwinsSettings};

use crate::policy::{Decision, Directive, Done, Load, Policy, Setup, Window};
use crate::queue::Runs;
use crate::request::{Request, RequestId, ServerId};
use crate::room::{Limit, Room};
use crate::time::{Span, Time};

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
    /// Who may come back to each server; used where requests are gathered.
    companies: Vec<Company>,
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
            companies: vec![Company::default(); setup.servers as usize],
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

    /// Whether a queued request may go to its server, which the window covers.
    fn may_go(&self, now: Time, room: &Room, slot: u32) -> bool {
        let Request { server, extent, .. } = self.queues.lines().get(slot);
        room.takes(server, extent.length)
            && (self.is_first(room, server) || self.fits(now, room, slot))
            && self.held(now, room, slot).is_none()
    }

    /// The oldest request among these servers that may go in this window.
    fn oldest(&self, now: Time, room: &Room, covered: Range<u32>) -> Option<u32> {
        let mut best = (u64::MAX, None);
        for server in covered.map(ServerId) {
            let queue = self.queues.lines().queue(server);
            if queue.order() >= best.0 {
                continue;
            }
            let Some(slot) = self.leader(now, server) else { continue };
            if self.may_go(now, room, slot) {
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
    fn wake(&self, now: Time, room: &Room) -> Time {
        if self.grid.is_single() {
            return Time::NEVER;
        }
        if self.settings.mode == Mode::Conserving {
            return self.grid.end();
        }
        let waiting = |group: u32| self.has_any(self.grid.covered(group));
        let ahead = self.grid.following().position(waiting).unwrap_or(0);
        let window = self.grid.end() + self.settings.window * ahead as u64;
        let held = self.heads(now).filter_map(|slot| self.held(now, room, slot));
        let until = held.map(|(until, _)| until).min().unwrap_or(window);
        until.min(window).max(now + Span::from_nanos(1))
    }

    /// The request of each server that the window covers whose turn it is.
    fn heads(&self, now: Time) -> impl Iterator<Item = u32> {
        let servers = self.grid.covered(self.grid.group()).map(ServerId);
        servers.filter_map(move |server| self.leader(now, server))
    }

    /// Remembers which servers of the window wait for company, and which could have taken more, had it
    /// been longer.
    fn note_held_back(&mut self, now: Time, room: &Room) {
        for server in self.grid.covered(self.grid.group()).map(ServerId) {
            let Some(slot) = self.leader(now, server) else { continue };
            if let Some((_, members)) = self.held(now, room, slot) {
                self.companies[server.index()].wait(self.grid.begin(), members);
            } else if room.takes(server, self.queues.lines().get(slot).length()) {
                self.rates[server.index()].hold_back();
            }
        }
    }

    /// Remembers that a window of a server begins to be used, and that its idle time ends.
    fn note_issue(&mut self, now: Time, room: &Room, first: &Request) {
        let Request { server, extent, .. } = *first;
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

    fn push(&mut self, now: Time, request: Request) {
        self.companies[request.server.index()].came(now, &request);
        self.queues.push(&request);
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        if self.is_empty() {
            return Decision::Empty;
        }
        self.grid.turn(now);
        match self.choose(now, room) {
            Some(slot) => {
                let first = self.queues.lines().get(slot);
                let server = first.server;
                let always = if self.is_first(room, server) { FIRST } else { 0 };
                self.note_issue(now, room, &first);
                let limit = Limit::new(u32::MAX, self.capacity(now, room, server).max(always));
                let limit = limit.min(room.left(server)).min(self.batch);
                let batch = self.queues.take(slot, limit);
                self.companies[server.index()].went(now, self.grid.begin(), &batch);
                Decision::Issue(batch)
            }
            None => {
                self.note_held_back(now, room);
                Decision::WaitUntil(self.wake(now, room))
            }
        }
    }

    fn pass(&mut self, now: Time, room: &Room, request: &Request) -> bool {
        if self.settings.gather {
            return false; // Who went is to be remembered, and waited for.
        }
        self.grid.turn(now);
        let Request { server, extent, .. } = *request;
        let fits = || self.capacity(now, room, server) >= extent.length;
        let passes = self.grid.covered(self.grid.group()).contains(&server.0)
            && room.takes(server, extent.length)
            && (self.is_first(room, server) || fits());
        if passes {
            self.note_issue(now, room, request);
        }
        passes
    }

    fn complete(&mut self, now: Time, done: &Done) {
        let end = self.grid.end_of(done.issued);
        self.companies[done.request.server.index()].done(now, &done.request);
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
            Directive::Gather(gather) => self.settings.gather = gather,
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
        let overtaken =
            if self.settings.gather { round * gathering::OVERTAKEN } else { Span::ZERO };
        overtaken + (round * 2 + load.service) * (load.ahead + 1) + load.service
    }
}

/// Bytes that the first batch of a window may have, however slow the server seems. A disk takes longer to
/// get to a place than to read this much there, so that a batch that is cut short leaves the rest to
/// be sought again; anything faster than a disk moves it in a part of a window.
const FIRST: u64 = 256 << 10;
