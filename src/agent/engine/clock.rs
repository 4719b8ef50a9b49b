//! The engine's clock: never goes back, and knows how far it is from the clock of the wall.

use std::time::{Instant, UNIX_EPOCH};

use iofwd_scheduler::time::Time;

/// Nanoseconds since the engine was started.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    pub(super) fn now(&self) -> Time {
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// What to add to `now` to get nanoseconds since the epoch: the clock that agents share.
    pub(super) fn offset(&self) -> i64 {
        let wall = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as i64;
        wall - self.now().as_nanos() as i64
    }
}
