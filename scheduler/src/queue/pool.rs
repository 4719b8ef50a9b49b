//! The requests a policy holds, each findable by its id, and lists of them in order of arrival.

use super::{NIL, Slab, Table, spread};
use crate::request::{Request, RequestId};

/// Every request of one policy: the one place where they are stored.
#[derive(Debug, Default)]
pub struct Pool {
    nodes: Slab<Node>,
    ids: Table,
    pushed: u64,
}

/// A doubly linked list of slots of one pool, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
    bytes: u64,
    order: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    request: Request,
    order: u64,
    prev: u32,
    next: u32,
}

impl Pool {
    /// An empty pool.
    pub const fn new() -> Pool {
        Pool { nodes: Slab::new(), ids: Table::new(), pushed: 0 }
    }

    /// Stores a request and gives it the next place in the order of arrival.
    pub fn insert(&mut self, request: Request) -> u32 {
        let node = Node { request, order: self.pushed, prev: NIL, next: NIL };
        self.pushed += 1;
        let slot = self.nodes.insert(node);
        self.ids.insert(spread(request.id.0), slot);
        slot
    }

    /// Takes a request out; it must have left every list and index before.
    pub fn remove(&mut self, slot: u32) -> Request {
        let request = self.nodes.remove(slot).request;
        self.ids.remove(spread(request.id.0), |found| found == slot);
        request
    }

    /// Puts a request at the end of a list.
    #[inline]
    pub fn append(&mut self, list: &mut List, slot: u32) {
        let tail = list.tail;
        let node = self.nodes.get_mut(slot);
        (node.prev, node.next) = (tail, NIL);
        let (order, length) = (node.order, node.request.length());
        if tail == NIL {
            (list.head, list.order) = (slot, order);
        } else {
            self.nodes.get_mut(tail).next = slot;
        }
        list.tail = slot;
        list.len += 1;
        list.bytes = list.bytes.wrapping_add(length);
    }

    /// Takes a request out of the list it is in.
    #[inline]
    pub fn unlink(&mut self, list: &mut List, slot: u32) {
        let Node { prev, next, request, .. } = *self.nodes.get(slot);
        if prev == NIL {
            list.head = next;
        } else {
            self.nodes.get_mut(prev).next = next;
        }
        if next == NIL {
            list.tail = prev;
        } else {
            self.nodes.get_mut(next).prev = prev;
        }
        list.len -= 1;
        list.bytes = list.bytes.wrapping_sub(request.length());
        list.order = if list.head == NIL { u64::MAX } else { self.nodes.get(list.head).order };
    }

    /// Empties the pool: all requests in order of arrival.
    pub fn drain<'a>(&mut self, lists: impl Iterator<Item = &'a List>) -> Vec<Request> {
        let mut all = Vec::with_capacity(self.nodes.len());
        for list in lists {
            let mut slot = list.head;
            while slot != NIL {
                let node = self.nodes.get(slot);
                all.push((node.order, node.request));
                slot = node.next;
            }
        }
        all.sort_unstable_by_key(|&(order, _)| order);
        (self.nodes, self.ids) = (Slab::new(), Table::new());
        all.into_iter().map(|(_, request)| request).collect()
    }

    /// The slot of the request with this id.
    pub fn find(&self, id: RequestId) -> Option<u32> {
        self.ids.find(spread(id.0), |slot| self.get(slot).id == id)
    }

    /// The request at a slot in use.
    #[inline]
    pub fn get(&self, slot: u32) -> &Request {
        &self.nodes.get(slot).request
    }

    /// The place of a request in the order of arrival.
    #[inline]
    pub fn order(&self, slot: u32) -> u64 {
        self.nodes.get(slot).order
    }

    /// Number of requests stored.
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no request is stored.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl List {
    /// An empty list.
    pub const fn new() -> List {
        List { head: NIL, tail: NIL, len: 0, bytes: 0, order: u64::MAX }
    }

    /// The slot of the oldest request.
    #[inline]
    pub const fn head(&self) -> Option<u32> {
        if self.head == NIL { None } else { Some(self.head) }
    }

    /// The oldest request's place in the order of arrival; past all others if there is none.
    #[inline]
    pub const fn order(&self) -> u64 {
        self.order
    }

    /// Number of requests listed.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing is listed.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all requests listed.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Default for List {
    fn default() -> Self {
        List::new()
    }
}
