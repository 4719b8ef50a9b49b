//! How long the frames of a connection take to be dealt with: where they are quick one thread deals
//! with them one after the other, where they are not several do.
//!
//! What counts is that a frame waits for something, or keeps a processor busy. Where others need the
//! processor every frame seems to take long now and then; to hand the connection on for each of them
//! would keep the processors busier still.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// A moving average in microseconds.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU32);

impl Pace {
    pub(super) fn is_quick(&self) -> bool {
        self.0.load(Ordering::Relaxed) < QUICK
    }

    /// Whether a frame takes longer than most of those that are quick.
    pub(super) fn is_long(taken: Duration) -> bool {
        taken.as_micros() >= u128::from(QUICK)
    }

    pub(super) fn add(&self, taken: Duration) {
        let taken = taken.as_micros().min(SLOWEST) as u32;
        let before = self.0.load(Ordering::Relaxed);
        self.0.store((before * 7 + taken).div_ceil(8), Ordering::Relaxed);
    }
}

/// How often a thread was away from its processor: of itself, because it waited for something, and
/// because others needed the processor.
#[derive(Debug, Default)]
pub(super) struct Absence {
    waited: AtomicI64,
    forced: AtomicI64,
}

impl Absence {
    /// What was until now does not count. To be called by the thread itself.
    pub(super) fn note(&self) {
        self.was_forced();
    }

    /// Whether the calling thread was away since the last time, and never because it waited.
    pub(super) fn was_forced(&self) -> bool {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return false };
        let has_come = |count: &AtomicI64, now| count.swap(now, Ordering::Relaxed) != now;
        let has_waited = has_come(&self.waited, usage.voluntary_context_switches());
        has_come(&self.forced, usage.involuntary_context_switches()) && !has_waited
    }
}

/// Frames that take less, in microseconds, are dealt with one after the other.
const QUICK: u32 = 60;
/// One that takes longer counts as much: a single one decides nothing.
const SLOWEST: u128 = 400;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_pace_follows_what_is_usual_and_not_a_single_frame() {
        let pace = Pace::default();
        assert!(pace.is_quick());
        pace.add(Duration::from_secs(1));
        assert!(pace.is_quick(), "one is not enough");
        (0..20).for_each(|_| pace.add(Duration::from_micros(300)));
        assert!(!pace.is_quick());
        (0..40).for_each(|_| pace.add(Duration::from_micros(10)));
        assert!(pace.is_quick());
    }

    #[test]
    fn who_waits_is_not_away_by_force() {
        let absence = Absence::default();
        absence.note();
        let (_tell, told) = mpsc::channel::<()>();
        assert!(told.recv_timeout(Duration::from_millis(1)).is_err());
        assert!(!absence.was_forced());
    }

    #[test]
    fn who_gives_way_to_others_is() {
        let absence = Absence::default();
        absence.note();
        // More threads than processors, none of which waits.
        let most = std::thread::available_parallelism().map_or(1, |count| count.get()) + 1;
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..most {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                });
            }
            let begun = Instant::now();
            absence.note();
            while !absence.was_forced() {
                assert!(begun.elapsed() < Duration::from_secs(20), "nobody needs the processor");
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
