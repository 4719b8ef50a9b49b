//! The state machine an engine holds: one policy and everything that all policies share.
//!
//! Hazards, requests in flight and their bounds, switching, counters, and the promises of the
//! [`Policy`] contract, which are checked here on every call and stay checked in production.

use std::collections::BTreeMap;

use crate::hazard::{Hazards, State};
use crate::policy::{Batch, Decision, Directive, Done, OutOfRange, Policy, Setup};
use crate::queue::Slab;
use crate::request::{Request, RequestId};
use crate::room::{Limit, Room};
use crate::stats::Stats;
use crate::time::Time;

/// The bounds of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of servers and bounds of a batch, as the policies are told.
    pub setup: Setup,
    /// Bound on what is in flight at one server. Default 64 requests and 64 MiB: enough to keep any
    /// device busy, and 64 buffers of the largest request the kernel sends.
    pub each: Limit,
    /// Bound on what is in flight in all. Default 4,096 requests and 1 GiB: the memory of buffers.
    pub total: Limit,
}

impl Config {
    /// Default bounds for this setup.
    pub const fn new(setup: Setup) -> Config {
        Config { setup, each: Limit::new(64, 64 << 20), total: Limit::new(4_096, 1 << 30) }
    }

    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.setup.check()?;
        OutOfRange::unless("each.requests", self.each.requests.into(), 1, u32::MAX.into())?;
        OutOfRange::unless("each.bytes", self.each.bytes, 1, u64::MAX)?;
        OutOfRange::unless("total.requests", self.total.requests.into(), 1, u32::MAX.into())?;
        OutOfRange::unless("total.bytes", self.total.bytes, 1, u64::MAX)
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes that were read or written.
    pub bytes: u64,
    /// Whether it failed.
    pub failed: bool,
}

/// What a cancellation found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It was not issued and now never will be.
    Queued(Request),
    /// Too late: it was issued and will complete.
    InFlight,
    /// No such request: never submitted, or completed, or cancelled before.
    Unknown,
}

/// Requests on their way: submitted, queued or parked, issued, completed.
pub struct Scheduler {
    setup: Setup,
    policy: Box<dyn Policy>,
    hazards: Hazards,
    room: Room,
    flights: Slab<Flight>,
    parked: Slab<Parked>,
    /// Those that were parked and are queued or in flight now.
    held: BTreeMap<RequestId, Held>,
    arrivals: u64,
    now: Time,
    latest: Time,
    orders: Vec<Directive>,
    stats: Stats,
    freed: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    request: Request,
    issued: Time,
}

#[derive(Clone, Copy, Debug)]
struct Parked {
    request: Request,
    arrival: u64,
}

/// That a request was kept from the policy, by whom and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The last of those that it conflicted with.
    pub behind: RequestId,
    /// When that one was out of the way.
    pub until: Time,
}

impl Scheduler {
    /// A scheduler with nothing queued.
    ///
    /// # Panics
    /// If the bounds are out of range; see [`Config::check`].
    pub fn new(config: &Config, policy: Box<dyn Policy>) -> Scheduler {
        if let Err(error) = config.check() {
            panic!("{error}");
        }
        let servers = config.setup.servers;
        Scheduler {
            setup: config.setup,
            policy,
            hazards: Hazards::default(),
            room: Room::new(servers, config.each, config.total),
            flights: Slab::new(),
            parked: Slab::new(),
            held: BTreeMap::new(),
            arrivals: 0,
            now: Time::ZERO,
            latest: Time::ZERO,
            orders: Vec::new(),
            stats: Stats::new(servers),
            freed: Vec::new(),
        }
    }

    /// Takes a request. It is queued, or parked while a request before it conflicts with it.
    ///
    /// # Panics
    /// If its id is one already known, its server is none, its extents pass the largest offset, or
    /// it is 4 GiB long or more, which no kernel asks for at once.
    pub fn submit(&mut self, now: Time, request: Request) {
        let (now, request, _) = self.take_in(now, request);
        if let Some(request) = request {
            self.policy.push(now, request);
        }
    }

