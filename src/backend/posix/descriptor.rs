//! How many descriptors are held for nodes: bounded, the least recently used closed first.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
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
    open: AtomicUsize,
    /// In the order in which they were opened; a node used since goes round once more.
    clock: Mutex<VecDeque<Weak<Inode>>>,
    /// The exported directory, open for reading: handles are looked for on its file system.
    home: OnceLock<OwnedFd>,
}

impl Descriptors {
    pub(super) fn new() -> Descriptors {
        let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |limits| limits.0);
        Descriptors::with_limit((soft as usize) / NODE_SHARE)
    }

    pub(super) fn with_limit(limit: usize) -> Descriptors {
        Descriptors {
            limit,
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

    /// A node has opened a descriptor: close others if there are too many.
    pub(super) fn opened(&self, inode: Weak<Inode>) {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.push_back(inode);
        let mut excess = open.saturating_sub(self.limit);
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

    /// A node has closed its descriptor.
    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One descriptor in so many is for nodes; the others are for open files.
const NODE_SHARE: usize = 2;
/// Nodes looked at for each one opened.
const SCAN_MOST: usize = 64;
