//! How much a server does in a span of time, learnt from what comes back; integers only.
//!
//! What comes back first after an idle moment shows how long the way takes; what follows shows how
//! fast the server works once it is at it. A server that is given one batch at a time shows the
//! first alone, and no arithmetic tells what a second would add. So it is given one more request now
//! and then, the more seldom the more often that was too much.

use super::line::Line;
use crate::policy::Done;
use crate::time::{Span, Time};

/// What one server has shown, and what is tried with it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    /// What came back first after idle moments, and how many times that was.
    first: Shown,
    firsts: u64,
    /// What came back behind it.
    next: Shown,
    /// The last completion, or the end of the idle moment before; none before the first such.
    last: Option<Time>,
    /// When the first one after the idle moment came back.
    answered: Option<Time>,
    /// What the first after the last idle moment brought so far, and how long it took; and the line
    /// through all before it.
    current: (u64, Span),
    line: Line,
    window: Window,
    trial: Trial,
}

/// Bytes and the time they took, both fading at the same pace, so that their ratio is a rate.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    bytes: u64,
    busy: u64,
}

/// What is seen in one window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    /// Something queued did not fit in.
    held_back: bool,
    /// Something came back after its end.
    late: bool,
    /// Things came back one after the other.
    followed: bool,
}

/// Attempts to put more into a window than is known to fit.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Bytes more in this window; 0 in most.
    extra: u64,
    /// Windows since the last attempt that gave a reason for another.
    reasons: u32,
    /// How many reasons it takes.
    patience: u32,
}

impl Rate {
    /// A new window of this server begins to be used, with a request of `length` bytes: draws the
    /// lesson of the one before.
    pub(super) fn turn(&mut self, length: u64) {
        let Window { held_back, late, followed } = self.window;
        self.trial.turn(length, held_back && !late && !followed, late);
        self.window = Window::default();
        self.line.fit();
    }

    /// The idle server is given something.
    pub(super) fn start(&mut self, now: Time) {
        self.firsts = fade(self.firsts);
        self.first.fade();
        self.next.fade();
        (self.last, self.answered) = (Some(now), None);
        let (bytes, busy) = std::mem::take(&mut self.current);
        if bytes > 0 {
            self.line.add(bytes, busy);
        }
    }

    /// Something queued does not fit into the current window.
    pub(super) const fn hold_back(&mut self) {
        self.window.held_back = true;
    }

    /// Learns from a completion; `end` is that of the window it was issued in. A failure, or a read
    /// at the end of a file, says nothing about how fast bytes move.
    pub(super) fn learn(&mut self, now: Time, done: &Done, end: Time) {
        self.window.late |= now > end + self.way_back();
        let Some(last) = self.last.filter(|_| !done.failed && done.bytes > 0) else { return };
        self.last = Some(now);
        if self.answered.is_none() {
            self.firsts = self.firsts.saturating_add(SCALE);
        }
        // All that comes back at one instant came as one.
        if *self.answered.get_or_insert(now) == now {
            self.first.add(done.bytes, now.since(last));
            self.current.0 = self.current.0.saturating_add(done.bytes);
            self.current.1 += now.since(last);
        } else {
            self.next.add(done.bytes, now.since(last));
            self.window.followed = true;
        }
    }

    /// How long what an idle server is given takes to come back, on the whole.
    pub(super) fn usual(&self) -> Span {
        Span::from_nanos(self.first.busy / self.firsts.max(1))
    }

    /// Bytes the server can do in a span; nothing if it has not shown yet.
    pub(super) fn capacity(&self, span: Span) -> Option<u64> {
        if self.firsts == 0 || self.first.busy == 0 {
            return None;
        }
        let (bytes, busy) = (self.first.bytes / self.firsts, self.first.busy / self.firsts);
        let span = span.as_nanos();
        let shown = match (span + self.way_back().as_nanos()).checked_sub(busy) {
            Some(rest) if self.next.busy > 0 => self.next.within(rest).saturating_add(bytes),
            Some(_) | None => self.first_within(span, bytes, busy),
        };
        let most = self.first.and(self.next).within(span).saturating_mul(GROWTH);
        let extra = if self.answered.is_none() { self.trial.extra } else { 0 };
        Some(shown.min(most).saturating_add(extra))
    }

