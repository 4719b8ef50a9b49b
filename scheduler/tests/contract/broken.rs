//! Policies and schedulers that are broken on purpose: the checker must catch each of them.

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use iofwd_scheduler::policy::{
    Batch, Decision, Directive, Done, Fifo, Load, Policy, Room, Setup, Twins, TwinsSettings,
};
use iofwd_scheduler::request::{FileId, Request, RequestId};
use iofwd_scheduler::scheduler::{Cancelled, Config, Outcome, Scheduler};
use iofwd_scheduler::time::{Span, Time};

use crate::checker::{Life, Maker, check};
use crate::subject::Subject;

/// What is wrong with a policy that otherwise is `fifo`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    LosesOneInDrain,
    DrainsBackwards,
    ForgetsWhatIsCancelled,
    KeepsWhatIsCancelled,
    IssuesTwice,
    IgnoresRoom,
    ServesTheYoungest,
    SaysEmpty,
    NeverMovesOn,
    WaitsForThePast,
    ChangesItsMind,
}

struct Broken {
    fault: Fault,
    policy: Fifo,
    queue: Vec<Request>,
    asked: u64,
}

impl Broken {
    fn make(fault: Fault, setup: &Setup) -> Box<dyn Policy> {
        Box::new(Broken { fault, policy: Fifo::new(setup), queue: Vec::new(), asked: 0 })
    }

    fn issue_youngest(&mut self, room: &Room) -> Option<Batch> {
        let at = self.queue.iter().rposition(|request| room.admits(request))?;
        let request = self.queue.remove(at);
        self.policy.cancel(request.id);
        Some(Batch::one(request))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other faults show elsewhere")]
    /// What to do instead of what `fifo` would, if the fault shows now.
    fn wrong(&mut self, now: Time, room: &Room) -> Option<Decision> {
        let first = *self.queue.first()?;
        let idle = room.in_flight(first.server) == 0;
        match self.fault {
            Fault::ServesTheYoungest => Some(match self.issue_youngest(room) {
                Some(batch) => Decision::Issue(batch),
                None => Decision::WaitUntil(Time::NEVER),
            }),
            Fault::IgnoresRoom if !room.admits(&first) => {
                self.queue.remove(0);
                self.policy.cancel(first.id).map(|request| Decision::Issue(Batch::one(request)))
            }
            Fault::IssuesTwice if self.asked % 9 == 8 => Some(Decision::Issue(Batch::one(first))),
            Fault::SaysEmpty if self.asked % 9 == 8 => Some(Decision::Empty),
            Fault::NeverMovesOn if first.server.0 > 0 || self.asked > 40 => {
                Some(Decision::WaitUntil(Time::NEVER))
            }
            Fault::WaitsForThePast if self.asked % 9 == 8 => Some(Decision::WaitUntil(now)),
            Fault::ChangesItsMind if !idle && self.asked.is_multiple_of(2) => {
                Some(Decision::WaitUntil(now + Span::from_nanos(self.asked)))
            }
            _ => None,
        }
    }
}

impl Policy for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn push(&mut self, now: Time, request: Request) {
        self.queue.push(request);
        self.policy.push(now, request);
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        self.asked += 1;
        if let Some(decision) = self.wrong(now, room) {
            return decision;
        }
        let decision = self.policy.next(now, room);
        if let Decision::Issue(batch) = &decision {
            self.queue.retain(|request| request.id != batch.first().id);
        }
        decision
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        if self.fault == Fault::KeepsWhatIsCancelled {
            return self.queue.iter().find(|request| request.id == id).copied();
        }
        self.queue.retain(|request| request.id != id);
        let request = self.policy.cancel(id);
        request.filter(|_| self.fault != Fault::ForgetsWhatIsCancelled)
    }

    fn drain(&mut self) -> Vec<Request> {
        self.queue.clear();
        let mut all = self.policy.drain();
        if self.fault == Fault::LosesOneInDrain {
            all.pop();
        } else if self.fault == Fault::DrainsBackwards {
            all.reverse();
        }
        all
    }

    fn len(&self) -> usize {
        self.policy.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        self.policy.waiting_bound(load)
    }
}

/// Windows that never move on: the clock of this `twins` stands still.
struct Stuck(Twins);

impl Policy for Stuck {
    fn name(&self) -> &'static str {
        "stuck"
    }

    fn push(&mut self, now: Time, request: Request) {
        self.0.push(now, request);
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        match self.0.next(Time::ZERO, room) {
            Decision::WaitUntil(_) => Decision::WaitUntil(now + Span::from_millis(1)),
            decision @ (Decision::Issue(_) | Decision::Empty) => decision,
        }
    }

    fn complete(&mut self, _now: Time, _done: &Done) {}

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.0.cancel(id)
    }

    fn drain(&mut self) -> Vec<Request> {
        self.0.drain()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        self.0.waiting_bound(load)
    }
}

/// A scheduler that sees no hazards: it believes that each request has a file of its own.
struct Careless {
    scheduler: Scheduler,
    files: BTreeMap<RequestId, FileId>,
}

impl Careless {
    fn restore(&self, mut request: Request) -> Request {
        request.file = self.files[&request.id];
        request
    }
}

impl Subject for Careless {
    fn new(config: &Config, policy: Box<dyn Policy>) -> Self {
        Careless { scheduler: Scheduler::new(config, policy), files: BTreeMap::new() }
    }

