//! Locks: taken at the backing, waited for here, given up when the caller is interrupted.
//!
//! One thread waits for all. It tries again whenever a lock of this agent is released, and now and
//! then for the sake of holders that are not ours.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dashmap::DashMap;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{HandleId, Lock, LockKind, LockOwner, LockRequest, NodeId};
use iofwd_mount::{Errno, Reply};

use crate::backend::posix::{Key, RangeLocks};
use crate::ranges::Ranges;

use super::files::OpenFile;
use super::state::{SessionName, State};
use written::Written;

mod deadlock;
mod written;

/// All locks that callers of this agent hold or wait for.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: DashMap<(NodeId, LockOwner), Held>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// Clients whose locks are written down, should the agent die.
    written: Written,
}

/// The `fcntl` locks of one owner on one file: at the backing, and for the record.
#[derive(Debug)]
struct Held {
    at_backing: RangeLocks,
    ranges: Ranges,
    file: Key,
}

#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<Waiter>,
    /// Interrupted before they began to wait: the interruption can overtake its request.
    interrupted: VecDeque<RequestKey>,
    thread_runs: bool,
    /// Something was released, or somebody new waits.
    news: bool,
}

#[derive(Debug)]
struct Waiter {
    key: RequestKey,
    request: LockRequest,
    file: Arc<OpenFile>,
    reply: Reply<()>,
}

impl Locks {
    /// Take or release a lock; waits without holding up the calling thread.
    pub(super) fn set(
        self: &Arc<Locks>,
        key: RequestKey,
        request: &LockRequest,
        file: Arc<OpenFile>,
        reply: Reply<()>,
    ) {
        match self.attempt(request, &file) {
            Err(errno) if errno == Errno::EAGAIN && request.wait => {
                self.wait(Waiter { key, request: *request, file, reply });
            }
            result => reply.send(result),
        }
        if request.lock.kind == LockKind::Unlock {
            self.released();
        }
    }

    /// Which lock is in the way of this one.
    pub(super) fn conflict(&self, request: &LockRequest, file: &OpenFile) -> Result<Lock, Errno> {
        let fresh;
        let held = self.held.get(&(request.node, request.owner));
        let at_backing = match &held {
            Some(held) => &held.at_backing,
            None => {
                fresh = RangeLocks::new(&file.node.inode, &file.file)?;
                &fresh
            }
        };
        let found = at_backing.conflict(&request.lock)?;
        drop(held);
        Ok(self.with_holder(request, found))
    }

    /// The backing cannot tell which process holds a lock of ours; we can.
    fn with_holder(&self, request: &LockRequest, found: Lock) -> Lock {
        if found.kind == LockKind::Unlock || found.pid != 0 {
            return found;
        }
        self.held
            .iter()
            .filter(|held| held.key().0 == request.node && held.key().1 != request.owner)
            .find_map(|held| held.ranges.conflict(&request.lock))
            .unwrap_or(found)
    }

    /// A process closed the file, or ended: its `fcntl` locks on it are gone.
    pub(super) fn release(&self, node: NodeId, owner: LockOwner) {
        if let Some((_, held)) = self.held.remove(&(node, owner)) {
            self.written.release(held.file, owner, false);
            drop(held);
            self.released();
        }
    }

    /// From now on the locks of a client are written down.
    pub(super) fn write_down(&self, client: u64, state: Arc<State>, session: SessionName) {
        self.written.begin(client, state, session);
    }

    /// Nothing more is written down for a client: what is, is ended, or another agent's.
    pub(super) fn written_no_more(&self, client: u64) {
        self.written.end(client);
    }

    /// An open file of a client is gone, and with it a `flock` that it may have held.
    pub(super) fn closed(&self, file: Key, handle: HandleId, client: u64) {
        self.written.closed(file, handle, client);
        self.released();
    }

    /// Take a lock that a client had before its agent died.
    pub(super) fn reclaim(&self, request: &LockRequest, file: &OpenFile) -> Result<(), Errno> {
        self.attempt(request, file)
    }

    /// A client has reclaimed all that it holds: of the rest it never heard, or has released it.
    pub(super) fn reclaimed(&self, client: u64) {
        self.written.retain(client, |file, owner| {
            let of = |slot: &(NodeId, LockOwner)| slot.1 == LockOwner { client, key: owner };
            let held = self.held.iter().find(|held| of(held.key()) && held.file == file);
            held.map(|held| held.ranges.clone())
        });
    }

    /// A client is cut off: it waits for nothing any more; what it holds it keeps.
    pub(super) fn stop_waiting(&self, client: u64) {
        let mut waiting = self.waiting();
        let (gone, stay): (VecDeque<_>, VecDeque<_>) =
            waiting.queue.drain(..).partition(|waiter| waiter.request.owner.client == client);
        waiting.queue = stay;
        drop(waiting);
        gone.into_iter().for_each(|waiter| waiter.reply.send(Err(Errno::EINTR)));
    }

    /// A client is gone, and with it all locks of its processes, and those it waits for.
    pub(super) fn release_client(&self, client: u64) {
        self.stop_waiting(client);
        self.written.end(client);
        self.held.retain(|(_, owner), _| owner.client != client);
        self.released();
    }

