//! The nodes the kernel knows: numbers it names them by, and how often it was told of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry as Slot;

use iofwd_mount::Errno;
use iofwd_mount::store::{Attr, Entry, NodeId};

use crate::backend::posix::{Found, Inode, Key};

use super::kept::HiddenName;
use super::latch::Latch;
use super::layouts::Kept;

/// A node that the kernel knows.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) inode: Arc<Inode>,
    pub(super) late_errors: Latch,
    /// Where its bytes are, if it was ever opened.
    pub(super) layout: Kept,
    /// The name that it was given when it lost its last one while it was open.
    pub(super) hidden: Mutex<Option<HiddenName>>,
    /// How often it is open.
    open: AtomicUsize,
    /// What clients show to get it back.
    pub(super) voucher: OnceLock<Box<[u8]>>,
    references: AtomicU64,
}

impl Node {
    fn new(id: NodeId, inode: Arc<Inode>) -> Arc<Node> {
        let references = AtomicU64::new(1);
        Arc::new(Node {
            id,
            inode,
            late_errors: Latch::default(),
            layout: Kept::default(),
            hidden: Mutex::default(),
            open: AtomicUsize::new(0),
            voucher: OnceLock::new(),
            references,
        })
    }

    /// Whether the kernel has given up its last reference.
    fn release(&self, count: u64) -> bool {
        self.references.fetch_sub(count, Ordering::AcqRel) <= count
    }

    /// Attributes with the node's number filled in. A hidden name does not count.
    pub(super) fn name(&self, attr: Attr) -> Attr {
        let is_hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let links = attr.links.saturating_sub(u32::from(is_hidden));
        Attr { node: self.id, links, ..attr }
    }

    /// It is open once more.
    pub(super) fn opened(&self) {
        self.open.fetch_add(1, Ordering::AcqRel);
    }

    /// It is closed once.
    pub(super) fn closed(&self) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.show_if_closed();
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire) > 0
    }

    /// A hidden name is of no use to what is not open.
    pub(super) fn show_if_closed(&self) {
        let mut hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_open() {
            drop(hidden.take());
        }
    }

    /// Attributes as an entry: the kernel counts it as a reference.
    pub(super) fn entry(&self, attr: Attr) -> Entry {
        Entry { attr: self.name(attr) }
    }
}

/// All nodes the kernel knows. A number is never used twice.
#[derive(Debug)]
pub(super) struct Nodes {
    by_id: DashMap<NodeId, Arc<Node>>,
    by_key: DashMap<Key, Arc<Node>>,
    next: AtomicU64,
}

impl Nodes {
    /// Only the root yet; the others are numbered from `first` on.
    pub(super) fn new(root: Arc<Inode>, first: u64) -> Nodes {
        let nodes = Nodes {
            by_id: DashMap::new(),
            by_key: DashMap::new(),
            next: AtomicU64::new(first + NodeId::ROOT.0 + 1),
        };
        let node = Node::new(NodeId::ROOT, root);
        nodes.by_key.insert(node.inode.key(), Arc::clone(&node));
        nodes.by_id.insert(node.id, node);
        nodes
    }

    /// The node of that number.
    pub(super) fn get(&self, id: NodeId) -> Result<Arc<Node>, Errno> {
        self.by_id.get(&id).map(|node| Arc::clone(&node)).ok_or(Errno::ESTALE)
    }

    /// The node of that inode, if the kernel knows it.
    pub(super) fn known(&self, key: Key) -> Option<Arc<Node>> {
        self.by_key.get(&key).map(|node| Arc::clone(&node))
    }

    /// The node that a name led to, with one more reference.
    pub(super) fn refer(&self, found: &Found) -> Result<Arc<Node>, Errno> {
        if let Some(node) = self.by_key.get(&found.key)
            && node.inode.birth() == found.birth
        {
            node.references.fetch_add(1, Ordering::AcqRel);
            found.remember(&node.inode);
            return Ok(Arc::clone(&node));
        }
        Ok(self.adopt(found.open()?))
    }

    /// The node of an inode that was just opened, with one more reference.
    pub(super) fn adopt(&self, inode: Arc<Inode>) -> Arc<Node> {
        let fresh = |inode| Node::new(NodeId(self.next.fetch_add(1, Ordering::Relaxed)), inode);
        match self.by_key.entry(inode.key()) {
            Slot::Occupied(held) if held.get().inode.birth() == inode.birth() => {
                held.get().references.fetch_add(1, Ordering::AcqRel);
                Arc::clone(held.get())
            }
            // The number is in use again: the kernel may still hold the node it was before.
            Slot::Occupied(mut held) => {
                let node = fresh(inode);
                held.insert(Arc::clone(&node));
                self.by_id.insert(node.id, Arc::clone(&node));
                node
            }
            Slot::Vacant(free) => {
                let node = fresh(inode);
                free.insert(Arc::clone(&node));
                self.by_id.insert(node.id, Arc::clone(&node));
                node
            }
        }
    }

    /// The kernel gives up references.
    pub(super) fn forget(&self, id: NodeId, references: u64) {
        let Ok(node) = self.get(id) else { return };
        if id == NodeId::ROOT {
            return;
        }
        // Decided while nobody can find the node by its key and refer to it once more.
        let mut gone = None;
        self.by_key.remove_if(&node.inode.key(), |_, held| {
            Arc::ptr_eq(held, &node) && *gone.insert(node.release(references))
        });
        if gone.unwrap_or_else(|| node.release(references)) {
            self.by_id.remove(&id);
        }
    }

    /// The nodes of each device other than that of the root.
    pub(super) fn elsewhere(&self, root: Key) -> Vec<Vec<Arc<Inode>>> {
        let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for node in &self.by_key {
            let device = node.key().device;
            if device != root.device && !node.inode.is_symlink() {
                found.entry(device).or_default().push(Arc::clone(&node.inode));
            }
        }
        found.into_values().collect()
    }

    /// How many nodes the kernel knows.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }
}
