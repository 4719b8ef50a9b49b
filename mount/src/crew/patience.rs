//! How long a thread looks for the next request before it sleeps.
//!
//! To be woken takes as long as a small request, and several times as long where the processor has
//! gone to sleep meanwhile. So whoever has dealt with one looks again for a moment, and lets
//! others have the processor between two looks. Where that is in vain more often than not, or others
//! need the processor, it is not tried for a while: it never costs more than a small share, and
//! nothing where there is nothing to do.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What came of looking so far, at one place.
#[derive(Debug, Default)]
pub struct Patience {
    vain: AtomicU32,
    /// So many times it is not tried.
    skip: AtomicU32,
}

/// Somebody looks.
#[derive(Debug)]
pub struct Looking {
    since: Instant,
}

impl Patience {
    /// Begin to look, if it is worth it.
    pub fn begin(&self) -> Option<Looking> {
        let skip = self.skip.load(Ordering::Relaxed);
        if skip > 0 {
            self.skip.store(skip - 1, Ordering::Relaxed);
            return None;
        }
        Some(Looking { since: Instant::now() })
    }

    /// Something came.
    pub fn was_right(&self) {
        let vain = self.vain.load(Ordering::Relaxed);
        self.vain.store(vain.saturating_sub(1), Ordering::Relaxed);
    }

    fn was_wrong(&self) {
        let vain = (self.vain.load(Ordering::Relaxed) + 1).min(VAIN_MOST);
        self.vain.store(vain, Ordering::Relaxed);
        if vain >= VAIN_FEW {
            self.skip.store(1 << vain, Ordering::Relaxed);
        }
    }

    /// Let others have the processor for a moment; whether to look again.
    pub fn goes_on(&self, looking: &Looking) -> bool {
        let before = Instant::now();
        if before.duration_since(looking.since) > LONGEST {
            self.was_wrong();
            return false;
        }
        self.yield_since(before);
        true
    }

    /// Let others have the processor for a moment, unless they keep it. Whether they had it.
    pub fn gives_way(&self) -> bool {
        let gives_way = self.skip.load(Ordering::Relaxed) == 0;
        if gives_way {
            self.yield_since(Instant::now());
        }
        gives_way
    }

    fn yield_since(&self, before: Instant) {
        std::thread::yield_now();
        if before.elapsed() > CROWDED {
            self.skip.store(SKIP_WHERE_CROWDED, Ordering::Relaxed);
        }
    }
}

/// For so long.
const LONGEST: Duration = Duration::from_micros(80);
/// Whoever gets the processor back after so long is not the only one to need it.
const CROWDED: Duration = Duration::from_micros(500);
const SKIP_WHERE_CROWDED: u32 = 1 << 10;
/// So many times in vain do not matter;
const VAIN_FEW: u32 = 4;
/// more than these are not counted.
const VAIN_MOST: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Look until it is given up.
    fn in_vain(patience: &Patience) -> bool {
        let Some(looking) = patience.begin() else { return false };
        while patience.goes_on(&looking) {}
        true
    }

    #[test]
    fn what_is_in_vain_is_tried_ever_less_often() {
        let patience = Patience::default();
        let tried = (0..10_000).filter(|_| in_vain(&patience)).count();
        assert!(tried < 40, "{tried} times");
    }

    #[test]
    fn what_is_right_is_tried_again() {
        let patience = Patience::default();
        for _ in 0..100 {
            in_vain(&patience);
        }
        (0..20_000).filter_map(|_| patience.begin()).for_each(|_| patience.was_right());
        assert!((0..100).all(|_| patience.begin().is_some()));
    }
}
