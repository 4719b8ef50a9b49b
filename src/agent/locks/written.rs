//! Locks of clients that may outlive the agent: each is written down while it is held.

use std::sync::Arc;

use dashmap::DashMap;

use iofwd_mount::Errno;
use iofwd_mount::store::{HandleId, LockOwner, LockRequest};

use crate::agent::state::{Holder, SessionName, State};
use crate::backend::posix::Key;
use crate::ranges::Ranges;

/// Which clients these are.
#[derive(Debug, Default)]
pub(super) struct Written {
    clients: DashMap<u64, (Arc<State>, SessionName)>,
    /// Open files that took a `flock`, by client and handle, with its owner.
    flocks: DashMap<(u64, HandleId), (u64, Key)>,
}

impl Written {
    pub(super) fn begin(&self, client: u64, state: Arc<State>, session: SessionName) {
        self.clients.insert(client, (state, session));
    }

    /// Nothing more is written down for that client.
    pub(super) fn end(&self, client: u64) {
        self.clients.remove(&client);
        self.flocks.retain(|(of, _), _| *of != client);
    }

    /// Take or release a lock by `act`, and write it down.
    pub(super) fn set(
        &self,
        file: Key,
        request: &LockRequest,
        act: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let LockOwner { client, key } = request.owner;
        let Some((state, session)) = self.of(client) else { return act() };
        let holder = Holder { session, owner: key, whole_file: request.whole_file };
        state.locked.set(file, holder, &request.lock, act)?;
        if request.whole_file {
            self.flocks.insert((client, request.handle), (key, file));
        }
        Ok(())
    }

    /// An owner has given up what it locked in a file.
    pub(super) fn release(&self, file: Key, owner: LockOwner, whole_file: bool) {
        let Some((state, session)) = self.of(owner.client) else { return };
        let holder = Holder { session, owner: owner.key, whole_file };
        if let Err(error) = state.locked.release(file, holder) {
            tracing::warn!(%error, "a lock that was released stays written down");
        }
    }

    /// An open file is gone.
    pub(super) fn closed(&self, file: Key, handle: HandleId, client: u64) {
        if let Some((_, (key, _))) = self.flocks.remove(&(client, handle)) {
            self.release(file, LockOwner { client, key }, true);
        }
    }

    /// Of what is written down for a client only that is true which it has told of again.
    pub(super) fn retain(&self, client: u64, ranges: impl Fn(Key, u64) -> Option<Ranges>) {
        let Some((state, session)) = self.of(client) else { return };
        let has_flock = |file: Key, owner: u64| {
            self.flocks.iter().any(|one| one.key().0 == client && *one.value() == (owner, file))
        };
        let held = |file, owner, whole_file: bool, written: &Ranges| {
            if whole_file {
                has_flock(file, owner).then(|| written.clone())
            } else {
                ranges(file, owner)
            }
        };
        if let Err(error) = state.locked.retain(&session, held) {
            tracing::warn!(%error, "locks that are held no more stay written down");
        }
    }

    fn of(&self, client: u64) -> Option<(Arc<State>, SessionName)> {
        self.clients.get(&client).map(|known| (Arc::clone(&known.0), known.1))
    }
}
