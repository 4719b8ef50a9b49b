//! Trees of extents that find what overlaps another: balanced search trees by first byte, each node
//! knowing how far its subtree reaches.
//!
//! The nodes are the scheduler's own records of its live requests, so a tree needs no memory beside
//! them. Balance comes from a hash of the slot instead of a random number: the same on every run.

use crate::queue::{NIL, Slab, mix};
use crate::request::{Extent, Operation, Request, RequestId};

/// Where a node hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In no tree and no list: a later write covers it.
    Nowhere,
    /// In its file's list of loose reads.
    List,
    /// In its file's tree of reads or writes.
    Tree,
}

/// What the scheduler remembers of a live request beside the request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The policy has it.
    Queued,
    /// It waits for others; the number is where the request is kept.
    Parked(u32),
    /// It was cancelled while parked; it stays as a link in the chain until its turn comes.
    Ghost,
    /// It was issued; the number is where the request is kept.
    InFlight(u32),
}

/// One live request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) id: RequestId,
    pub(crate) state: State,
    pub(super) extent: Extent,
    /// The furthest end in this node's subtree.
    reach: u64,
    /// Children in a tree; the neighbours in a list.
    left: u32,
    right: u32,
    pub(super) file: u32,
    /// Number of requests it waits for.
    pub(super) waits: u32,
    /// First edge to a request that waits for it.
    pub(super) successors: u32,
    pub(super) operation: Operation,
    pub(super) place: Place,
}

/// The nodes of all trees and lists.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Slab<Node>,
}

impl Tree {
    pub(super) fn insert(&mut self, file: u32, request: &Request) -> u32 {
        self.nodes.insert(Node {
            id: request.id,
            state: State::Queued,
            extent: request.extent,
            reach: 0,
            left: NIL,
            right: NIL,
            file,
            waits: 0,
            successors: NIL,
            operation: request.operation,
            place: Place::Nowhere,
        })
    }

    pub(super) fn remove(&mut self, slot: u32) -> Node {
        self.nodes.remove(slot)
    }

    #[inline]
    pub(super) fn node(&self, slot: u32) -> &Node {
        self.nodes.get(slot)
    }

    #[inline]
    pub(super) fn node_mut(&mut self, slot: u32) -> &mut Node {
        self.nodes.get_mut(slot)
    }

    /// Puts a slot before the first of a list.
    pub(super) fn link(&mut self, first: u32, slot: u32) {
        let node = self.node_mut(slot);
        (node.left, node.right, node.place) = (NIL, first, Place::List);
        if first != NIL {
            self.node_mut(first).left = slot;
        }
    }

    /// Takes a slot out of the list and returns what is first then.
    pub(super) fn unlink(&mut self, first: u32, slot: u32) -> u32 {
        let Node { left, right, .. } = *self.node(slot);
        if right != NIL {
            self.node_mut(right).left = left;
        }
        self.node_mut(slot).place = Place::Nowhere;
        if left == NIL {
            return right;
        }
        self.node_mut(left).right = right;
        first
    }

    /// The slot behind this one in its list.
    pub(super) fn following(&self, slot: u32) -> u32 {
        self.node(slot).right
    }

    /// Puts a slot into the tree and returns the new root.
    pub(super) fn plant(&mut self, root: u32, slot: u32) -> u32 {
        let end = self.node(slot).extent.end();
        if root == NIL || weight(slot) > weight(root) {
            let (left, right) = self.split(root, self.key(slot));
            let node = self.node_mut(slot);
            (node.left, node.right, node.place) = (left, right, Place::Tree);
            self.measure(slot);
            return slot;
        }
        if self.key(slot) < self.key(root) {
            let left = self.plant(self.node(root).left, slot);
            self.node_mut(root).left = left;
        } else {
            let right = self.plant(self.node(root).right, slot);
            self.node_mut(root).right = right;
        }
        let node = self.node_mut(root);
        node.reach = node.reach.max(end);
        root
    }

    /// Takes a slot out of the tree and returns the new root.
    pub(super) fn uproot(&mut self, root: u32, slot: u32) -> u32 {
        let Node { left, right, .. } = *self.node(root);
        if root == slot {
            self.node_mut(slot).place = Place::Nowhere;
            return self.merge(left, right);
        }
        if self.key(slot) < self.key(root) {
            let left = self.uproot(left, slot);
            self.node_mut(root).left = left;
        } else {
            let right = self.uproot(right, slot);
            self.node_mut(root).right = right;
        }
        self.measure(root);
        root
    }

    /// Appends every slot of the tree that has a byte in common with `extent`.
    pub(super) fn overlapping(&self, root: u32, extent: Extent, found: &mut Vec<u32>) {
        if root == NIL {
            return;
        }
        let node = self.node(root);
        if node.reach <= extent.offset {
            return;
        }
        self.overlapping(node.left, extent, found);
        if node.extent.overlaps(extent) {
            found.push(root);
        }
        if node.extent.offset < extent.end() {
            self.overlapping(node.right, extent, found);
        }
    }

    /// Parts a tree into what lies before a key and what lies behind it.
    fn split(&mut self, root: u32, key: (u64, u32)) -> (u32, u32) {
        if root == NIL {
            return (NIL, NIL);
        }
        let Node { left, right, .. } = *self.node(root);
        if self.key(root) < key {
            let (middle, behind) = self.split(right, key);
            self.node_mut(root).right = middle;
            self.measure(root);
            (root, behind)
        } else {
            let (before, middle) = self.split(left, key);
            self.node_mut(root).left = middle;
            self.measure(root);
            (before, root)
        }
    }

    /// Joins two trees, all of the first before all of the second.
    fn merge(&mut self, first: u32, second: u32) -> u32 {
        if first == NIL || second == NIL {
            return if first == NIL { second } else { first };
        }
        if weight(first) > weight(second) {
            let right = self.merge(self.node(first).right, second);
            self.node_mut(first).right = right;
            self.measure(first);
            first
        } else {
            let left = self.merge(first, self.node(second).left);
            self.node_mut(second).left = left;
            self.measure(second);
            second
        }
    }

    /// Finds how far a node's subtree reaches, from its children.
    fn measure(&mut self, slot: u32) {
        let node = self.node(slot);
        let mut reach = node.extent.end();
        for child in [node.left, node.right] {
            if child != NIL {
                reach = reach.max(self.node(child).reach);
            }
        }
        self.node_mut(slot).reach = reach;
    }

    /// The order in a tree: by first byte, then by slot.
    fn key(&self, slot: u32) -> (u64, u32) {
        (self.node(slot).extent.offset, slot)
    }
}

/// Decides who is nearer to the root.
const fn weight(slot: u32) -> u32 {
    mix(slot as u64)
}
