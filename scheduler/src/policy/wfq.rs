//! Weighted fair queueing: jobs, or servers, share what is issued in proportion to their weights.
//!
//! Deficit round robin as published by Shreedhar and Varghese (1995), brought to I/O schedulers in
//! AGIOS by Inria (2022). Good where jobs compete and one must not pay for another's appetite.
//!
//! Waiting bound: as many rounds as the bytes ahead in the same queue need, and in each round every
//! queue issues at most what its weight and one largest request allow.

use std::collections::BTreeMap;

use crate::batch::Batch;
use crate::policy::{Decision, Directive, Load, OutOfRange, Policy, Setup};
use crate::queue::{LaneKey, Lanes, Line, Pages, Ring, Rotation};
use crate::request::{Request, RequestId, ServerId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Who shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The jobs, at each server.
    Jobs,
    /// The servers.
    Servers,
}

/// Settings of [`Wfq`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WfqSettings {
    /// Default jobs.
    pub sharing: Sharing,
    /// Bytes that a weight of 1 is worth in a round. Default 1 MiB, the largest request of the
    /// kernel, so that each round serves everybody; 4 KiB to 1 GiB.
    pub quantum: u64,
    /// The least a request is charged. Default 4 KiB: small ones are not free; 1 B to 1 MiB.
    pub least: u64,
    /// Weights by number of job or server; 1 for those not named. 1 to 1,000 each.
    pub weights: BTreeMap<u64, u32>,
}

impl WfqSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless("quantum", self.quantum, 4 << 10, 1 << 30)?;
        OutOfRange::unless("least", self.least, 1, 1 << 20)?;
        let mut weights = self.weights.values();
        weights.try_for_each(|&weight| OutOfRange::unless("weights", weight.into(), 1, 1_000))
    }
}

impl Default for WfqSettings {
    fn default() -> Self {
        WfqSettings {
            sharing: Sharing::Jobs,
            quantum: 1 << 20,
            least: 4 << 10,
            weights: BTreeMap::new(),
        }
    }
}

/// A queue per job and server, or per server, with what it may still issue.
#[derive(Debug)]
pub struct Wfq {
    settings: WfqSettings,
    pages: Pages,
    lanes: Lanes<Queue>,
    /// One for each server if jobs share, one for all servers if these do.
    circles: Vec<Circle>,
    rotation: Rotation,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    line: Line,
    /// Bytes it may still issue.
    credit: u64,
}

/// Queues that take turns.
#[derive(Clone, Copy, Debug, Default)]
struct Circle {
    ring: Ring,
    len: usize,
    /// Whether the turn of the first has begun, with the credit that comes with it.
    begun: bool,
}

impl Wfq {
    /// Empty queues for the servers of this setup.
    pub fn new(setup: &Setup, settings: WfqSettings) -> Wfq {
        let servers = match settings.sharing {
            Sharing::Jobs => setup.servers,
            Sharing::Servers => 1,
        };
        Wfq {
            settings,
            pages: Pages::new(),
            lanes: Lanes::new(0),
            circles: vec![Circle::default(); servers as usize],
            rotation: Rotation::new(&Setup { servers, ..*setup }),
        }
    }

    fn key(&self, request: &Request) -> LaneKey {
        match self.settings.sharing {
            Sharing::Jobs => LaneKey::job(request),
            Sharing::Servers => LaneKey::server(request),
        }
    }

    fn circle(&self, server: ServerId) -> usize {
        server.index() % self.circles.len()
    }

    /// What the queue of a request gains in each round.
    fn share(&self, request: &Request) -> u64 {
        let number = match self.settings.sharing {
            Sharing::Jobs => request.job.0,
            Sharing::Servers => request.server.0.into(),
        };
        let weight = self.settings.weights.get(&number).copied().unwrap_or(1);
        self.settings.quantum.saturating_mul(weight.into())
    }

    fn cost(&self, request: &Request) -> u64 {
        request.length().max(self.settings.least)
    }

    /// Gives turns until a queue may issue its oldest request, and returns that.
    fn choose(&mut self, circle: usize, room: &Room) -> Option<(u32, u32)> {
        let mut open = false;
        for _ in 0..=self.circles[circle].len {
            let lane = self.circles[circle].ring.head()?;
            let slot = self.lanes.get(lane).line.head()?;
            let request = self.pages.get(slot);
            if room.admits(&request) {
                open = true;
                if self.begin_turn(circle, lane, &request) {
                    return Some((lane, slot));
                }
            } else if self.settings.sharing == Sharing::Jobs {
                return None;
            }
            self.end_turn(circle, lane, &request);
        }
        if !open {
            return None;
        }
        self.skip_rounds(circle, room);
        self.choose(circle, room)
    }