    /// Takes a request, and issues it at once if nothing is queued and the policy lets it pass: what
    /// `submit` and then `poll` would come to, without the way through a queue. Whether it is in
    /// flight; if not, it was submitted.
    ///
    /// # Panics
    /// As `submit`, and as `poll`.
    pub fn admit(&mut self, now: Time, request: Request) -> bool {
        let (now, request, slot) = self.take_in(now, request);
        let Some(request) = request else { return false };
        if !self.policy.is_empty() || !self.policy.pass(now, &self.room, &request) {
            self.policy.push(now, request);
            return false;
        }
        let name = self.policy.name();
        assert!(self.room.admits(&request), "{name} lets pass where there is no room");
        self.stats.issued(now, &Batch::one(request));
        self.put_in_flight(now, slot, request);
        true
    }

    /// Notes an arrival: the time, the request unless it is parked, and its slot in the hazards.
    fn take_in(&mut self, now: Time, request: Request) -> (Time, Option<Request>, u32) {
        let now = self.advance(now);
        let request = self.accept(request);
        self.stats.arrived(&request);
        let (slot, waits) = self.hazards.enter(&request);
        if waits {
            let arrival = self.arrivals;
            let place = self.parked.insert(Parked { request, arrival });
            self.hazards.set_state(slot, State::Parked(place));
            self.stats.parked += 1;
        }
        (now, (!waits).then_some(request), slot)
    }

    /// What to do now. The requests of an issued batch are in flight until they are completed.
    ///
    /// # Panics
    /// If the policy breaks its contract; carrying on would lose or repeat somebody's request.
    pub fn poll(&mut self, now: Time) -> Decision {
        let now = self.advance(now);
        let decision = self.policy.next(now, &self.room);
        match &decision {
            Decision::Issue(batch) => self.launch(now, batch),
            Decision::WaitUntil(time) => {
                assert!(*time > now, "{} waits until a time gone by", self.policy.name());
                assert!(!self.policy.is_empty(), "{} waits for nothing", self.policy.name());
            }
            Decision::Empty => {
                assert!(self.policy.is_empty(), "{} hides requests", self.policy.name());
                if !self.parked.is_empty() {
                    return Decision::WaitUntil(Time::NEVER);
                }
            }
        }
        decision
    }

    /// Takes note that an issued request came back, and queues those that waited for it last.
    ///
    /// # Panics
    /// If the request is not in flight: it was answered twice or never issued.
    pub fn complete(&mut self, now: Time, id: RequestId, outcome: Outcome) -> Done {
        let now = self.advance(now);
        let slot = self.hazards.find(id);
        let state = slot.map(|slot| self.hazards.state(slot));
        let (Some(slot), Some(State::InFlight(flight))) = (slot, state) else {
            panic!("{id:?} completed but is not in flight");
        };
        let Flight { request, issued } = self.flights.remove(flight);
        let done = Done { request, issued, bytes: outcome.bytes, failed: outcome.failed };
        self.forget_held(id);
        self.room.give_back(&request);
        self.stats.completed(now, &done);
        self.policy.complete(now, &done);
        self.leave(now, slot, id);
        done
    }

    /// Takes a request back if it was not issued yet.
    pub fn cancel(&mut self, now: Time, id: RequestId) -> Cancelled {
        let now = self.advance(now);
        let Some(slot) = self.hazards.find(id) else { return Cancelled::Unknown };
        let request = match self.hazards.state(slot) {
            State::Queued => {
                let request = self.policy.cancel(id);
                let request = request.unwrap_or_else(|| panic!("{} lost {id:?}", self.name()));
                self.leave(now, slot, id);
                self.forget_held(id);
                request
            }
            State::Parked(place) => {
                self.hazards.hollow(slot);
                self.parked.remove(place).request
            }
            State::InFlight(_) => return Cancelled::InFlight,
            State::Ghost => return Cancelled::Unknown,
        };
        self.stats.cancelled(&request);
        Cancelled::Queued(request)
    }

