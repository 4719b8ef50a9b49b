//! Deadlock: a process must not wait for one that waits, maybe through others, for it.

use iofwd_mount::store::{LockOwner, LockRequest};

use super::{Locks, Waiting};

impl Locks {
    /// Whether waiting for this lock would close a circle of `fcntl` locks.
    pub(super) fn would_deadlock(&self, waiting: &Waiting, request: &LockRequest) -> bool {
        if request.whole_file {
            return false;
        }
        let mut reached = self.holders(request);
        let mut next = 0;
        while let Some(owner) = reached.get(next).copied() {
            if owner == request.owner {
                return true;
            }
            next += 1;
            for waiter in waiting.queue.iter().filter(|waiter| waiter.request.owner == owner) {
                if !waiter.request.whole_file {
                    for holder in self.holders(&waiter.request) {
                        if !reached.contains(&holder) {
                            reached.push(holder);
                        }
                    }
                }
            }
        }
        false
    }

    /// The owners that are in the way of a lock.
    fn holders(&self, request: &LockRequest) -> Vec<LockOwner> {
        self.held
            .iter()
            .filter(|held| held.key().0 == request.node && held.key().1 != request.owner)
            .filter(|held| held.ranges.conflict(&request.lock).is_some())
            .map(|held| held.key().1)
            .collect()
    }
}
