//! The scheduler, with everything that is done to it written down if somebody asked for that.

use iofwd_scheduler::policy::{Batch, Decision, Directive, Done, Policy, Setup};
use iofwd_scheduler::record::Event;
use iofwd_scheduler::request::{Request, RequestId};
use iofwd_scheduler::room::Limit;
use iofwd_scheduler::scheduler::{Cancelled, Outcome, Scheduler};
use iofwd_scheduler::time::Time;

use crate::trace::Recorder;

use super::recent::Recent;

/// A scheduler, and maybe a recorder.
pub(super) struct Recorded {
    scheduler: Scheduler,
    recorder: Option<Recorder>,
    recent: Recent,
}

impl Recorded {
    pub(super) fn new(scheduler: Scheduler, recorder: Option<Recorder>) -> Recorded {
        Recorded { scheduler, recorder, recent: Recent::default() }
    }

    pub(super) fn submit(&mut self, now: Time, request: Request) {
        self.record(|| Event::Submit(now, request));
        self.scheduler.submit(now, request);
    }

    /// Submit a request, and issue it at once if nothing is in its way: whether it is in flight.
    pub(super) fn admit(&mut self, now: Time, request: Request) -> bool {
        self.record(|| Event::Submit(now, request));
        let passed = self.scheduler.admit(now, request);
        if passed {
            self.recent.note(now, &Batch::one(request));
            self.record(|| Event::Issue(now, vec![request.id]));
        }
        passed
    }

    pub(super) fn poll(&mut self, now: Time) -> Decision {
        let decision = self.scheduler.poll(now);
        match &decision {
            Decision::Issue(batch) => {
                self.recent.note(now, batch);
                self.record(|| {
                    Event::Issue(now, batch.requests().iter().map(|request| request.id).collect())
                });
            }
            Decision::WaitUntil(until) => self.record(|| Event::Wait(now, *until)),
            Decision::Empty => {}
        }
        decision
    }

    pub(super) fn complete(&mut self, now: Time, id: RequestId, outcome: Outcome) -> Done {
        self.record(|| Event::Complete(now, id, outcome));
        self.scheduler.complete(now, id, outcome)
    }

    pub(super) fn cancel(&mut self, now: Time, id: RequestId) -> Cancelled {
        let cancelled = self.scheduler.cancel(now, id);
        if matches!(cancelled, Cancelled::Queued(_)) {
            self.record(|| Event::Cancel(now, id));
        }
        cancelled
    }

    pub(super) fn direct(&mut self, now: Time, directive: Directive) {
        self.record(|| Event::Direct(now, directive));
        self.scheduler.direct(now, directive);
    }

    /// Hand over to another policy. A recording has one policy from beginning to end.
    pub(super) fn switch(&mut self, now: Time, policy: Box<dyn Policy>) -> Result<(), String> {
        if self.recorder.is_some() {
            return Err("what is recorded keeps its policy".into());
        }
        self.scheduler.switch(now, policy);
        Ok(())
    }

    /// There are so many servers from now on.
    pub(super) fn grow(&mut self, now: Time, servers: u32) -> Result<(), String> {
        let setup = Setup { servers, ..*self.scheduler.setup() };
        let policy = super::settings::policy(self.scheduler.policy().name(), &setup)?;
        self.record(|| Event::Grow(now, servers));
        self.scheduler.grow(now, servers, policy);
        Ok(())
    }

    /// Change what each server may have in flight.
    pub(super) fn bound_each(&mut self, each: Limit) {
        self.scheduler.bound_each(each);
    }

    /// Requests that are not issued yet.
    pub(super) fn queued(&self) -> usize {
        self.scheduler.queued()
    }

    /// Requests issued and not completed yet.
    pub(super) fn in_flight(&self) -> usize {
        self.scheduler.in_flight()
    }

    /// The batches that left last.
    pub(super) fn recent(&self) -> &Recent {
        &self.recent
    }

    /// The scheduler, to look at.
    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Everything recorded so far is in its file.
    pub(super) fn flush(&mut self) {
        if let Some(Err(error)) = self.recorder.as_mut().map(Recorder::flush) {
            tracing::error!(%error, "the recording cannot be written");
        }
    }

    fn record(&mut self, event: impl FnOnce() -> Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.write(&event());
        }
    }
}
