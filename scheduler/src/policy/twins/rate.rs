//! How fast a server works, learnt from what comes back; integers only.

use crate::policy::Done;
use crate::time::{Span, Time};

/// Recent bytes and the time the server was busy with them, both fading at the same pace, so that
/// their ratio is the rate and several completions at one instant do no harm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    bytes: u64,
    busy: u64,
    last: Time,
}

impl Rate {
    /// Learns from a completion. The server was busy with it since it was issued, or since the
    /// completion before if that came later. A failure, or a read at the end of a file, says
    /// nothing about how fast bytes move.
    pub(super) fn learn(&mut self, now: Time, done: &Done) {
        let busy = now.since(done.issued.max(self.last)).as_nanos();
        self.last = now;
        if done.failed || done.bytes == 0 {
            return;
        }
        self.bytes = fade(self.bytes).saturating_add(done.bytes.saturating_mul(SCALE));
        self.busy = fade(self.busy).saturating_add(busy.saturating_mul(SCALE));
    }

    /// Bytes the server can do in a span; nothing if it has not shown yet.
    pub(super) fn capacity(&self, span: Span) -> Option<u64> {
        if self.busy == 0 {
            return None;
        }
        let bytes = u128::from(span.as_nanos()) * u128::from(self.bytes) / u128::from(self.busy);
        Some(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

const fn fade(sum: u64) -> u64 {
    sum - sum / WEIGHT
}

/// A completion counts for an eighth: a burst of slow ones shows within one window's worth.
const WEIGHT: u64 = 8;
/// Keeps what a division by [`WEIGHT`] would cut off.
const SCALE: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};

    fn done(issued: u64, bytes: u64, failed: bool) -> Done {
        let request = Request {
            id: RequestId(0),
            file: FileId(0),
            job: JobId(0),
            server: ServerId(0),
            operation: Operation::Read,
            extent: Extent::new(0, bytes),
            local: 0,
            arrived: Time::ZERO,
        };
        Done { request, issued: Time::from_nanos(issued), bytes, failed }
    }

    #[test]
    fn finds_the_rate_of_a_server_that_works_on_several_at_once() {
        let mut rate = Rate::default();
        assert_eq!(rate.capacity(Span::from_millis(1)), None);
        for n in 0..100_u64 {
            rate.learn(
                Time::from_nanos((n + 1) * 1_000),
                &done(n.saturating_sub(4) * 1_000, 500, false),
            );
        }
        assert_eq!(rate.capacity(Span::from_nanos(10_000)), Some(5_000));
    }

    #[test]
    fn follows_a_server_that_slows_down_and_ignores_failures() {
        let mut rate = Rate::default();
        let mut now = 0;
        for step in [1_000, 10_000] {
            for _ in 0..100 {
                rate.learn(Time::from_nanos(now + step), &done(now, 1_000, false));
                rate.learn(Time::from_nanos(now + step), &done(now, 0, true));
                rate.learn(Time::from_nanos(now + step), &done(now, 0, false));
                now += step;
            }
        }
        let capacity = rate.capacity(Span::from_nanos(100_000)).unwrap();
        assert!((9_990..=10_010).contains(&capacity), "{capacity}");
    }
}
