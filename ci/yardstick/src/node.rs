//! The files that the kernel knows: an `O_PATH` descriptor for each, under its inode number.
//! All files are taken to lie on one device, as those of a benchmark do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use fuser::INodeNo;
use nix::errno::Errno;

/// The files that the kernel holds references to.
pub(crate) struct Nodes {
    root: OwnedFd,
    known: RwLock<HashMap<INodeNo, Node>>,
}

struct Node {
    fd: OwnedFd,
    references: AtomicU64,
}

impl Nodes {
    pub(crate) fn new(root: OwnedFd) -> Self {
        Self { root, known: RwLock::default() }
    }

    /// Counts one more reference, if the file is known.
    pub(crate) fn reference(&self, inode: INodeNo) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&inode).map(|node| node.references.fetch_add(1, Ordering::Relaxed)).is_some()
    }

    /// Takes in a file that `reference` did not know; another thread may have been faster.
    pub(crate) fn insert(&self, inode: INodeNo, fd: OwnedFd) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.entry(inode) {
            Entry::Occupied(node) => *node.into_mut().references.get_mut() += 1,
            Entry::Vacant(vacant) => {
                vacant.insert(Node { fd, references: AtomicU64::new(1) });
            }
        }
    }

    /// Drops references; the last one closes the descriptor.
    pub(crate) fn forget(&self, inode: INodeNo, count: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let Some(node) = known.get_mut(&inode) else { return };
        let references = node.references.get_mut();
        *references = references.saturating_sub(count);
        if *references == 0 {
            known.remove(&inode);
        }
    }

    /// The descriptor of a file that the kernel holds a reference to.
    pub(crate) fn get(&self, inode: INodeNo) -> Result<BorrowedFd<'_>, Errno> {
        if inode == INodeNo::ROOT {
            return Ok(self.root.as_fd());
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let number = known.get(&inode).ok_or(Errno::ESTALE)?.fd.as_raw_fd();
        // SAFETY: the kernel names a file only while it holds a reference, and the descriptor
        // stays open until the last reference is forgotten.
        Ok(unsafe { BorrowedFd::borrow_raw(number) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn open(path: &str) -> OwnedFd {
        OwnedFd::from(File::open(path).unwrap())
    }

    #[test]
    fn a_file_is_known_until_its_last_reference_is_forgotten() {
        let nodes = Nodes::new(open("/"));
        let inode = INodeNo(7);
        assert!(!nodes.reference(inode));
        nodes.insert(inode, open("/dev/null"));
        nodes.insert(inode, open("/dev/null"));
        assert!(nodes.reference(inode));
        nodes.forget(inode, 2);
        assert!(nodes.get(inode).is_ok());
        nodes.forget(inode, 1);
        assert_eq!(nodes.get(inode).err(), Some(Errno::ESTALE));
        assert!(nodes.get(INodeNo::ROOT).is_ok());
    }
}
