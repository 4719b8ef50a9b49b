//! How long the frames of a connection take to be dealt with: where they are quick one thread deals
//! with them one after the other, where they are not several do.
//!
//! What counts is that a frame waits for something, or keeps a processor busy. Where others need the
//! processor every frame seems to take long now and then; to hand the connection on for each of them
//! would keep the processors busier still.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
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
/// because others needed the processor. The system is asked only after something took long.
#[derive(Debug, Default)]
pub(super) struct Absence {
    waited: AtomicI64,
    forced: AtomicI64,
    /// The counts are as they were when the thread was woken last.
    is_noted: AtomicBool,
    /// So many times more they are noted.
    watches: AtomicU32,
}

impl Absence {
    /// The calling thread was woken: what was until now does not count.
    pub(super) fn woke(&self) {
        let watches = self.watches.load(Ordering::Relaxed);
        self.is_noted.store(watches > 0, Ordering::Relaxed);
        if watches > 0 {
            self.watches.store(watches - 1, Ordering::Relaxed);
            self.note();
        }
    }

    /// Something took long: whether the calling thread was away meanwhile, and never because it
    /// waited. The first time that is not known, and taken for so.
    pub(super) fn was_forced(&self) -> bool {
        self.watches.store(WATCHES, Ordering::Relaxed);
        let is_known = self.is_noted.swap(true, Ordering::Relaxed);
        self.note() || !is_known
    }

    /// Note the counts. Whether it was away since they were noted last, and never because it waited.
    fn note(&self) -> bool {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return false };
        let has_come = |count: &AtomicI64, now| count.swap(now, Ordering::Relaxed) != now;
        let has_waited = has_come(&self.waited, usage.voluntary_context_switches());
        has_come(&self.forced, usage.involuntary_context_switches()) && !has_waited
    }
}

/// Frames that take less, in microseconds, are dealt with one after the other.
const QUICK: u32 = 60;
/// So often a thread that took long is looked at when it is woken.
const WATCHES: u32 = 32;
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
        assert!(absence.was_forced(), "nobody knows yet");
        absence.woke();
        let (_tell, told) = mpsc::channel::<()>();
        assert!(told.recv_timeout(Duration::from_millis(1)).is_err());
        assert!(!absence.was_forced());
    }

    #[test]
    fn who_gives_way_to_others_is() {
        let absence = Absence::default();
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
            absence.was_forced();
            while !absence.was_forced() {
                assert!(begun.elapsed() < Duration::from_secs(20), "nobody needs the processor");
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn the_system_is_asked_for_a_while_after_something_took_long() {
        let absence = Absence::default();
        let is_noted = || {
            absence.woke();
            absence.is_noted.load(Ordering::Relaxed)
        };
        assert!(!is_noted());
        absence.was_forced();
        assert!((0..WATCHES).all(|_| is_noted()) && !is_noted());
    }
}