    /// How many wait.
    pub(super) fn len_waiting(&self) -> usize {
        self.waiting().queue.len()
    }

    /// An open file is gone, and with it a `flock` that it may have held.
    pub(super) fn released(&self) {
        let mut waiting = self.waiting();
        if !waiting.queue.is_empty() {
            waiting.news = true;
            self.changed.notify_one();
        }
    }

    /// The caller of that request was interrupted: it waits no longer.
    pub(super) fn interrupt(&self, key: RequestKey) {
        let mut waiting = self.waiting();
        if let Some(at) = waiting.queue.iter().position(|waiter| waiter.key == key) {
            let waiter = waiting.queue.remove(at);
            drop(waiting);
            if let Some(waiter) = waiter {
                waiter.reply.send(Err(Errno::EINTR));
            }
        } else {
            waiting.interrupted.push_back(key);
            if waiting.interrupted.len() > INTERRUPTED_MOST {
                waiting.interrupted.pop_front();
            }
        }
    }

    fn attempt(&self, request: &LockRequest, file: &OpenFile) -> Result<(), Errno> {
        self.written.set(file.node.inode.key(), request, || self.attempt_at_backing(request, file))
    }

    fn attempt_at_backing(&self, request: &LockRequest, file: &OpenFile) -> Result<(), Errno> {
        if request.whole_file {
            return file.file.lock(request.lock.kind);
        }
        let slot = (request.node, request.owner);
        if let Some(mut held) = self.held.get_mut(&slot) {
            held.at_backing.set(&request.lock)?;
            held.ranges.set(request.lock);
            let empty = held.ranges.is_empty();
            drop(held);
            if empty {
                self.held.remove_if(&slot, |_, held| held.ranges.is_empty());
            }
            return Ok(());
        }
        if request.lock.kind == LockKind::Unlock {
            return Ok(());
        }
        let at_backing = RangeLocks::new(&file.node.inode, &file.file)?;
        at_backing.set(&request.lock)?;
        let mut ranges = Ranges::default();
        ranges.set(request.lock);
        self.held.insert(slot, Held { at_backing, ranges, file: file.node.inode.key() });
        Ok(())
    }

    fn wait(self: &Arc<Locks>, waiter: Waiter) {
        let mut waiting = self.waiting();
        let refused = if waiting.interrupted.contains(&waiter.key) {
            Some(Errno::EINTR)
        } else if self.would_deadlock(&waiting, &waiter.request) {
            Some(Errno::from_raw(libc::EDEADLK))
        } else {
            self.ensure_thread(&mut waiting).err()
        };
        match refused {
            Some(errno) => {
                drop(waiting);
                waiter.reply.send(Err(errno));
            }
            None => {
                waiting.queue.push_back(waiter);
                waiting.news = true;
                self.changed.notify_one();
            }
        }
    }

    fn ensure_thread(self: &Arc<Locks>, waiting: &mut Waiting) -> Result<(), Errno> {
        if !waiting.thread_runs {
            let locks = Arc::downgrade(self);
            thread::Builder::new().name("iofwd-locks".into()).spawn(move || {
                while let Some(locks) = locks.upgrade() {
                    locks.serve();
                }
            })?;
            waiting.thread_runs = true;
        }
        Ok(())
    }

    /// Wait until somebody waits; then try for all of them until nobody does.
    fn serve(&self) {
        let mut patience = PATIENCE_LEAST;
        let mut waiting = self.waiting();
        while waiting.queue.is_empty() {
            let (guard, timeout) =
                self.changed.wait_timeout(waiting, UNUSED).unwrap_or_else(PoisonError::into_inner);
            waiting = guard;
            if timeout.timed_out() {
                return;
            }
        }
        while !waiting.queue.is_empty() {
            let mut answers = Vec::new();
            for _ in 0..waiting.queue.len() {
                let Some(waiter) = waiting.queue.pop_front() else { break };
                match self.attempt(&waiter.request, &waiter.file) {
                    Err(errno) if errno == Errno::EAGAIN => waiting.queue.push_back(waiter),
                    result => answers.push((waiter.reply, result)),
                }
            }
            let progress = !answers.is_empty() || std::mem::take(&mut waiting.news);
            drop(waiting);
            answers.into_iter().for_each(|(reply, result)| reply.send(result));
            patience = if progress { PATIENCE_LEAST } else { (patience * 2).min(PATIENCE_MOST) };
            waiting = self.pause(patience);
        }
    }

    /// Until there is news, but not longer than `patience`.
    fn pause(&self, patience: Duration) -> MutexGuard<'_, Waiting> {
        let waiting = self.waiting();
        if waiting.news {
            return waiting;
        }
        self.changed.wait_timeout(waiting, patience).unwrap_or_else(PoisonError::into_inner).0
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks that others hold are tried for again after so long, at first
const PATIENCE_LEAST: Duration = Duration::from_millis(1);
/// and at last.
const PATIENCE_MOST: Duration = Duration::from_millis(20);
/// How long the thread sleeps before it looks whether the agent still exists.
const UNUSED: Duration = Duration::from_secs(30);
/// Interruptions that overtook their requests are remembered, the latest so many.
const INTERRUPTED_MOST: usize = 256;
