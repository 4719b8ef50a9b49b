//! How fast a server works, learnt from what comes back; integers only.
//!
//! A server that is given one request at a time shows its latency, not its rate. So a window that
//! held something back and ended on time lets the next one try more, and one that ended late less.

use crate::policy::Done;
use crate::time::{Span, Time};

/// Recent bytes and the time the server was busy with them, both fading at the same pace, so that
/// their ratio is the rate and several completions at one instant do no harm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    bytes: u64,
    busy: u64,
    last: Time,
    /// How much more than the rate shown is tried, in eighths.
    trust: u64,
    /// Something queued did not fit into the current window.
    held_back: bool,
    /// Something came back after the end of its window.
    late: bool,
}

impl Default for Rate {
    fn default() -> Rate {
        let (bytes, busy, last) = (0, 0, Time::ZERO);
        Rate { bytes, busy, last, trust: TRUST_LEAST, held_back: false, late: false }
    }
}

impl Rate {
    /// A new window of this server begins to be used: draw the lesson of the one before.
    pub(super) fn turn(&mut self) {
        if self.late {
            self.trust = (self.trust - self.trust / 4).max(TRUST_LEAST);
        } else if self.held_back {
            self.trust = (self.trust + self.trust / 4).min(TRUST_MOST);
        }
        (self.late, self.held_back) = (false, false);
    }

    /// Something queued does not fit into the current window.
    pub(super) fn hold_back(&mut self) {
        self.held_back = true;
    }

    /// Learns from a completion. The server was busy with it since it was issued, or since the
    /// completion before if that came later. `end` is that of the window it was issued in. A
    /// failure, or a read at the end of a file, says nothing about how fast bytes move.
    pub(super) fn learn(&mut self, now: Time, done: &Done, end: Time) {
        self.late |= now > end;
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
        let shown = u128::from(span.as_nanos()) * u128::from(self.bytes) / u128::from(self.busy);
        let tried = shown * u128::from(self.trust) / u128::from(TRUST_LEAST);
        Some(u64::try_from(tried).unwrap_or(u64::MAX))
    }
}

const fn fade(sum: u64) -> u64 {
    sum - sum / WEIGHT
}

/// A completion counts for an eighth: a burst of slow ones shows within one window's worth.
const WEIGHT: u64 = 8;
/// What is shown is tried in any case,
const TRUST_LEAST: u64 = 8;
/// and eight times as much at most: as many requests as a device takes at a time, or more.
const TRUST_MOST: u64 = 64;
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
                Time::NEVER,
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
                for (bytes, failed) in [(1_000, false), (0, true), (0, false)] {
                    let done = done(now, bytes, failed);
                    rate.learn(Time::from_nanos(now + step), &done, Time::NEVER);
                }
                now += step;
            }
        }
        let capacity = rate.capacity(Span::from_nanos(100_000)).unwrap();
        assert!((9_990..=10_010).contains(&capacity), "{capacity}");
    }

    #[test]
    fn tries_more_while_it_holds_back_and_ends_on_time_and_less_when_late() {
        let mut rate = Rate::default();
        let window = Span::from_nanos(1_000);
        rate.learn(Time::from_nanos(1_000), &done(0, 800, false), Time::NEVER);
        let shown = rate.capacity(window).unwrap();
        rate.turn();
        assert_eq!(rate.capacity(window), Some(shown), "nothing was held back");
        for _ in 0..50 {
            rate.hold_back();
            rate.turn();
        }
        assert_eq!(rate.capacity(window), Some(8 * shown), "as far as it goes");
        rate.learn(Time::from_nanos(2_001), &done(1_000, 800, false), Time::from_nanos(2_000));
        rate.hold_back();
        rate.turn();
        assert!(rate.capacity(window).unwrap() < 7 * shown, "it was late");
    }
}