    /// Hands all queued requests over to another policy; what is in flight stays in flight.
    ///
    /// # Panics
    /// If the old policy does not give back exactly what it held.
    pub fn switch(&mut self, now: Time, policy: Box<dyn Policy>) {
        self.hand_over(now, policy);
        self.stats.switches += 1;
    }

    fn hand_over(&mut self, now: Time, policy: Box<dyn Policy>) {
        let now = self.advance(now);
        let requests = self.take_queued();
        self.policy = policy;
        for directive in &self.orders {
            self.policy.direct(now, directive);
        }
        for request in requests {
            self.policy.push(now, request);
        }
    }

    /// From now on there are so many servers, more than before. The policy is one that was made for
    /// them; what is queued is handed over to it, what is in flight stays in flight.
    ///
    /// # Panics
    /// If it were fewer, or more than there may be; see [`Setup::check`].
    pub fn grow(&mut self, now: Time, servers: u32, policy: Box<dyn Policy>) {
        assert!(servers >= self.setup.servers, "servers do not go away");
        self.setup.servers = servers;
        if let Err(error) = self.setup.check() {
            panic!("{error}");
        }
        self.room.grow(servers);
        self.stats.grow(servers);
        self.hand_over(now, policy);
    }

    /// Takes back all requests that were not issued, in order of arrival.
    pub fn drain(&mut self) -> Vec<Request> {
        let parked = self.take_parked();
        let mut requests = self.take_queued();
        let mut freed = Vec::new();
        for request in &requests {
            let slot = self.hazards.find(request.id).expect("checked when it was taken back");
            self.hazards.leave(slot, &mut freed);
        }
        while let Some(slot) = freed.pop() {
            self.hazards.leave(slot, &mut freed);
        }
        requests.extend(parked);
        requests.sort_by_key(|request| request.arrived);
        for request in &requests {
            self.stats.cancelled(request);
            self.forget_held(request.id);
        }
        requests
    }

    /// Passes a decision made elsewhere on to the policy, and to those that follow it.
    pub fn direct(&mut self, now: Time, directive: Directive) {
        let now = self.advance(now);
        self.orders.retain(|order| !directive.replaces(order));
        self.orders.push(directive);
        self.policy.direct(now, &directive);
    }

    /// Changes what each server may have in flight; what is in flight stays.
    pub fn bound_each(&mut self, each: Limit) {
        self.room.bound_each(each);
    }

    /// Number of requests that are not issued yet, parked ones included.
    pub fn queued(&self) -> usize {
        self.policy.len() + self.parked.len()
    }

    /// Number of requests issued and not completed yet.
    pub const fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Whether and until when a request, which is queued or in flight now, was parked.
    pub fn held(&self, id: RequestId) -> Option<Held> {
        if self.held.is_empty() { None } else { self.held.get(&id).copied() }
    }

    /// When the request that has been in flight for longest was issued, for each server that has any.
    ///
    /// Looks at everything in flight: for reports, not for decisions.
    pub fn oldest_in_flight(&self) -> Vec<Option<Time>> {
        let mut oldest = vec![None; self.setup.servers as usize];
        for slot in self.flights.slots() {
            let Flight { request, issued } = self.flights.get(slot);
            let known: &mut Option<Time> = &mut oldest[request.server.index()];
            *known = Some(known.map_or(*issued, |time| time.min(*issued)));
        }
        oldest
    }

    /// What was counted so far.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// What is in flight, and its bounds.
    pub const fn room(&self) -> &Room {
        &self.room
    }