    /// Bytes of the first after an idle moment that fit into a span, if so many take so long as a rule.
    fn first_within(&self, span: u64, bytes: u64, busy: u64) -> u64 {
        // However it looks, some of the time goes into the bytes.
        let fixed = self.line.fixed().as_nanos().min(busy - busy / 8);
        scaled(span.saturating_sub(fixed), bytes, busy - fixed)
    }

    /// How long something is on its way back when the server is done with it: half of what the
    /// first took beyond its bytes. It may arrive that long after the window, because what the next
    /// agent sends then is on its way for as long.
    fn way_back(&self) -> Span {
        if self.firsts == 0 || self.next.bytes == 0 {
            return Span::ZERO;
        }
        let work = scaled(self.first.bytes, self.next.busy, self.next.bytes);
        Span::from_nanos(self.first.busy.saturating_sub(work) / self.firsts / 2)
    }
}

impl Shown {
    /// What has faded to next to nothing is forgotten: its ratio says nothing. A single byte has not,
    /// when the next one comes.
    fn fade(&mut self) {
        *self = Shown { bytes: fade(self.bytes), busy: fade(self.busy) };
        if self.bytes < FORGOTTEN || self.busy < FORGOTTEN {
            *self = Shown::default();
        }
    }

    fn add(&mut self, bytes: u64, busy: Span) {
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(SCALE));
        self.busy = self.busy.saturating_add(busy.as_nanos().saturating_mul(SCALE));
    }

    fn and(self, other: Shown) -> Shown {
        Shown {
            bytes: self.bytes.saturating_add(other.bytes),
            busy: self.busy.saturating_add(other.busy),
        }
    }

    /// Bytes in this many nanoseconds.
    fn within(self, nanos: u64) -> u64 {
        scaled(nanos, self.bytes, self.busy)
    }
}

impl Trial {
    /// A window begins; the one before gave a reason to try more, or ended late.
    fn turn(&mut self, length: u64, reason: bool, late: bool) {
        if self.extra > 0 {
            let patience = if late { self.patience.saturating_mul(2) } else { self.patience / 2 };
            self.patience = patience.clamp(1, PATIENCE);
            self.extra = 0;
        }
        self.reasons += u32::from(reason);
        if reason && self.reasons >= self.patience {
            (self.extra, self.reasons) = (length, 0);
        }
    }
}

/// A number times another by a third, in wide arithmetic only if it must be: that is slow.
fn scaled(number: u64, by: u64, part: u64) -> u64 {
    let part = part.max(1);
    match number.checked_mul(by) {
        Some(product) => product / part,
        None => {
            let product = u128::from(number) * u128::from(by) / u128::from(part);
            u64::try_from(product).unwrap_or(u64::MAX)
        }
    }
}

const fn fade(sum: u64) -> u64 {
    sum - sum / WEIGHT
}

