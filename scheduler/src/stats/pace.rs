//! How fast one server is: waits for it, its service times, and how much of the time it had work.

use super::Histogram;
use crate::policy::Done;
use crate::time::{Span, Time};

/// The times of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Nanoseconds from arrival to issue.
    pub waits: Histogram,
    /// Nanoseconds from issue to completion.
    pub services: Histogram,
    /// Batches that left for it.
    pub batches: u64,
    /// When it last failed a request, if it ever did.
    pub failed: Option<Time>,
    in_flight: u64,
    since: Time,
    busy: Span,
}

impl Pace {
    /// How long it has had something in flight by now, in all.
    pub fn busy(&self, now: Time) -> Span {
        let going_on = if self.in_flight > 0 { now.since(self.since) } else { Span::ZERO };
        self.busy + going_on
    }

    /// A batch of so many requests goes out.
    pub(super) fn launch(&mut self, now: Time, members: usize) {
        self.batches += 1;
        if self.in_flight == 0 {
            self.since = now;
        }
        self.in_flight += members as u64;
    }

    /// A request came back.
    pub(super) fn land(&mut self, now: Time, done: &Done) {
        self.services.record(now.since(done.issued).as_nanos());
        if done.failed {
            self.failed = Some(now);
        }
        self.in_flight -= 1;
        if self.in_flight == 0 {
            self.busy += now.since(self.since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};

    fn done(issued: u64, failed: bool) -> Done {
        let request = Request {
            id: RequestId(1),
            file: FileId(1),
            job: JobId(1),
            server: ServerId(0),
            operation: Operation::Read,
            extent: Extent::new(0, 10),
            local: 0,
            arrived: Time::ZERO,
        };
        Done { request, issued: Time::from_nanos(issued), bytes: 10, failed }
    }

    #[test]
    fn a_server_is_busy_while_anything_is_in_flight() {
        let (at, mut pace) = (Time::from_nanos, Pace::default());
        pace.launch(at(100), 2);
        pace.launch(at(150), 1);
        pace.land(at(200), &done(100, false));
        assert_eq!(pace.busy(at(300)), Span::from_nanos(200));
        pace.land(at(400), &done(100, true));
        pace.land(at(500), &done(150, false));
        assert_eq!(pace.busy(at(9_000)), Span::from_nanos(400));
        assert_eq!((pace.batches, pace.services.count()), (2, 3));
        assert_eq!(pace.failed, Some(at(400)));
    }
}
