//! What the client holds at the agent: nodes, open files, locks, and the vouchers for them. Enough to
//! get all of it back from an agent that knows nothing of it.

use std::collections::VecDeque;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry as Slot;

use iofwd_mount::store::{HandleId, LockKind, NodeId};

use crate::ranges::Ranges;
use crate::wire::call::LockCall;

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    pub(super) nodes: DashMap<NodeId, Node>,
    pub(super) files: DashMap<HandleId, File>,
    locks: DashMap<Owner, Locks>,
}

/// A node that the kernel knows.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) references: u64,
    pub(super) voucher: Box<[u8]>,
    /// Where it was seen last.
    pub(super) parent: NodeId,
    pub(super) name: Box<[u8]>,
}

/// Something that is open.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) node: NodeId,
    pub(super) voucher: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Owner {
    node: NodeId,
    key: u64,
    whole_file: bool,
}

#[derive(Clone, Debug)]
struct Locks {
    handle: HandleId,
    ranges: Ranges,
}

impl Holdings {
    /// The kernel was told of a node once more.
    pub(super) fn told(&self, node: NodeId, voucher: &[u8], place: (NodeId, &[u8])) {
        if node == NodeId::ROOT {
            return;
        }
        let (parent, name) = place;
        match self.nodes.entry(node) {
            Slot::Occupied(mut known) => {
                let known = known.get_mut();
                known.references += 1;
                if known.parent != parent || *known.name != *name {
                    (known.parent, known.name) = (parent, name.into());
                }
            }
            Slot::Vacant(free) => {
                let (voucher, name) = (voucher.into(), name.into());
                free.insert(Node { references: 1, voucher, parent, name });
            }
        }
    }

    /// The kernel gave up references.
    pub(super) fn forgotten(&self, node: NodeId, references: u64) {
        if let Slot::Occupied(mut known) = self.nodes.entry(node) {
            let left = known.get().references.saturating_sub(references);
            known.get_mut().references = left;
            if left == 0 {
                known.remove();
            }
        }
    }

    /// Something was opened.
    pub(super) fn opened(&self, handle: HandleId, node: NodeId, voucher: &[u8]) {
        self.files.insert(handle, File { node, voucher: voucher.into() });
    }

    /// It was closed.
    pub(super) fn closed(&self, handle: HandleId) {
        self.files.remove(&handle);
    }

    /// It is about to be closed: nobody counts on a `flock` of it any more.
    pub(super) fn closing(&self, handle: HandleId) {
        if !self.locks.is_empty() {
            self.locks.retain(|owner, locks| !owner.whole_file || locks.handle != handle);
        }
    }

    /// A lock was granted, or is about to be released: whoever releases a lock counts on it no more,
    /// and must not get it back from an agent that has given it to somebody else.
    pub(super) fn locked(&self, call: &LockCall) {
        let LockCall { node, owner: key, whole_file, handle, lock, .. } = *call;
        let owner = Owner { node, key, whole_file };
        if lock.kind == LockKind::Unlock && !self.locks.contains_key(&owner) {
            return;
        }
        let fresh = || Locks { handle, ranges: Ranges::default() };
        let mut locks = self.locks.entry(owner).or_insert_with(fresh);
        locks.ranges.set(lock);
        locks.handle = handle;
        let is_empty = locks.ranges.is_empty();
        drop(locks);
        if is_empty {
            self.locks.remove_if(&owner, |_, locks| locks.ranges.is_empty());
        }
    }

    /// A process closes a file: it counts on its `fcntl` locks no more.
    pub(super) fn flushing(&self, node: NodeId, key: u64) {
        if !self.locks.is_empty() {
            self.locks.remove(&Owner { node, key, whole_file: false });
        }
    }

    /// Every lock, as it is reclaimed.
    pub(super) fn locks(&self) -> Vec<LockCall> {
        let mut calls = Vec::new();
        for held in &self.locks {
            let (owner, locks) = held.pair();
            let Owner { node, key, whole_file } = *owner;
            // Through a file of it that is open.
            let is_open = self.files.contains_key(&locks.handle);
            let other = || self.files.iter().find(|file| file.node == node).map(|file| *file.key());
            let handle = if is_open { Some(locks.handle) } else { other() };
            let Some(handle) = handle else { continue };
            calls.extend(locks.ranges.iter().map(|lock| LockCall {
                node,
                handle,
                owner: key,
                lock: *lock,
                whole_file,
                wait: false,
            }));
        }
        calls
    }