/// A period without an idle moment counts for an eighth.
const WEIGHT: u64 = 8;
/// Keeps what a division by [`WEIGHT`] would cut off.
const SCALE: u64 = 1_024;
/// An eighth of a byte, or of a nanosecond.
const FORGOTTEN: u64 = SCALE / 8;
/// How much more than what it did on the whole a server is ever given: what comes back together may
/// look as if it had taken no time at all.
const GROWTH: u64 = 2;
/// Windows that the longest series of failed attempts lies apart: one in a thousand may be late.
const PATIENCE: u32 = 1_024;

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

    /// Gives a rate periods in which `each` bytes come back at these nanoseconds, the last of them
    /// the end of the window.
    fn show(rate: &mut Rate, periods: u64, each: u64, times: &[u64]) {
        for period in 0..periods {
            let from = period * 1_000_000;
            rate.turn(each);
            rate.start(Time::from_nanos(from));
            for time in times {
                let done = done(from, each, false);
                rate.learn(Time::from_nanos(from + time), &done, Time::from_nanos(from + 1_000));
            }
        }
    }

    fn capacity(rate: &Rate, nanos: u64) -> u64 {
        rate.capacity(Span::from_nanos(nanos)).expect("something was shown")
    }

    fn assert_close(found: u64, expected: u64) {
        assert!(found.abs_diff(expected) * 100 <= expected, "{found}, not {expected}");
    }

    #[test]
    fn a_server_that_does_one_after_the_other_has_a_rate_alone() {
        let mut rate = Rate::default();
        assert_eq!(rate.capacity(Span::from_millis(1)), None);
        show(&mut rate, 20, 500, &[100, 200, 300, 400]);
        assert_close(capacity(&rate, 1_000), 5_000);
        assert_close(capacity(&rate, 99), 495);
    }

    #[test]
    fn single_bytes_have_a_rate_too() {
        for seen in [1, 2, 3, 20] {
            let mut rate = Rate::default();
            show(&mut rate, seen, 1, &[100]);
            rate.start(Time::from_nanos(999_999_999));
            assert!(capacity(&rate, 500) >= 1, "after {seen}");
        }
    }

    #[test]
    fn the_way_to_the_server_is_told_from_the_work() {
        let mut rate = Rate::default();
        show(&mut rate, 20, 500, &[600, 650, 700]);
        let way_back = (600 - 50) / 2;
        assert_close(rate.way_back().as_nanos(), way_back);
        // All three were done at the server when they had their way back before them.
        assert_close(capacity(&rate, 700 - way_back), 1_500);
        assert_close(capacity(&rate, 725 - way_back), 1_750);
        assert_close(capacity(&rate, 2_000), 2 * 2_000 * 1_500 / 700);
    }

    #[test]
    fn what_takes_long_to_begin_does_not_fit_in_half_of_the_time() {
        let mut rate = Rate::default();
        for period in 0..40 {
            let bytes = if period % 2 == 0 { 32 << 10 } else { 128 << 10 };
            let busy = 5_000_000 + bytes * 6;
            show(&mut rate, 1, bytes, &[busy]);
        }
        assert_eq!(capacity(&rate, 2_000_000), 0);
        assert!(capacity(&rate, 5_400_000) >= 32 << 10, "{}", capacity(&rate, 5_400_000));
    }

    #[test]
    fn follows_a_server_that_slows_down_and_ignores_failures() {
        let mut rate = Rate::default();
        show(&mut rate, 50, 1_000, &[100, 200, 300]);
        show(&mut rate, 50, 1_000, &[1_000, 2_000, 3_000]);
        for (bytes, failed) in [(0, false), (1_000, true)] {
            let late = Time::from_nanos(999_999_999);
            rate.learn(late, &done(0, bytes, failed), Time::NEVER);
        }
        assert_close(capacity(&rate, 100_000), 100_000);
    }

    /// The windows in which more was tried, of as many as asked for, with one request at a time.
    fn trials(windows: u64, on_time: bool) -> Vec<u64> {
        let mut rate = Rate::default();
        let mut tried = Vec::new();
        for window in 0..windows {
            rate.turn(500);
            rate.start(Time::ZERO);
            let more = rate.trial.extra > 0;
            let back = if more && !on_time { 1_200 } else { 600 };
            rate.learn(Time::from_nanos(back), &done(0, 500, false), Time::from_nanos(1_000));
            rate.hold_back();
            tried.extend(more.then_some(window));
        }
        tried
    }

    #[test]
    fn more_is_tried_where_one_comes_back_alone_and_seldom_if_that_is_too_much() {
        assert_eq!(trials(9, true), [1, 2, 3, 4, 5, 6, 7, 8]);
        let tried = trials(10_000, false);
        assert!(tried.starts_with(&[1, 3, 6, 11]), "{tried:?}");
        assert!(tried.len() < 20, "{tried:?}");
    }

    #[test]
    fn nothing_is_tried_where_nothing_waits_or_the_answer_is_known() {
        let mut rate = Rate::default();
        show(&mut rate, 9, 500, &[600]);
        assert_eq!(rate.trial.extra, 0, "nothing was held back");
        for _ in 0..9 {
            show(&mut rate, 1, 500, &[450, 900]);
            rate.hold_back();
            assert_eq!(rate.trial.extra, 0, "the second took 450 ns");
        }
    }
}
