//! Waiting until nothing is queued or in flight.

use std::sync::PoisonError;

use super::Engine;

impl Engine {
    /// Wait until everything that was asked for is done.
    pub fn drain(&self) {
        let mut state = self.core.lock();
        state.draining += 1;
        while state.scheduler.queued() + state.scheduler.in_flight() > 0 {
            state = self.core.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.draining -= 1;
        state.scheduler.flush();
    }
}
