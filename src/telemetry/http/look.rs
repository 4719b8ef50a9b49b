//! One look at the agent in a while, shared by all who ask.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::telemetry::Snapshot;

/// Makes a snapshot.
type Take = Box<dyn Fn() -> Snapshot + Send + Sync>;

/// The last look, and how to take another.
pub struct Look {
    take: Take,
    last: Mutex<Option<(Instant, Arc<Snapshot>)>>,
}

impl std::fmt::Debug for Look {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Look").finish_non_exhaustive()
    }
}

impl Look {
    /// Look by this function.
    pub fn new(take: Take) -> Look {
        Look { take, last: Mutex::default() }
    }

    /// What was seen at most `FRESH` ago.
    pub fn see(&self) -> Arc<Snapshot> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, seen)) = &*last
            && at.elapsed() < FRESH
        {
            return Arc::clone(seen);
        }
        let seen = Arc::new((self.take)());
        *last = Some((Instant::now(), Arc::clone(&seen)));
        seen
    }
}

/// Four looks a second, at most.
const FRESH: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn however_often_somebody_asks_the_agent_is_asked_rarely() {
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        let look = Look::new(Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Snapshot::default()
        }));
        let begun = Instant::now();
        (0..100_000).for_each(|_| drop(look.see()));
        let allowed = 1 + begun.elapsed().as_millis() as u64 / FRESH.as_millis() as u64;
        let taken = taken.load(Ordering::Relaxed);
        assert!((1..=allowed).contains(&taken), "{taken} looks, {allowed} allowed");
    }
}
