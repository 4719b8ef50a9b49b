//! Drives a scheduler through a random life in virtual time and checks everything it promises.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};

use iofwd_scheduler::policy::{Batch, Decision, Directive, Limit, Load, Policy, Setup};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Cancelled, Config, Outcome};
use iofwd_scheduler::time::{Span, Time};

use crate::device::{Device, SIZE};
use crate::random::Random;
use crate::subject::Subject;
use crate::witness::{Seen, Witness};

/// Makes a policy for a setup.
pub(crate) type Maker = fn(&Setup) -> Box<dyn Policy>;

/// What happens in a life beside arrivals and completions.
#[derive(Clone, Copy)]
pub(crate) struct Life {
    /// Requests that arrive.
    pub(crate) requests: u64,
    /// The first policy.
    pub(crate) policy: Maker,
    /// Policies to switch to.
    pub(crate) others: &'static [Maker],
    /// Whether the bounds in flight may be so tight that servers take room from each other.
    pub(crate) tight: bool,
    /// Whether the shared clock steps; the waiting bounds hold only if it does not.
    pub(crate) steps: bool,
    /// Whether all arrive at once and are served fast, so that every server is backlogged for many
    /// windows; nothing may be idle then.
    pub(crate) flood: bool,
}

impl Life {
    /// A few hundred requests, one policy, nothing special.
    pub(crate) fn plain(policy: Maker) -> Life {
        Life { requests: 400, policy, others: &[], tight: false, steps: false, flood: false }
    }
}

/// Runs one life and returns a digest of every decision made.
pub(crate) fn check<S: Subject>(seed: u64, life: &Life) -> Result<u64, String> {
    let mut checker = Checker::<S>::new(seed, life);
    checker.run().map_err(|fault| format!("seed {seed}: {fault}"))?;
    Ok(checker.digest)
}

struct Checker<'a, S> {
    life: &'a Life,
    random: Random,
    setup: Setup,
    subject: S,
    reports: Receiver<Seen>,
    sender: Sender<Seen>,
    device: Device,
    now: Time,
    wake: Time,
    arrivals: Vec<Time>,
    known: BTreeMap<RequestId, Known>,
    completions: BTreeSet<(Time, RequestId)>,
    longest: Span,
    gap: u64,
    files: u64,
    digest: u64,
    /// Requests that the policy has, by server.
    held: Vec<u64>,
    /// Time during which every server had requests waiting, and the part of it without any in flight.
    backlogged: Span,
    idle: Span,
}

