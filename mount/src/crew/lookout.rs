//! The look-out: sees which crews stay busy, and asleep when there is nothing to see.
//!
//! To look costs as much as a small request. So it looks often where much is done or somebody was
//! held up, and ever less often where little is: hundreds of mounts on one node, each with a few
//! requests a second, would keep its processors busy with looking.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What a look-out looks at.
pub trait Watched: Send + Sync {
    /// How is it going, after so long?
    fn look(self: Arc<Self>, since: Duration) -> Sight;
}

/// What there was to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// How much was done since the last look.
    pub served: u64,
    /// Somebody waits in the midst of something.
    pub is_held_up: bool,
    /// Somebody relies on being recalled soon.
    pub is_courteous: bool,
}

/// One thread that looks after all crews of a process.
pub struct Lookout {
    mood: AtomicU8,
    thread: OnceLock<Thread>,
    crews: Mutex<Vec<Weak<dyn Watched>>>,
}

/// Nobody has called for a while: it sleeps until somebody does.
const ASLEEP: u8 = 0;
/// Nobody has called since it looked last.
const QUIET: u8 = 1;
/// Somebody has.
const ALERT: u8 = 2;

impl std::fmt::Debug for Lookout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookout").field("mood", &self.mood).finish_non_exhaustive()
    }
}

