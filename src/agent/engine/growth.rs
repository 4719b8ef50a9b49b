//! More servers than before: each gets a queue when a file is first opened that has bytes there.
//!
//! So there is no window for a server that nobody uses, and a plain directory stays one server.

use std::sync::atomic::Ordering;

use super::Engine;

impl Engine {
    /// Have queues for so many servers. Nothing is done if there are as many already.
    pub(in crate::agent) fn grow(&self, servers: u32) {
        if servers <= self.core.servers.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.core.lock();
        if servers <= self.core.servers.load(Ordering::Acquire) {
            return;
        }
        let now = self.core.clock.now();
        if let Err(error) = state.scheduler.grow(now, servers) {
            // The policy was there a moment ago, under this name.
            tracing::error!(%error, "no queues for new servers");
            return;
        }
        self.core.servers.store(servers, Ordering::Release);
        let tasks = self.core.poll(&mut state, now);
        drop(state);
        self.core.workers.push(tasks);
    }
}