    /// Gives a queue its share, once in a turn; whether it may issue its oldest request then.
    fn begin_turn(&mut self, circle: usize, lane: u32, request: &Request) -> bool {
        let (share, cost) = (self.share(request), self.cost(request));
        let queue = self.lanes.get_mut(lane);
        if !std::mem::replace(&mut self.circles[circle].begun, true) {
            queue.credit = queue.credit.saturating_add(share);
        }
        queue.credit >= cost
    }

    /// Sends a queue to the end of its circle; it keeps no more credit than it needs.
    fn end_turn(&mut self, circle: usize, lane: u32, request: &Request) {
        let cost = self.cost(request);
        let queue = self.lanes.get_mut(lane);
        queue.credit = queue.credit.min(cost);
        let circle = &mut self.circles[circle];
        circle.begun = false;
        self.lanes.dequeue(&mut circle.ring, lane);
        self.lanes.enqueue(&mut circle.ring, lane);
    }

    /// Gives all queues with room the rounds at once in which none of them could issue anything.
    fn skip_rounds(&mut self, circle: usize, room: &Room) {
        let mut open = Vec::new();
        let mut next = self.circles[circle].ring.head();
        while let Some(lane) = next {
            let queue = self.lanes.get(lane);
            let head = queue.line.head().map(|slot| self.pages.get(slot));
            if let Some(request) = head.filter(|request| room.admits(request)) {
                let (share, missing) = (self.share(&request), self.cost(&request) - queue.credit);
                open.push((lane, share, missing.div_ceil(share)));
            }
            next = self.lanes.following(lane);
        }
        let fewest = open.iter().map(|&(_, _, rounds)| rounds).min().unwrap_or(0);
        for (lane, share, _) in open {
            self.lanes.get_mut(lane).credit += share * fewest.saturating_sub(1);
        }
    }

    fn issue(&mut self, lane: u32, slot: u32) -> Request {
        let cost = self.cost(&self.pages.get(slot));
        self.lanes.get_mut(lane).credit -= cost;
        self.remove(lane, slot)
    }

    fn remove(&mut self, lane: u32, slot: u32) -> Request {
        let request = self.pages.remove(&mut self.lanes.get_mut(lane).line, slot);
        if self.lanes.get(lane).line.is_empty() {
            let circle = self.circle(request.server);
            let circle = &mut self.circles[circle];
            circle.begun &= circle.ring.head() != Some(lane);
            circle.len -= 1;
            self.lanes.dequeue(&mut circle.ring, lane);
            self.lanes.retire(lane);
        }
        request
    }
}

impl Policy for Wfq {
    fn name(&self) -> &'static str {
        "wfq"
    }

    fn push(&mut self, _now: Time, request: Request) {
        let lane = self.lanes.of(self.key(&request));
        if self.lanes.get(lane).line.is_empty() {
            let circle = self.circle(request.server);
            let circle = &mut self.circles[circle];
            circle.len += 1;
            self.lanes.enqueue(&mut circle.ring, lane);
        }
        self.pages.append(&mut self.lanes.get_mut(lane).line, &request);
    }

    fn next(&mut self, _now: Time, room: &Room) -> Decision {
        if self.is_empty() {
            return Decision::Empty;
        }
        if !room.is_full() {
            for circle in self.rotation.order() {
                if let Some((lane, slot)) = self.choose(circle.index(), room) {
                    self.rotation.served(circle);
                    return Decision::Issue(Batch::one(self.issue(lane, slot)));
                }
            }
        }
        Decision::WaitUntil(Time::NEVER)
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let slot = self.pages.find(id)?;
        let lane = self.lanes.find(self.key(&self.pages.get(slot)))?;
        Some(self.remove(lane, slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.lanes.clear();
        self.circles.fill(Circle::default());
        self.pages.drain()
    }

    fn direct(&mut self, _now: Time, directive: &Directive) {
        if let Directive::Weight(job, weight) = *directive
            && self.settings.sharing == Sharing::Jobs
            && (1..=1_000).contains(&weight)
        {
            self.settings.weights.insert(job.0, weight);
        }
    }

    fn len(&self) -> usize {
        self.pages.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        let WfqSettings { quantum, least, weights, .. } = &self.settings;
        let largest = load.largest.max(*least);
        let rounds = load.ahead.saturating_add(1).saturating_mul(largest).div_ceil(*quantum) + 1;
        let heaviest = weights.values().copied().max().unwrap_or(1).into();
        let turn = quantum.saturating_mul(heaviest).saturating_add(largest) / least + 1;
        let queues = match self.settings.sharing {
            Sharing::Jobs => load.jobs.max(1),
            Sharing::Servers => load.servers.max(1),
        };
        let requests = rounds.saturating_mul(turn).saturating_mul(queues);
        load.in_rotation(requests)
    }
}
