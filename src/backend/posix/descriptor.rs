//! How many descriptors are held for nodes: bounded, the least recently used closed first.

use std::collections::VecDeque;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, Weak};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::inode::Inode;

/// Let this process have as many descriptors as the system allows it.
pub fn raise_limit() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    // A privileged process may go beyond the hard limit, up to the kernel's own.
    let most = std::fs::read_to_string("/proc/sys/fs/nr_open")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(hard);
    if soft < most && setrlimit(Resource::RLIMIT_NOFILE, most, most).is_err() {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// The descriptors that nodes hold. A node that loses its own opens another when it needs one.
#[derive(Debug)]
pub(super) struct Descriptors {
    limit: usize,
    /// Where descriptors get scarce. The system gives out the lowest that is free.
    scarce: RawFd,
    open: AtomicUsize,
    /// In the order in which they were opened; a node used since goes round once more.
    clock: Mutex<VecDeque<Weak<Inode>>>,
    /// The exported directory, open for reading: handles are looked for on its file system.
    home: OnceLock<OwnedFd>,
}

impl Descriptors {
    pub(super) fn new() -> Descriptors {
        let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |limits| limits.0);
        Descriptors::with_limit(usize::try_from(soft).unwrap_or(usize::MAX))
    }

    /// For a process that may have so many.
    fn with_limit(all: usize) -> Descriptors {
        Descriptors {
            limit: all / NODE_SHARE,
            scarce: RawFd::try_from(all - all / OPEN_RESERVE).unwrap_or(RawFd::MAX),
            open: AtomicUsize::new(0),
            clock: Mutex::default(),
            home: OnceLock::new(),
        }
    }

    pub(super) fn set_home(&self, fd: OwnedFd) {
        let _ = self.home.set(fd);
    }

    pub(super) fn home(&self) -> Option<&OwnedFd> {
        self.home.get()
    }

    pub(super) fn usage(&self) -> (usize, usize) {
        (self.open.load(Ordering::Relaxed), self.limit)
    }

    /// A node has opened this descriptor: close others if there are too many.
    pub(super) fn opened(&self, inode: Weak<Inode>, fd: RawFd) {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.push_back(inode);
        let mut excess = self.excess(open, fd);
        // Each node is looked at twice at most, so that this ends even if none can be closed.
        for _ in 0..(2 * clock.len()).min(SCAN_MOST) {
            if excess == 0 {
                break;
            }
            let Some(inode) = clock.pop_front() else { break };
            match inode.upgrade().map(|inode| inode.close_if_unused()) {
                None => {}
                Some(true) => excess -= 1,
                Some(false) => clock.push_back(inode),
            }
        }
    }

    /// How many nodes are to close theirs, if so many are open and this is the newest. Where open files
    /// have taken most of what there is several go for one that comes, so that those find room whose
    /// descriptors are not seen here.
    fn excess(&self, open: usize, newest: RawFd) -> usize {
        let scarce = if newest >= self.scarce { AT_ONCE } else { 0 };
        open.saturating_sub(self.limit).max(scarce)
    }

    /// A node has closed its descriptor.
    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One descriptor in so many is for nodes; the others are for open files.
const NODE_SHARE: usize = 2;
/// One descriptor in so many is kept free for open files.
const OPEN_RESERVE: usize = 4;
/// Nodes that lose theirs at once where descriptors are scarce.
const AT_ONCE: usize = 16;
/// Nodes looked at for each one opened.
const SCAN_MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_give_way_to_open_files() {
        let descriptors = Descriptors::with_limit(1000);
        assert_eq!(descriptors.excess(500, 600), 0, "half of them is for nodes");
        assert_eq!(descriptors.excess(501, 600), 1);
        assert_eq!(descriptors.excess(100, 749), 0);
        assert_eq!(descriptors.excess(100, 750), AT_ONCE, "open files have taken the rest");
        assert_eq!(descriptors.excess(530, 750), 30);
    }
}
