//! Whose locks are whose: to the server that has the names all clients of this agent are one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{HandleId, LockKind, LockOwner, LockRequest, NodeId};
use iofwd_mount::{Caller, Reply, Store};

use super::Striped;

/// Owners of locks, by client.
#[derive(Debug, Default)]
pub(super) struct Owners(Arc<Mutex<HashMap<u64, Client>>>);

/// What a client has locked, and waits for.
#[derive(Debug, Default)]
struct Client {
    held: HashMap<(NodeId, LockOwner), HandleId>,
    waiting: Vec<RequestKey>,
}

impl Owners {
    /// How many wait for a lock.
    pub(super) fn waiting(&self) -> usize {
        lock(&self.0).values().map(|client| client.waiting.len()).sum()
    }
}

/// An owner as the server that has the names knows it: its client is this agent, so that the client's
/// own number has to go into the key.
pub(super) fn owner(owner: LockOwner) -> LockOwner {
    if owner.client == 0 {
        return owner;
    }
    let mut hasher = DefaultHasher::new();
    (owner.client, owner.key).hash(&mut hasher);
    LockOwner { client: 0, key: hasher.finish() }
}

impl Striped {
    /// Take or release a lock, for whoever it is.
    pub(super) fn lock(&self, caller: &Caller, request: &LockRequest, reply: Reply<()>) {
        let theirs = LockRequest { owner: owner(request.owner), ..*request };
        let (id, key) = (request.owner.client, caller.request);
        let (slot, handle) = ((request.node, request.owner), request.handle);
        let counts = !request.whole_file && request.lock.kind != LockKind::Unlock;
        let owners = Arc::clone(&self.owners.0);
        lock(&owners).entry(id).or_default().waiting.push(key);
        let reply = Reply::call(move |result| {
            let mut all = lock(&owners);
            let client = all.entry(id).or_default();
            client.waiting.retain(|other| *other != key);
            if counts && result.is_ok() {
                client.held.insert(slot, handle);
            }
            drop(all);
            reply.send(result);
        });
        self.names.setlk(caller, &theirs, reply);
    }

    /// A process closed a file, and with it gave up its locks on it.
    pub(super) fn unlock(&self, node: NodeId, whose: LockOwner) {
        if let Some(client) = lock(&self.owners.0).get_mut(&whose.client) {
            client.held.remove(&(node, whose));
        }
    }

    /// A client waits for nothing any more.
    pub(super) fn interrupt_client(&self, client: u64) {
        let waiting = lock(&self.owners.0).get(&client).map(|client| client.waiting.clone());
        waiting.into_iter().flatten().for_each(|key| self.names.interrupt(key));
    }

    /// A client is gone: its locks are released, and it waits for none.
    pub(super) fn release_client(&self, client: u64) {
        let Some(gone) = lock(&self.owners.0).remove(&client) else { return };
        gone.waiting.into_iter().for_each(|key| self.names.interrupt(key));
        let nobody = Caller { uid: 0, gid: 0, pid: 0, request: RequestKey(0), introduced: None };
        for ((node, whose), handle) in gone.held {
            self.names.flush(&nobody, node, handle, owner(whose), Reply::call(|_| {}));
        }
    }
}

fn lock(owners: &Mutex<HashMap<u64, Client>>) -> MutexGuard<'_, HashMap<u64, Client>> {
    owners.lock().unwrap_or_else(PoisonError::into_inner)
}