impl Lookout {
    /// That of this process, which begins with the first who asks for it.
    pub fn of_process() -> io::Result<Arc<Lookout>> {
        static LOOKOUT: Mutex<Weak<Lookout>> = Mutex::new(Weak::new());
        let mut known = LOOKOUT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lookout) = known.upgrade() {
            return Ok(lookout);
        }
        let lookout = Lookout::start()?;
        *known = Arc::downgrade(&lookout);
        Ok(lookout)
    }

    /// Begin. The thread ends when nobody holds the look-out any more.
    pub(crate) fn start() -> io::Result<Arc<Lookout>> {
        let lookout = Arc::new(Lookout {
            mood: AtomicU8::new(QUIET),
            thread: OnceLock::new(),
            crews: Mutex::default(),
        });
        let weak = Arc::downgrade(&lookout);
        let thread = thread::Builder::new().name("iofwd-lookout".into()).spawn(move || {
            let (mut looked, mut gait) = (Instant::now(), Gait::default());
            while let Some(lookout) = weak.upgrade() {
                let since = looked.elapsed();
                looked = Instant::now();
                let (was_called, sight) = lookout.look(since);
                let every = gait.next(sight, since, was_called);
                let sleeps = gait.is_long_quiet() && lookout.fall_asleep();
                drop(lookout);
                if sleeps {
                    thread::park();
                    // Whoever woke it has only just begun.
                    looked = Instant::now();
                }
                thread::park_timeout(every);
            }
        })?;
        let _ = lookout.thread.set(thread.thread().clone());
        Ok(lookout)
    }

    /// Everybody is busy: look whether they stay so.
    pub fn alert(&self) {
        if self.mood.load(Ordering::Relaxed) == ALERT {
            return;
        }
        if self.mood.swap(ALERT, Ordering::AcqRel) == ASLEEP
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Look now, and often.
    pub(super) fn hurry(&self) {
        self.mood.store(ALERT, Ordering::Release);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Look after this one too, as long as it is there.
    pub fn watch(&self, crew: &Arc<dyn Watched>) {
        let mut crews = self.crews.lock().unwrap_or_else(PoisonError::into_inner);
        crews.retain(|crew| crew.strong_count() > 0);
        crews.push(Arc::downgrade(crew));
    }

    /// Look at all: whether somebody had called, and the most that was to see.
    fn look(&self, since: Duration) -> (bool, Sight) {
        let called = self.mood.compare_exchange(ALERT, QUIET, Ordering::AcqRel, Ordering::Relaxed);
        let crews = self.crews.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut most = Sight::default();
        for sight in crews.iter().filter_map(Weak::upgrade).map(|crew| crew.look(since)) {
            most.served = most.served.max(sight.served);
            most.is_held_up |= sight.is_held_up;
            most.is_courteous |= sight.is_courteous;
        }
        (called.is_ok(), most)
    }

    fn fall_asleep(&self) -> bool {
        self.mood.compare_exchange(QUIET, ASLEEP, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// How often to look.
#[derive(Debug)]
struct Gait {
    every: Duration,
    /// So many looks, and what was seen last is forgotten.
    keen: u32,
    /// For how long nobody has called.
    quiet: Duration,
}

impl Default for Gait {
    fn default() -> Gait {
        Gait { every: OFTEN, keen: 0, quiet: Duration::ZERO }
    }
}

impl Gait {
    /// When to look next, if this was seen after so long.
    fn next(&mut self, sight: Sight, since: Duration, was_called: bool) -> Duration {
        self.quiet = if was_called { Duration::ZERO } else { self.quiet + since };
        self.keen = if sight.is_held_up { KEEN } else { self.keen.saturating_sub(1) };
        self.every = if self.keen > 0 || sight.is_courteous {
            OFTEN
        } else {
            let worth_it = since.saturating_mul(WORTH) / sight.served.clamp(1, 1 << 20) as u32;
            worth_it.min(self.every * 2).clamp(OFTEN, SELDOM)
        };
        self.every
    }

    fn is_long_quiet(&self) -> bool {
        self.quiet > PATIENCE
    }
}

/// How often it looks while there is much to see,
const OFTEN: Duration = Duration::from_millis(2);
/// and while there is little.
const SELDOM: Duration = Duration::from_millis(64);
/// So much is done between two looks.
const WORTH: u32 = 8;
/// So often it looks again soon where somebody was held up.
const KEEN: u32 = 250;
/// So long without a call, and it goes to sleep.
const PATIENCE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: Sight = Sight { served: 1, is_held_up: false, is_courteous: false };

    /// Looks in a second, and how long the last one was waited for.
    fn second(gait: &mut Gait, sight: impl Fn(Duration) -> Sight) -> (u32, Duration) {
        let (mut looks, mut passed) = (0, Duration::ZERO);
        let mut every = gait.every;
        while passed < Duration::from_secs(1) {
            passed += every;
            looks += 1;
            every = gait.next(sight(every), every, true);
        }
        (looks, every)
    }

    #[test]
    fn where_little_is_done_it_looks_seldom_and_where_much_is_often() {
        let mut gait = Gait::default();
        let (looks, every) = second(&mut gait, |_| LITTLE);
        assert!(looks < 25 && every == SELDOM, "{looks} looks, then every {every:?}");
        let much = |since: Duration| Sight { served: since.as_micros() as u64 / 100, ..LITTLE };
        let (looks, every) = second(&mut gait, much);
        assert!(looks > 400 && every == OFTEN, "{looks} looks, then every {every:?}");
    }

    #[test]
    fn where_somebody_was_held_up_it_looks_often_for_a_while() {
        let mut gait = Gait::default();
        second(&mut gait, |_| LITTLE);
        assert_eq!(gait.next(Sight { is_held_up: true, ..LITTLE }, SELDOM, true), OFTEN);
        assert!((1..KEEN).all(|_| gait.next(LITTLE, OFTEN, true) == OFTEN));
        second(&mut gait, |_| LITTLE);
        assert_eq!(gait.every, SELDOM);
    }

    #[test]
    fn where_somebody_relies_on_it_it_looks_often() {
        let mut gait = Gait::default();
        second(&mut gait, |_| LITTLE);
        assert_eq!(gait.next(Sight { is_courteous: true, ..LITTLE }, SELDOM, true), OFTEN);
        assert!(gait.next(LITTLE, OFTEN, true) > OFTEN);
    }

    #[test]
    fn it_sleeps_when_nobody_has_called_for_a_while() {
        let mut gait = Gait::default();
        while !gait.is_long_quiet() {
            gait.next(Sight::default(), OFTEN, false);
        }
        gait.next(Sight::default(), OFTEN, true);
        assert!(!gait.is_long_quiet());
    }
}
