//! A policy that watches another one: it reports what goes in and out, and checks the promises that
//! only somebody between scheduler and policy can see.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use iofwd_scheduler::policy::{Decision, Directive, Done, Load, Policy, Room};
use iofwd_scheduler::request::{Request, RequestId};
use iofwd_scheduler::time::{Span, Time};

/// What the witness saw.
pub(crate) enum Seen {
    /// The policy was given a request.
    Pushed(RequestId, Time),
    /// The policy broke a promise.
    Broken(String),
}

pub(crate) struct Witness {
    policy: Box<dyn Policy>,
    reports: Sender<Seen>,
    held: BTreeMap<RequestId, (u64, Request)>,
    pushed: u64,
}

impl Witness {
    pub(crate) fn new(policy: Box<dyn Policy>, reports: Sender<Seen>) -> Witness {
        Witness { policy, reports, held: BTreeMap::new(), pushed: 0 }
    }

    fn report(&self, seen: Seen) {
        self.reports.send(seen).expect("the checker outlives the policy");
    }

    fn expect(&self, holds: bool, promise: &str) {
        if !holds {
            self.report(Seen::Broken(format!("{}: {promise}", self.policy.name())));
        }
    }
}

impl Policy for Witness {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn push(&mut self, now: Time, request: Request) {
        let conflict = self.held.values().any(|(_, other)| other.conflicts(&request));
        self.expect(!conflict, "is given two requests that conflict");
        self.held.insert(request.id, (self.pushed, request));
        self.pushed += 1;
        self.report(Seen::Pushed(request.id, now));
        self.policy.push(now, request);
        self.expect(self.policy.len() == self.held.len(), "counts wrong after a push");
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        let decision = self.policy.next(now, room);
        if let Decision::Issue(batch) = &decision {
            for request in batch.requests() {
                let held = self.held.remove(&request.id);
                let same = held.is_some_and(|(_, held)| held == *request);
                self.expect(same, "issues what it does not hold");
            }
            let left = room.left(batch.server());
            let fits =
                batch.members() as u64 <= u64::from(left.requests) && (batch.bytes() <= left.bytes);
            self.expect(fits || batch.members() == 1, "issues more than there is room for");
        } else {
            let again = self.policy.next(now, room);
            self.expect(again == decision, "answers differently when asked twice");
        }
        self.expect(self.policy.len() == self.held.len(), "counts wrong after an issue");
        decision
    }

    fn complete(&mut self, now: Time, done: &Done) {
        self.policy.complete(now, done);
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        let given = self.policy.cancel(id);
        let held = self.held.remove(&id).map(|(_, request)| request);
        self.expect(given == held, "does not give back what is cancelled");
        self.expect(self.policy.len() == self.held.len(), "counts wrong after a cancel");
        given
    }

    fn drain(&mut self) -> Vec<Request> {
        let given = self.policy.drain();
        let mut held: Vec<_> = std::mem::take(&mut self.held).into_values().collect();
        held.sort_unstable_by_key(|&(order, _)| order);
        let held: Vec<Request> = held.into_iter().map(|(_, request)| request).collect();
        self.expect(given == held, "does not give back all in order of arrival");
        given
    }

    fn direct(&mut self, now: Time, directive: &Directive) {
        self.policy.direct(now, directive);
    }

    fn len(&self) -> usize {
        self.policy.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        self.policy.waiting_bound(load)
    }
}
