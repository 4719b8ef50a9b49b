//! The requests a policy holds, each findable by its id, and lists of them in order of arrival.

use super::packed::Packed;
use super::roll::{List, Roll};
use super::{Slab, Table, ask, spread};
use crate::request::{Request, RequestId};

/// Every request of one policy: the one place where they are stored.
///
/// They are found by id when one is cancelled, which is rare. So the index of ids is made then, and
/// kept up for as many arrivals as it was large: they pay for it, and nobody does without cancels.
#[derive(Debug, Default)]
pub struct Pool {
    nodes: Slab<Node, PIECE>,
    roll: Roll,
    ids: Table,
    /// Arrivals for which the index is still kept up; with none left there is no index.
    kept: usize,
    pushed: u64,
}

/// A request and nothing more in a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node {
    request: Packed,
    /// The place in the order of arrival, and in the lowest bits a mark.
    place: u64,
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Pool {
        Pool::default()
    }

    /// Stores a request and gives it the next place in the order of arrival.
    pub fn insert(&mut self, request: Request) -> u32 {
        let (request, place) = (Packed::new(&request), self.pushed << MARK_BITS);
        self.pushed += 1;
        let slot = self.nodes.insert(Node { request, place });
        let same = self.roll.enter();
        assert_eq!(slot, same, "both give out and take back the same slots in the same order");
        if self.kept > 0 {
            self.keep_up(request.id, slot);
        }
        slot
    }

    /// Takes a request out; it must have left every list and index before.
    pub fn remove(&mut self, slot: u32) -> Request {
        let request = self.nodes.remove(slot).request.unpack();
        self.roll.leave(slot);
        if self.kept > 0 {
            self.ids.remove(spread(request.id.0), |found| found == slot);
        }
        request
    }

    /// Puts a request at the end of a list.
    #[inline]
    pub fn append(&mut self, list: &mut List, slot: u32) {
        self.roll.append(list, slot);
    }

    /// Takes a request out of the list it is in.
    #[inline]
    pub fn unlink(&mut self, list: &mut List, slot: u32) {
        self.roll.strike(list, slot);
    }

    /// The requests of a list, oldest first.
    pub fn oldest(&self, list: &List) -> impl Iterator<Item = u32> {
        self.roll.oldest(list)
    }

    /// Empties the pool: all requests in order of arrival, whatever lists they are in.
    pub fn drain(&mut self) -> Vec<Request> {
        let slots = self.nodes.slots();
        let mut all: Vec<Node> = slots.iter().map(|&slot| *self.nodes.get(slot)).collect();
        all.sort_unstable_by_key(|node| node.place);
        *self = Pool { pushed: self.pushed, ..Pool::default() };
        all.into_iter().map(|node| node.request.unpack()).collect()
    }

    /// The slot of the request with this id. The first time in a while this walks the whole pool.
    pub fn find(&mut self, id: RequestId) -> Option<u32> {
        if self.kept == 0 {
            for slot in self.nodes.slots() {
                self.ids.insert(spread(self.nodes.get(slot).request.id.0), slot);
            }
        }
        self.kept = self.nodes.len().max(LEAST_KEPT);
        self.ids.find(spread(id.0), |slot| self.nodes.get(slot).request.id == id)
    }

    /// Enters a newcomer into the index, or gives up the index that nobody has asked for long.
    fn keep_up(&mut self, id: RequestId, slot: u32) {
        self.kept -= 1;
        if self.kept > 0 {
            self.ids.insert(spread(id.0), slot);
        } else {
            self.ids = Table::new();
        }
    }

    /// The request at a slot in use.
    #[inline]
    pub fn get(&self, slot: u32) -> Request {
        self.nodes.get(slot).request.unpack()
    }

    /// Begins to load a request that will be needed soon.
    #[inline]
    pub fn touch(&self, slot: u32) {
        ask(self.nodes.get(slot));
    }

    /// Begins to load a request that will leave soon.
    #[inline]
    pub fn touch_leaving(&self, slot: u32) {
        self.touch(slot);
        self.roll.touch(slot);
    }

    /// Begins to load what is left to load of a request that leaves next.
    #[inline]
    pub fn touch_last(&self, slot: u32) {
        self.roll.touch_sheet(slot);
    }

    /// Where a request begins in its server's object.
    #[inline]
    pub fn local(&self, slot: u32) -> u64 {
        self.nodes.get(slot).request.local
    }

    /// The place of a request in the order of arrival.
    #[inline]
    pub fn order(&self, slot: u32) -> u64 {
        self.nodes.get(slot).order()
    }

    /// A number that the policy put on a request; zero at first.
    #[inline]
    pub fn mark(&self, slot: u32) -> u16 {
        (self.nodes.get(slot).place & MARK_MASK) as u16
    }

    /// Puts a number on a request.
    #[inline]
    pub fn set_mark(&mut self, slot: u32, mark: u16) {
        let place = &mut self.nodes.get_mut(slot).place;
        *place = *place & !MARK_MASK | u64::from(mark);
    }

    /// How many requests were ever stored: the place in the order of arrival of the next.
    pub const fn pushed(&self) -> u64 {
        self.pushed
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

impl Node {
    #[inline]
    const fn order(&self) -> u64 {
        self.place >> MARK_BITS
    }
}

/// The mark shares a word with the order of arrival, which keeps enough bits for eight years of a
/// million requests a second.
const MARK_BITS: u32 = 16;
const MARK_MASK: u64 = (1 << MARK_BITS) - 1;

/// Requests in one piece of memory.
const PIECE: usize = 1_024;

/// Arrivals for which even a small index is kept up.
const LEAST_KEPT: usize = 1_024;