    /// Nobody knows any more that these locks are held.
    pub(super) fn lose_locks(&self) {
        self.locks.clear();
    }

    /// The names by which a node was seen last, from the root on; `None` if it has none.
    pub(super) fn names(&self, node: NodeId) -> Option<VecDeque<Box<[u8]>>> {
        let mut names = VecDeque::new();
        let mut at = node;
        while at != NodeId::ROOT {
            let known = self.nodes.get(&at).filter(|known| !known.name.is_empty())?;
            names.push_front(known.name.clone());
            at = (names.len() < DEPTH_MOST).then_some(known.parent)?;
        }
        Some(names)
    }

    /// Where a node was seen last, from the root on.
    pub(super) fn path(&self, node: NodeId) -> String {
        let mut names = Vec::new();
        let mut at = node;
        while let Some(known) = self.nodes.get(&at).filter(|_| names.len() < DEPTH_MOST) {
            names.push(String::from_utf8_lossy(&known.name).into_owned());
            at = known.parent;
        }
        names.reverse();
        if at == NodeId::ROOT { names.join("/") } else { format!("…/{}", names.join("/")) }
    }
}

/// No path is followed further.
const DEPTH_MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use iofwd_mount::store::Lock;

    const FILE: NodeId = NodeId(5);
    const HANDLE: HandleId = HandleId(7);

    fn call(kind: LockKind, end: u64, whole_file: bool) -> LockCall {
        let lock = Lock { start: 0, end, kind, pid: 1 };
        LockCall { node: FILE, handle: HANDLE, owner: 3, lock, whole_file, wait: true }
    }

    #[test]
    fn a_node_is_held_until_it_is_forgotten_as_often_as_it_was_told_of() {
        let holdings = Holdings::default();
        holdings.told(NodeId(4), b"v4", (NodeId::ROOT, b"directory"));
        holdings.told(FILE, b"v5", (NodeId(4), b"old"));
        holdings.told(FILE, b"v5", (NodeId(4), b"new"));
        assert_eq!(holdings.path(FILE), "directory/new");
        let names: Vec<_> = holdings.names(FILE).into_iter().flatten().collect();
        assert_eq!(names, [Box::from(*b"directory"), Box::from(*b"new")] as [Box<[u8]>; 2]);
        holdings.told(NodeId(6), b"v6", (NodeId(4), b""));
        assert_eq!(holdings.names(NodeId(6)), None);
        assert_eq!(holdings.names(NodeId(9)), None);
        holdings.forgotten(FILE, 1);
        assert_eq!(holdings.nodes.get(&FILE).map(|node| node.references), Some(1));
        holdings.forgotten(FILE, 1);
        assert!(!holdings.nodes.contains_key(&FILE));
        holdings.told(NodeId::ROOT, b"", (NodeId::ROOT, b"."));
        assert!(!holdings.nodes.contains_key(&NodeId::ROOT));
    }

    #[test]
    fn locks_are_held_until_released_flushed_or_closed() {
        let holdings = Holdings::default();
        holdings.opened(HANDLE, FILE, b"v");
        holdings.locked(&call(LockKind::Write, 9, false));
        holdings.locked(&call(LockKind::Write, u64::MAX, true));
        assert_eq!(holdings.locks().len(), 2);
        holdings.locked(&call(LockKind::Unlock, 4, false));
        let range = holdings.locks().into_iter().find(|call| !call.whole_file).unwrap();
        assert_eq!((range.lock.start, range.lock.end), (5, 9));
        holdings.flushing(FILE, 3);
        assert!(holdings.locks().iter().all(|call| call.whole_file));
        holdings.closing(HANDLE);
        assert!(holdings.files.contains_key(&HANDLE), "until it is closed");
        assert!(holdings.locks().is_empty());
    }
}
