//! What happened to a scheduler, event by event, and the proof that it would happen again.
//!
//! A scheduler decides from nothing but what it is told and when. So a recording of a real agent,
//! replayed in virtual time, must give the same batches; [`replay`] says where it does not.

use std::fmt;

use crate::policy::{Decision, Directive, Policy, Setup, by_name};
use crate::request::{Request, RequestId};
use crate::scheduler::{Cancelled, Config, Outcome, Scheduler};
use crate::time::Time;

/// Something that was done to a scheduler, or that it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was submitted.
    Submit(Time, Request),
    /// It answered that these are to be issued as one.
    Issue(Time, Vec<RequestId>),
    /// It answered that it is to be asked again at the second time, or after the next event.
    Wait(Time, Time),
    /// A request came back.
    Complete(Time, RequestId, Outcome),
    /// A request was taken back before it was issued.
    Cancel(Time, RequestId),
    /// A decision made elsewhere was passed on.
    Direct(Time, Directive),
    /// There are so many servers from now on.
    Grow(Time, u32),
}

/// Where a replay differs from its recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the event, from 0 on.
    pub event: usize,
    /// What was recorded.
    pub recorded: Event,
    /// What the scheduler answered now.
    pub replayed: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { event, recorded, replayed } = self;
        write!(f, "event {event}: recorded {recorded:?}, replayed {replayed}")
    }
}

impl std::error::Error for Difference {}

/// Does everything that was recorded to a new scheduler, at the recorded times. Returns the number
/// of batches, all of them as recorded, or the first difference.
///
/// # Panics
/// If the events are none that a scheduler can have seen: a completion of what was never issued.
pub fn replay(
    config: &Config,
    policy: Box<dyn Policy>,
    events: &[Event],
) -> Result<usize, Difference> {
    let mut scheduler = Scheduler::new(config, policy);
    let mut batches = 0;
    for (number, event) in events.iter().enumerate() {
        let differs =
            |replayed: String| Err(Difference { event: number, recorded: event.clone(), replayed });
        match event {
            Event::Submit(now, request) => scheduler.submit(*now, *request),
            Event::Complete(now, id, outcome) => {
                scheduler.complete(*now, *id, *outcome);
            }
            Event::Direct(now, directive) => scheduler.direct(*now, *directive),
            Event::Grow(now, servers) => {
                let setup = Setup { servers: *servers, ..*scheduler.setup() };
                let policy = by_name(scheduler.policy().name(), &setup);
                let grows = *servers >= scheduler.setup().servers && setup.check().is_ok();
                let Some(policy) = policy.filter(|_| grows) else {
                    return differs(format!("it cannot grow to {servers} servers"));
                };
                scheduler.grow(*now, *servers, policy);
            }
            Event::Cancel(now, id) => match scheduler.cancel(*now, *id) {
                Cancelled::Queued(_) => {}
                other @ (Cancelled::InFlight | Cancelled::Unknown) => {
                    return differs(format!("{other:?}"));
                }
            },
            Event::Issue(now, ids) => {
                let decision = scheduler.poll(*now);
                if !is_issue_of(&decision, ids) {
                    return differs(format!("{decision:?}"));
                }
                batches += 1;
            }
            Event::Wait(now, until) => {
                let decision = scheduler.poll(*now);
                if decision != Decision::WaitUntil(*until) {
                    return differs(format!("{decision:?}"));
                }
            }
        }
    }
    Ok(batches)
}

fn is_issue_of(decision: &Decision, ids: &[RequestId]) -> bool {
    matches!(decision, Decision::Issue(batch) if batch.requests().iter().map(|r| &r.id).eq(ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy;
    use crate::request::{Extent, FileId, JobId, Operation, ServerId};
    use crate::time::Span;

    fn request(id: u64, arrived: Time) -> Request {
        Request {
            id: RequestId(id),
            file: FileId(id % 3),
            job: JobId(0),
            server: ServerId((id % 4) as u32),
            operation: if id.is_multiple_of(5) { Operation::Write } else { Operation::Read },
            extent: Extent::new(id * 4096, 4096),
            local: id / 4 * 4096,
            arrived,
        }
    }

    /// Drives a scheduler as an engine would, and writes down what happened. In the midst of it two
    /// more servers appear.
    fn record(config: &Config, policy: &str) -> Vec<Event> {
        let name = policy;
        let policy = policy::by_name(policy, &config.setup).expect("a known policy");
        let (mut scheduler, mut events) = (Scheduler::new(config, policy), Vec::new());
        let (mut now, mut flying) = (Time::ZERO, Vec::new());
        for id in 0..400 {
            now += Span::from_micros(id * 37 % 211);
            if id == 200 {
                let (queued, flying) = (scheduler.queued(), scheduler.in_flight());
                let policy = policy::by_name(name, &Setup::new(6)).expect("a known policy");
                scheduler.grow(now, 6, policy);
                assert_eq!((scheduler.queued(), scheduler.in_flight()), (queued, flying), "{name}");
                events.push(Event::Grow(now, 6));
            }
            let mut request = request(id, now);
            if id >= 200 {
                request.server = ServerId((id % 6) as u32);
            }
            scheduler.submit(now, request);
            events.push(Event::Submit(now, request));
            loop {
                match scheduler.poll(now) {
                    Decision::Issue(batch) => {
                        let ids: Vec<_> = batch.requests().iter().map(|one| one.id).collect();
                        flying.extend(&ids);
                        events.push(Event::Issue(now, ids));
                    }
                    Decision::WaitUntil(until) => break events.push(Event::Wait(now, until)),
                    Decision::Empty => break,
                }
            }
            if id % 3 == 0 && !flying.is_empty() {
                let outcome = Outcome { bytes: 4096, failed: id % 7 == 0 };
                let done = flying.remove(0);
                scheduler.complete(now, done, outcome);
                events.push(Event::Complete(now, done, outcome));
            }
        }
        events
    }

    #[test]
    fn every_policy_decides_again_as_it_did() {
        let config = Config::new(Setup::new(4));
        for entry in policy::ALL {
            let events = record(&config, entry.name);
            let policy = policy::by_name(entry.name, &config.setup).expect("a known policy");
            let issued = events.iter().filter(|event| matches!(event, Event::Issue(..))).count();
            assert_eq!(replay(&config, policy, &events), Ok(issued), "{}", entry.name);
        }
    }

    #[test]
    fn another_decision_is_noticed() {
        let config = Config::new(Setup::new(4));
        let mut events = record(&config, "fifo");
        let issue = events
            .iter_mut()
            .find_map(|event| if let Event::Issue(_, ids) = event { Some(ids) } else { None });
        issue.expect("something was issued")[0] = RequestId(9999);
        let policy = policy::by_name("fifo", &config.setup).expect("a known policy");
        let difference = replay(&config, policy, &events).expect_err("the recording was changed");
        assert!(difference.to_string().contains("9999"), "{difference}");
    }
}