    fn submit(&mut self, now: Time, mut request: Request) {
        self.files.insert(request.id, request.file);
        request.file = FileId(request.id.0 + 1_000);
        self.scheduler.submit(now, request);
    }

    fn poll(&mut self, now: Time) -> Decision {
        match self.scheduler.poll(now) {
            Decision::Issue(batch) => {
                let requests = batch.requests().iter().map(|&request| self.restore(request));
                Decision::Issue(Batch::new(requests.collect()))
            }
            decision @ (Decision::WaitUntil(_) | Decision::Empty) => decision,
        }
    }

    fn complete(&mut self, now: Time, id: RequestId, outcome: Outcome) {
        self.scheduler.complete(now, id, outcome);
    }

    fn cancel(&mut self, now: Time, id: RequestId) -> Cancelled {
        match self.scheduler.cancel(now, id) {
            Cancelled::Queued(request) => Cancelled::Queued(self.restore(request)),
            answer @ (Cancelled::InFlight | Cancelled::Unknown) => answer,
        }
    }

    fn switch(&mut self, now: Time, policy: Box<dyn Policy>) {
        self.scheduler.switch(now, policy);
    }

    fn direct(&mut self, now: Time, directive: Directive) {
        self.scheduler.direct(now, directive);
    }

    fn drain(&mut self) -> Vec<Request> {
        self.scheduler.drain()
    }

    fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }
}

/// What the checker says about a few lives of something broken: every life must fail, be it by the
/// checker's own judgement or by the scheduler's assertions.
fn complaints<S: Subject>(policy: Maker, others: &'static [Maker]) -> Vec<String> {
    complaints_of::<S>(Life { others, ..Life::plain(policy) })
}

fn complaints_of<S: Subject>(life: Life) -> Vec<String> {
    let lives = if life.flood { 5 } else { 13 };
    let told =
        (9_000..9_000 + lives).map(move |seed| match catch_unwind(|| check::<S>(seed, &life)) {
            Ok(Ok(_)) => String::new(),
            Ok(Err(fault)) => fault,
            Err(panic) => match panic.downcast::<String>() {
                Ok(text) => *text,
                Err(_) => "another panic".to_owned(),
            },
        });
    told.collect()
}

/// Asserts that the checker catches a fault, for the right reason, in most of a few lives.
fn assert_caught(complaints: &[String], reason: &str) {
    let caught = complaints.iter().filter(|complaint| complaint.contains(reason)).count();
    assert!(caught * 2 > complaints.len(), "not caught for \"{reason}\": {complaints:#?}");
}

const FIFO: &[Maker] = &[|setup| Box::new(Fifo::new(setup))];

#[test]
fn a_request_lost_or_moved_in_drain_is_caught() {
    let lost = complaints::<Scheduler>(|setup| Broken::make(Fault::LosesOneInDrain, setup), FIFO);
    assert_caught(&lost, "give back");
    let moved = complaints::<Scheduler>(|setup| Broken::make(Fault::DrainsBackwards, setup), FIFO);
    assert_caught(&moved, "does not give back all in order of arrival");
}

#[test]
fn a_cancel_that_forgets_or_keeps_is_caught() {
    let make: Maker = |setup| Broken::make(Fault::ForgetsWhatIsCancelled, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "lost");
    let make: Maker = |setup| Broken::make(Fault::KeepsWhatIsCancelled, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "counts wrong after a cancel");
}

#[test]
fn a_request_issued_twice_or_without_room_is_caught() {
    let make: Maker = |setup| Broken::make(Fault::IssuesTwice, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "broken");
    let make: Maker = |setup| Broken::make(Fault::IgnoresRoom, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "no room");
}

#[test]
fn a_policy_that_starves_or_stands_still_is_caught() {
    let make: Maker = |setup| Broken::make(Fault::ServesTheYoungest, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "more than");
    let make: Maker = |setup| Broken::make(Fault::NeverMovesOn, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "wait for nothing");
    let make: Maker = |setup| Box::new(Stuck(Twins::new(setup, TwinsSettings::default())));
    assert_caught(&complaints::<Scheduler>(make, &[]), "does not end");
}

/// One window more than there are servers, as in the published code.
#[test]
fn a_phantom_window_is_caught() {
    let phantom: Maker = |setup| {
        let setup = Setup { servers: setup.servers + 1, ..*setup };
        Box::new(Twins::new(&setup, TwinsSettings::default()))
    };
    let life = Life { requests: 3_000, flood: true, ..Life::plain(phantom) };
    assert_caught(&complaints_of::<Scheduler>(life), "is idle though every server has work");
}

#[test]
fn an_answer_that_is_none_is_caught() {
    let make: Maker = |setup| Broken::make(Fault::SaysEmpty, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "broken");
    let make: Maker = |setup| Broken::make(Fault::WaitsForThePast, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "broken");
    let make: Maker = |setup| Broken::make(Fault::ChangesItsMind, setup);
    assert_caught(&complaints::<Scheduler>(make, &[]), "broken");
}

#[test]
fn a_scheduler_that_ignores_hazards_is_caught() {
    let make: Maker = |setup| Box::new(Fifo::new(setup));
    assert_caught(&complaints::<Careless>(make, &[]), "other bytes than it should");
    let sound = complaints::<Scheduler>(make, FIFO);
    assert!(sound.iter().all(String::is_empty), "the sound one passes: {sound:?}");
}
