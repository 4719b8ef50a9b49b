//! Locks are the business of the server that has the names. Here it is only known who waits for one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{LockOwner, LockRequest};
use iofwd_mount::{Caller, Reply, Store};

use super::Striped;

/// Who waits for a lock.
#[derive(Debug, Default)]
pub(super) struct Waiting(Arc<Mutex<Vec<RequestKey>>>);

impl Waiting {
    /// How many they are.
    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}

/// An owner as the server that has the names knows it: there the client is one of its own.
pub(super) fn owner(owner: LockOwner) -> LockOwner {
    LockOwner { client: 0, ..owner }
}

impl Striped {
    /// Take or release a lock, for whoever it is.
    pub(super) fn lock(&self, caller: &Caller, request: &LockRequest, reply: Reply<()>) {
        let theirs = LockRequest { owner: owner(request.owner), ..*request };
        let (key, waiting) = (caller.request, Arc::clone(&self.waiting.0));
        lock(&waiting).push(key);
        let reply = Reply::call(move |result| {
            lock(&waiting).retain(|other| *other != key);
            reply.send(result);
        });
        self.names.setlk(caller, &theirs, reply);
    }

    /// Nobody waits any more.
    pub(super) fn interrupt_all(&self) {
        let waiting = lock(&self.waiting.0).clone();
        waiting.into_iter().for_each(|key| self.names.interrupt(key));
    }
}

fn lock(waiting: &Mutex<Vec<RequestKey>>) -> MutexGuard<'_, Vec<RequestKey>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