#[derive(Clone, Copy)]
struct Known {
    arrival: u64,
    request: Request,
    state: State,
    pushed: Option<(Time, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Waiting,
    Issued { failed: bool },
    Done,
    Cancelled,
}

impl<'a, S: Subject> Checker<'a, S> {
    fn new(seed: u64, life: &'a Life) -> Self {
        let mut random = Random::new(seed);
        let servers = u32::try_from(random.between(1, 5)).expect("a small number");
        let batch = Limit::new(1 + random.below(6) as u32, random.between(8, 64));
        let setup = Setup { batch, ..Setup::new(servers) };
        let each = Limit::new(random.between(1, 5) as u32, random.between(4, 80));
        let all = if life.tight { random.between(1, 8) as u32 } else { each.requests * servers };
        let total = if life.tight { random.between(10, 200) } else { u64::MAX };
        let config = Config { setup, each, total: Limit::new(all, total) };
        let longest = Span::from_micros(if life.flood { 16 } else { 1 << random.below(13) });
        let gap = (longest.as_nanos() * 2) >> random.below(7);
        let gap = if life.flood { 1 } else { gap };
        let files = if life.flood { 1_000 } else { random.between(1, 40) };
        let (sender, reports) = channel();
        let policy = Box::new(Witness::new((life.policy)(&setup), sender.clone()));
        Checker {
            life,
            random,
            setup,
            subject: S::new(&config, policy),
            reports,
            sender,
            device: Device::default(),
            now: Time::ZERO,
            wake: Time::NEVER,
            arrivals: Vec::new(),
            known: BTreeMap::new(),
            completions: BTreeSet::new(),
            longest,
            gap,
            files,
            digest: 0,
            held: vec![0; servers as usize],
            backlogged: Span::ZERO,
            idle: Span::ZERO,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let mut next_arrival = Time::ZERO;
        while (self.arrivals.len() as u64) < self.life.requests || self.is_busy() {
            let arrives = (self.arrivals.len() as u64) < self.life.requests;
            let arrival = if arrives { next_arrival } else { Time::NEVER };
            let completion = self.completions.first().map_or(Time::NEVER, |&(time, _)| time);
            let time = arrival.min(completion).min(self.wake);
            if time == Time::NEVER {
                let scheduler = self.subject.scheduler();
                let (all, held) = (scheduler.queued(), scheduler.policy().len());
                return Err(format!("{all} requests wait for nothing, {held} in the policy"));
            }
            self.account(time);
            self.now = time;
            if self.now.as_nanos() > LIFETIME {
                return Err("it does not end".to_owned());
            }
            if completion == time {
                self.complete();
            } else if arrival == time {
                self.submit();
                let gap = if self.random.percent(60) { 0 } else { self.random.below(self.gap) };
                next_arrival = self.now + Span::from_nanos(gap);
            }
            self.disturb()?;
            self.poll()?;
        }
        self.finish()
    }

    /// Adds the time from now on to what it will have been spent on.
    fn account(&mut self, until: Time) {
        if self.held.iter().all(|&held| held > 0) {
            self.backlogged += until.since(self.now);
            if self.subject.scheduler().in_flight() == 0 {
                self.idle += until.since(self.now);
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.subject.scheduler().queued() > 0 || self.subject.scheduler().in_flight() > 0
    }

    fn submit(&mut self) {
        let request = self.make();
        let arrival = self.arrivals.len() as u64 + 1;
        self.arrivals.push(self.now);
        let known = Known { arrival, request, state: State::Waiting, pushed: None };
        self.known.insert(request.id, known);
        self.subject.submit(self.now, request);
    }

    /// A request of a few files of a few bytes, so that conflicts and neighbours are frequent.
    fn make(&mut self) -> Request {
        let random = &mut self.random;
        let length = if random.percent(50) { 8 } else { random.between(1, 24) };
        let offset = if random.percent(50) {
            random.below(SIZE / 8 - 3) * 8
        } else {
            random.below(SIZE - 24)
        };
        let file = random.below(self.files);
        let operation = if random.percent(60) { Operation::Read } else { Operation::Write };
        let server = ((offset / 32 + file) % u64::from(self.setup.servers)) as u32;
        Request {
            id: RequestId(self.arrivals.len() as u64 * 7 + 3),
            file: FileId(file),
            job: JobId(random.below(4)),
            server: ServerId(server),
            operation,
            extent: Extent::new(offset, length),
            local: offset,
            arrived: self.now,
        }
    }

    fn complete(&mut self) {
        let Some((_, id)) = self.completions.pop_first() else { return };
        let known = self.known.get_mut(&id).expect("only known requests are issued");
        let State::Issued { failed } = known.state else { panic!("completes once") };
        known.state = State::Done;
        if !failed {
            self.device.complete(known.arrival, &known.request);
        }
        let bytes = if failed { 0 } else { known.request.length() };
        self.subject.complete(self.now, id, Outcome { bytes, failed });
    }

    /// Now and then a cancellation, a change of policy, a step of the clock.
    fn disturb(&mut self) -> Result<(), String> {
        if self.random.percent(6) && !self.arrivals.is_empty() {
            self.cancel()?;
        }
        if self.random.percent(1) && !self.life.others.is_empty() {
            let other = self.random.below(self.life.others.len() as u64) as usize;
            let policy = (self.life.others[other])(&self.setup);
            let witness = Witness::new(policy, self.sender.clone());
            self.subject.switch(self.now, Box::new(witness));
        }
        if self.life.steps && self.random.percent(2) {
            let step = self.random.below(20_000_000_000) as i64 - 10_000_000_000;
            self.subject.direct(self.now, Directive::ClockOffset(step));
        }
        self.listen()
    }

    fn cancel(&mut self) -> Result<(), String> {
        let recent =
            self.arrivals.len() as u64 - self.random.below(30.min(self.arrivals.len() as u64));
        let id = RequestId(recent * 7 - 4);
        let known = self.known.get_mut(&id);
        let answer = self.subject.cancel(self.now, id);
        let right = match (answer, known) {
            (Cancelled::Queued(given), Some(known)) if known.state == State::Waiting => {
                known.state = State::Cancelled;
                self.held[given.server.index()] -= u64::from(known.pushed.is_some());
                given == known.request
            }
            (Cancelled::InFlight, Some(known)) => matches!(known.state, State::Issued { .. }),
            (Cancelled::Unknown, Some(known)) => {
                matches!(known.state, State::Done | State::Cancelled)
            }
            (Cancelled::Unknown, None) => true,
            (Cancelled::Queued(_) | Cancelled::InFlight, _) => false,
        };
        if right { Ok(()) } else { Err(format!("cancel of {id:?} answers {answer:?}")) }
    }

    fn poll(&mut self) -> Result<(), String> {
        loop {
            self.listen()?;
            match self.subject.poll(self.now) {
                Decision::Issue(batch) => self.issue(&batch)?,
                Decision::WaitUntil(time) => {
                    self.wake = time;
                    break;
                }
                Decision::Empty => {
                    self.wake = Time::NEVER;
                    break;
                }
            }
        }
        self.note(self.wake.as_nanos());
        self.listen()
    }

    fn issue(&mut self, batch: &Batch) -> Result<(), String> {
        let failed = self.random.percent(5);
        let span = 1 + self.random.below(self.longest.as_nanos());
        for request in batch.requests() {
            let Some(known) = self.known.get_mut(&request.id) else {
                return Err(format!("{:?} is issued but was never submitted", request.id));
            };
            if known.state != State::Waiting || known.request != *request {
                return Err(format!("{:?} is issued though {:?}", request.id, known.state));
            }
            known.state = State::Issued { failed };
            let known = *known;
            self.held[request.server.index()] -= u64::from(known.pushed.is_some());
            if !failed {
                self.device.issue(known.arrival, request);
            }
            self.check_wait(&known)?;
            self.completions.insert((self.now + Span::from_nanos(span), request.id));
            self.note(request.id.0);
        }
        Ok(())
    }

    /// Compares the time a request was queued with what its policy states.
    fn check_wait(&self, known: &Known) -> Result<(), String> {
        let Some((pushed, ahead)) = known.pushed else {
            return Err(format!("{:?} is issued but was never queued", known.request.id));
        };
        let policy = self.subject.scheduler().policy();
        if self.life.steps && policy.name() == "twins" {
            return Ok(());
        }
        let behind = |span: Span| {
            let within =
                self.arrivals.iter().filter(|&&time| time >= pushed && time <= pushed + span);
            within.count() as u64
        };
        let load = Load {
            ahead,
            behind: &behind,
            largest: 24,
            lanes: self.files * 2 * u64::from(self.setup.servers),
            jobs: 4,
            servers: self.setup.servers.into(),
            service: self.longest,
        };
        let (waited, bound) = (self.now.since(pushed), policy.waiting_bound(&load));
        if waited <= bound {
            return Ok(());
        }
        Err(format!(
            "{} lets {:?} wait {waited}, more than {bound}",
            policy.name(),
            known.request.id
        ))
    }

    /// Takes in what the witness saw.
    fn listen(&mut self) -> Result<(), String> {
        while let Ok(seen) = self.reports.try_recv() {
            match seen {
                Seen::Broken(promise) => return Err(promise),
                Seen::Pushed(id, time) => {
                    let ahead = self.subject.scheduler().queued() as u64;
                    if let Some(known) = self.known.get_mut(&id) {
                        let new = known.pushed.is_none() && known.state == State::Waiting;
                        self.held[known.request.server.index()] += u64::from(new);
                        known.pushed = Some((time, ahead));
                    }
                }
            }
        }
        Ok(())
    }

    /// Everything is over: each request had exactly one end, and the bytes are right.
    fn finish(&mut self) -> Result<(), String> {
        let left = self
            .known
            .values()
            .find(|known| matches!(known.state, State::Waiting | State::Issued { .. }));
        if let Some(known) = left {
            return Err(format!("{:?} was lost", known.request.id));
        }
        let share = self.idle.as_nanos() * 100 / self.backlogged.as_nanos().max(1);
        if self.life.flood && share > IDLE {
            return Err(format!("{share} % of the time is idle though every server has work"));
        }
        if !self.subject.drain().is_empty() {
            return Err("something is left in the end".to_owned());
        }
        self.device.check()
    }

    fn note(&mut self, value: u64) {
        self.digest = (self.digest ^ value).wrapping_mul(0x100_0000_01b3).rotate_left(17);
    }
}

/// Hundredths of the time of a flood that may pass idle: what does not fit any more at the end of a
/// window. A window without a server costs a sixth at least, with five servers.
const IDLE: u64 = 8;

/// No life takes longer than this many nanoseconds unless something stands still.
const LIFETIME: u64 = 20_000_000_000;