    /// Number of servers and bounds of a batch, as a policy for this scheduler has to be told.
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The policy in charge.
    pub fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    fn name(&self) -> &'static str {
        self.policy.name()
    }

    /// Time stands still for a caller who read the clock before others who came first.
    fn advance(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// Checks a request and makes its arrival fit the order in which requests are submitted.
    fn accept(&mut self, mut request: Request) -> Request {
        let Request { id, server, extent, local, .. } = request;
        assert!(server.0 < self.setup.servers, "{id:?} names {server:?}, which does not exist");
        let fits = |offset: u64| offset.checked_add(extent.length).is_some();
        assert!(fits(extent.offset) && fits(local), "{id:?} passes the largest offset");
        assert!(extent.length <= u64::from(u32::MAX), "{id:?} is longer than a request can be");
        assert!(self.hazards.find(id).is_none(), "{id:?} is submitted twice");
        self.latest = request.arrived.clamp(self.latest, self.now.max(self.latest));
        request.arrived = self.latest;
        self.arrivals += 1;
        request
    }

    /// Checks a batch and puts its members in flight.
    fn launch(&mut self, now: Time, batch: &Batch) {
        let name = self.policy.name();
        assert!(self.room.admits(batch.first()), "{name} issues where there is no room");
        let bound = self.setup.batch;
        let (members, bytes) = (batch.members(), batch.bytes());
        let within = members <= bound.requests as usize && bytes <= bound.bytes;
        assert!(members == 1 || within, "{name} issues {members} requests of {bytes} B at once");
        self.stats.issued(now, batch);
        for &request in batch.requests() {
            let id = request.id;
            let slot = self.hazards.find(id).unwrap_or_else(|| panic!("{name} invents {id:?}"));
            assert!(self.hazards.state(slot) == State::Queued, "{name} repeats {id:?}");
            self.put_in_flight(now, slot, request);
        }
    }

    fn put_in_flight(&mut self, now: Time, slot: u32, request: Request) {
        let flight = self.flights.insert(Flight { request, issued: now });
        self.hazards.set_state(slot, State::InFlight(flight));
        self.room.take(&request);
    }

    /// Takes a request out of the hazards and queues those that waited for nothing else.
    fn leave(&mut self, now: Time, slot: u32, id: RequestId) {
        let mut freed = std::mem::take(&mut self.freed);
        self.hazards.leave(slot, &mut freed);
        let mut ready = Vec::new();
        while let Some(slot) = freed.pop() {
            match self.hazards.state(slot) {
                State::Ghost => self.hazards.leave(slot, &mut freed),
                State::Parked(place) => {
                    self.hazards.set_state(slot, State::Queued);
                    ready.push(self.parked.remove(place));
                }
                State::Queued | State::InFlight(_) => panic!("a request ran before its turn"),
            }
        }
        self.freed = freed;
        ready.sort_unstable_by_key(|parked| parked.arrival);
        for Parked { request, .. } in ready {
            self.held.insert(request.id, Held { behind: id, until: now });
            self.policy.push(now, request);
        }
    }

    /// A request is done with. Most of the time nobody was held.
    fn forget_held(&mut self, id: RequestId) {
        if !self.held.is_empty() {
            self.held.remove(&id);
        }
    }

    /// Everything the policy holds, checked against what it should hold.
    fn take_queued(&mut self) -> Vec<Request> {
        let (name, held) = (self.policy.name(), self.policy.len());
        let requests = self.policy.drain();
        assert_eq!(requests.len(), held, "{name} does not give back what it held");
        assert!(self.policy.is_empty(), "{name} keeps requests that it gave back");
        for Request { id, .. } in &requests {
            let slot = self.hazards.find(*id);
            let known = slot.is_some_and(|slot| self.hazards.state(slot) == State::Queued);
            assert!(known, "{name} gives back {id:?}, which it did not hold");
        }
        requests
    }

    /// Every parked request in order of arrival; ghosts keep their places in the hazards.
    fn take_parked(&mut self) -> Vec<Request> {
        let slots = self.parked.slots();
        let mut taken: Vec<Parked> = slots.iter().map(|&slot| self.parked.remove(slot)).collect();
        taken.sort_unstable_by_key(|parked| parked.arrival);
        for Parked { request, .. } in &taken {
            let slot = self.hazards.find(request.id).expect("a parked request is live");
            self.hazards.hollow(slot);
        }
        taken.into_iter().map(|parked| parked.request).collect()
    }
}
