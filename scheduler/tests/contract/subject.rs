//! What is put to the test: the scheduler, or something that pretends to be it.

use iofwd_scheduler::policy::{Decision, Directive, Policy};
use iofwd_scheduler::request::{Request, RequestId};
use iofwd_scheduler::scheduler::{Cancelled, Config, Outcome, Scheduler};
use iofwd_scheduler::time::Time;

pub(crate) trait Subject {
    fn new(config: &Config, policy: Box<dyn Policy>) -> Self;
    fn submit(&mut self, now: Time, request: Request);
    fn poll(&mut self, now: Time) -> Decision;
    fn complete(&mut self, now: Time, id: RequestId, outcome: Outcome);
    fn cancel(&mut self, now: Time, id: RequestId) -> Cancelled;
    fn switch(&mut self, now: Time, policy: Box<dyn Policy>);
    fn direct(&mut self, now: Time, directive: Directive);
    fn drain(&mut self) -> Vec<Request>;
    fn scheduler(&self) -> &Scheduler;
}

impl Subject for Scheduler {
    fn new(config: &Config, policy: Box<dyn Policy>) -> Self {
        Scheduler::new(config, policy)
    }

    fn submit(&mut self, now: Time, request: Request) {
        Scheduler::submit(self, now, request);
    }

    fn poll(&mut self, now: Time) -> Decision {
        Scheduler::poll(self, now)
    }

    fn complete(&mut self, now: Time, id: RequestId, outcome: Outcome) {
        Scheduler::complete(self, now, id, outcome);
    }

    fn cancel(&mut self, now: Time, id: RequestId) -> Cancelled {
        Scheduler::cancel(self, now, id)
    }

    fn switch(&mut self, now: Time, policy: Box<dyn Policy>) {
        Scheduler::switch(self, now, policy);
    }

    fn direct(&mut self, now: Time, directive: Directive) {
        Scheduler::direct(self, now, directive);
    }

    fn drain(&mut self) -> Vec<Request> {
        Scheduler::drain(self)
    }

    fn scheduler(&self) -> &Scheduler {
        self
    }
}
