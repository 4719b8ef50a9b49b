//! Open files and directories, by the handles the kernel names them with.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dashmap::DashMap;

use iofwd_mount::Errno;
use iofwd_mount::store::HandleId;

use crate::backend::posix::{Directory, File};

use super::keeper::Claim;
use super::latch::Seen;
use super::nodes::Node;

/// An open file.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) node: Arc<Node>,
    pub(super) file: File,
    /// Something was written through it.
    pub(super) written: AtomicBool,
    seen: Seen,
    _claim: Option<Claim>,
}

impl OpenFile {
    pub(super) fn new(node: Arc<Node>, file: File, claim: Option<Claim>) -> OpenFile {
        let seen = node.late_errors.opened();
        node.opened();
        OpenFile { node, file, written: AtomicBool::new(false), seen, _claim: claim }
    }

    /// Report an error that came too late for the call that caused it, once.
    pub(super) fn late_error(&self) -> Result<(), Errno> {
        self.node.late_errors.check(&self.seen)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.node.closed();
    }
}

/// A table of things that are open.
#[derive(Debug)]
pub(super) struct Table<T> {
    open: DashMap<HandleId, Arc<T>>,
    next: AtomicU64,
}

/// Open files.
pub(super) type Files = Table<OpenFile>;
/// Open directories. The kernel may list one from two threads; they take turns.
pub(super) type Directories = Table<Mutex<Directory>>;

impl Files {
    pub(super) fn files(first: u64) -> Files {
        Table::numbered_from(first + 1)
    }
}

impl Directories {
    pub(super) fn directories(first: u64) -> Directories {
        Table::numbered_from(first + 2)
    }
}

impl<T> Table<T> {
    /// Handles go up by two, so that those of files and those of directories never meet.
    fn numbered_from(first: u64) -> Table<T> {
        Table { open: DashMap::new(), next: AtomicU64::new(first) }
    }

    /// Keep it, under a new handle.
    pub(super) fn insert(&self, value: T) -> HandleId {
        let handle = HandleId(self.next.fetch_add(2, Ordering::Relaxed));
        self.open.insert(handle, Arc::new(value));
        handle
    }

    /// What the handle names.
    pub(super) fn get(&self, handle: HandleId) -> Result<Arc<T>, Errno> {
        self.open.get(&handle).map(|value| Arc::clone(&value)).ok_or(Errno::EBADF)
    }

    /// The handle is gone.
    pub(super) fn remove(&self, handle: HandleId) {
        self.open.remove(&handle);
    }

    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}
