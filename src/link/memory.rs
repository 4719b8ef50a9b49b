//! The memory that all connections of a process share: who does not fit waits for its turn.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Link;

/// Bytes that may be under way, and those that are.
#[derive(Debug)]
pub(super) struct Memory {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    peak: usize,
    waiting: VecDeque<Weak<Link>>,
}

/// What one request holds, of its connection's grant and of the memory; given back when dropped.
#[derive(Debug)]
pub struct Share {
    link: Arc<Link>,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(most: usize) -> Arc<Memory> {
        Arc::new(Memory { most, state: Mutex::default() })
    }

    /// Take so many bytes for a request of that connection, or have it read again when there is room.
    pub(super) fn reserve(&self, link: &Arc<Link>, bytes: usize) -> Option<Share> {
        let mut state = self.state();
        // One that is larger than all there is goes alone.
        if state.used > 0 && state.used + bytes > self.most {
            state.waiting.push_back(Arc::downgrade(link));
            return None;
        }
        state.used += bytes;
        state.peak = state.peak.max(state.used);
        // There may be room for the next one too.
        let next = (state.used < self.most).then(|| next(&mut state)).flatten();
        drop(state);
        link.under_way.fetch_add(bytes, Ordering::SeqCst);
        if let Some(next) = next {
            next.resume();
        }
        Some(Share { link: Arc::clone(link), bytes })
    }

    /// Bytes in use, and the most there were at a time.
    pub(super) fn used(&self) -> (usize, usize) {
        let state = self.state();
        (state.used, state.peak)
    }

    fn release(&self, bytes: usize) {
        let mut state = self.state();
        state.used -= bytes;
        let next = next(&mut state);
        drop(state);
        if let Some(next) = next {
            next.resume();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection that has waited longest and still exists.
fn next(state: &mut State) -> Option<Arc<Link>> {
    std::iter::from_fn(|| state.waiting.pop_front()).find_map(|link| link.upgrade())
}

impl Drop for Share {
    fn drop(&mut self) {
        self.link.release(self.bytes);
        self.link.hub.memory.release(self.bytes);
    }
}
