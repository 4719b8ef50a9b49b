//! Requests in lines, first come first served, each line on pages of its own: whoever walks a line
//! walks through memory, which costs the same however long the line is.

use super::packed::Packed;
use super::slab::piece;
use super::{NIL, Slab, Table, ask, spread};
use crate::request::{Request, RequestId};

/// Every request of one policy that serves its lines from the front, or nearly so.
///
/// A request taken out further back leaves a gap, and the page is free when all of it is gaps. So
/// this is not for requests that leave in another order than that of their arrival: for those there
/// is a [`Pool`](super::Pool).
///
/// They are found by id when one is cancelled, which is rare. So the index of ids is made then, and
/// kept up for as many arrivals as it was large: they pay for it, and nobody does without cancels.
#[derive(Debug, Default)]
pub struct Pages {
    sizes: [Size; SIZES],
    ids: Table,
    /// Arrivals for which the index is still kept up; with none left there is no index.
    kept: usize,
    pushed: u64,
    live: usize,
}

/// A line of requests, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The slot of the oldest request.
    head: u32,
    /// The slot of the youngest, which may be a gap by now.
    tail: u32,
    len: u32,
}

/// All pages of one size, a power of two.
#[derive(Debug, Default)]
struct Size {
    /// Pieces of memory, each cut into pages.
    pieces: Vec<Box<[Node; PIECE]>>,
    pages: Slab<Page>,
}

/// The place of a page in its line, and how many requests have left it. It is not written to when one
/// comes, as that would be one more piece of cold memory.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Slots of the last place of the page before and of the first of the page behind.
    before: u32,
    behind: u32,
    gone: u32,
}

/// A request and nothing more in a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node {
    request: Packed,
    /// The place in the order of arrival.
    order: u64,
}

impl Pages {
    /// No line yet.
    pub fn new() -> Pages {
        Pages::default()
    }

    /// Puts a request at the end of a line; its slot.
    pub fn append(&mut self, line: &mut Line, request: &Request) -> u32 {
        let full = line.tail == NIL || is_last(line.tail);
        let slot = if full { self.add_page(line) } else { line.tail + 1 };
        let (request, order) = (Packed::new(request), self.pushed);
        *self.node_mut(slot) = Node { request, order };
        self.pushed += 1;
        self.live += 1;
        line.tail = slot;
        line.len += 1;
        if self.kept > 0 {
            self.keep_up(request.id, slot);
        }
        slot
    }

    /// Takes a request out of its line.
    pub fn remove(&mut self, line: &mut Line, slot: u32) -> Request {
        if line.head == slot {
            line.head = self.following(line, slot).unwrap_or(NIL);
        }
        let node = self.node_mut(slot);
        let request = node.request.unpack();
        node.order = GONE;
        let page = self.page_mut(slot);
        page.gone += 1;
        if page.gone == used(line, slot) {
            self.free_page(line, slot);
        }
        line.len -= 1;
        self.live -= 1;
        if self.kept > 0 {
            self.ids.remove(spread(request.id.0), |found| found == slot);
        }
        if self.live == 0 {
            self.give_back();
        }
        request
    }

    /// The request behind one in its line.
    #[inline]
    pub fn following(&self, line: &Line, slot: u32) -> Option<u32> {
        let mut at = slot;
        while at != line.tail {
            at = if is_last(at) { self.page(at).behind } else { at + 1 };
            if self.node(at).order != GONE {
                return Some(at);
            }
        }
        None
    }

    /// All requests of a line, oldest first.
    #[inline]
    pub fn walk<'a>(&'a self, line: &'a Line) -> impl Iterator<Item = u32> + 'a {
        std::iter::successors(line.head(), |&slot| self.following(line, slot))
    }

    /// Begins to load the first page of a line.
    #[inline]
    pub fn touch_head(&self, line: &Line) {
        if let Some(slot) = line.head() {
            let size = slot >> PLACE_BITS;
            let last = slot | ((1 << size) - 1);
            ask(self.page(slot));
            (slot..=last).take(AHEAD).for_each(|slot| self.touch(slot));
        }
    }

    /// Begins to load the second page of a line.
    #[inline]
    pub fn touch_behind(&self, line: &Line) {
        let behind = line.head().map_or(NIL, |slot| self.page(slot).behind);
        if behind != NIL {
            ask(self.page(behind));
            (behind..)
                .take(AHEAD.min(1 << (behind >> PLACE_BITS)))
                .for_each(|slot| self.touch(slot));
        }
    }

    /// Begins to load the place of the next request that comes to a line.
    #[inline]
    pub fn touch_tail(&self, line: &Line) {
        if line.tail != NIL {
            self.touch(if is_last(line.tail) { line.tail } else { line.tail + 1 });
        }
    }

    #[inline]
    fn touch(&self, slot: u32) {
        ask(self.node(slot));
    }

    /// Takes everything out, in order of arrival, whatever lines it is in; these are void then.
    pub fn drain(&mut self) -> Vec<Request> {
        let live = self.sizes.iter().flat_map(Size::slots);
        let mut all: Vec<Node> = live.map(|(_, node)| *node).collect();
        all.sort_unstable_by_key(|node| node.order);
        *self = Pages { pushed: self.pushed, ..Pages::default() };
        all.into_iter().map(|node| node.request.unpack()).collect()
    }

    /// The slot of the request with this id. The first time in a while this walks through all.
    pub fn find(&mut self, id: RequestId) -> Option<u32> {
        if self.kept == 0 {
            for (size, pages) in (0..).zip(&self.sizes) {
                for (place, node) in pages.slots() {
                    self.ids.insert(spread(node.request.id.0), slot_of(size, place));
                }
            }
        }
        self.kept = self.live.max(LEAST_KEPT);
        self.ids.find(spread(id.0), |slot| self.node(slot).request.id == id)
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
        self.node(slot).request.unpack()
    }

    /// The place of a request in the order of arrival.
    #[inline]
    pub fn order(&self, slot: u32) -> u64 {
        self.node(slot).order
    }

    /// Number of requests in all lines.
    pub const fn len(&self) -> usize {
        self.live
    }

    /// Whether there is no request in any line.
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Adds a page at the end of a line, about as large as what is in it; its first slot.
    #[cold]
    fn add_page(&mut self, line: &mut Line) -> u32 {
        let size = line.len.max(1).ilog2().min(SIZES as u32 - 1);
        let page = Page { before: line.tail, behind: NIL, gone: 0 };
        let first = slot_of(size, self.sizes[size as usize].add(size, page));
        if line.tail == NIL {
            line.head = first;
        } else {
            self.page_mut(line.tail).behind = first;
        }
        first
    }

    /// Takes a page on which nothing is left out of its line.
    #[cold]
    fn free_page(&mut self, line: &mut Line, slot: u32) {
        let (size, number) = page_of(slot);
        let Page { before, behind, .. } = self.sizes[size].pages.remove(number);
        if before != NIL {
            self.page_mut(before).behind = behind;
        }
        if behind == NIL {
            line.tail = before;
        } else {
            self.page_mut(behind).before = before;
        }
    }

    /// Gives the memory of a past peak back.
    fn give_back(&mut self) {
        self.sizes.iter_mut().for_each(|size| size.pieces.truncate(1));
    }

    #[inline]
    fn node(&self, slot: u32) -> &Node {
        let (size, place) = (slot >> PLACE_BITS, slot & PLACES);
        &self.sizes[size as usize].pieces[place as usize / PIECE][place as usize % PIECE]
    }

    #[inline]
    fn node_mut(&mut self, slot: u32) -> &mut Node {
        let (size, place) = (slot >> PLACE_BITS, slot & PLACES);
        &mut self.sizes[size as usize].pieces[place as usize / PIECE][place as usize % PIECE]
    }

    #[inline]
    fn page(&self, slot: u32) -> &Page {
        let (size, number) = page_of(slot);
        self.sizes[size].pages.get(number)
    }

    #[inline]
    fn page_mut(&mut self, slot: u32) -> &mut Page {
        let (size, number) = page_of(slot);
        self.sizes[size].pages.get_mut(number)
    }
}

impl Size {
    /// Adds a page; the place of its first node.
    fn add(&mut self, size: u32, page: Page) -> u32 {
        let place = self.pages.insert(page) << size;
        assert!(place <= PLACES, "fewer than 2^29 requests fit in memory");
        if place as usize / PIECE == self.pieces.len() {
            self.pieces.push(piece(Node { request: Packed::NONE, order: GONE }));
        }
        place
    }

    /// All requests on these pages, and their places.
    fn slots(&self) -> impl Iterator<Item = (u32, &Node)> {
        let nodes = (0..).zip(self.pieces.iter().flat_map(|piece| piece.iter()));
        nodes.filter(|(_, node)| node.order != GONE)
    }
}

impl Line {
    /// An empty line.
    pub const fn new() -> Line {
        Line { head: NIL, tail: NIL, len: 0 }
    }

    /// The slot of the oldest request.
    #[inline]
    pub const fn head(&self) -> Option<u32> {
        if self.head == NIL { None } else { Some(self.head) }
    }

    /// Number of requests.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no request.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Line {
    fn default() -> Self {
        Line::new()
    }
}

const fn slot_of(size: u32, place: u32) -> u32 {
    size << PLACE_BITS | place
}

/// The size of the page that a slot is on, and its number among those of that size.
const fn page_of(slot: u32) -> (usize, u32) {
    let size = slot >> PLACE_BITS;
    (size as usize, (slot & PLACES) >> size)
}

/// How many places of the page that a slot of a line is on were ever taken.
const fn used(line: &Line, slot: u32) -> u32 {
    let size = slot >> PLACE_BITS;
    if slot >> size == line.tail >> size { (line.tail & ((1 << size) - 1)) + 1 } else { 1 << size }
}

/// Whether a slot is the last of its page.
const fn is_last(slot: u32) -> bool {
    let last = (1 << (slot >> PLACE_BITS)) - 1;
    slot & last == last
}

/// Sizes of pages: 1, 2, 4 and so on up to 64 requests, which are 4 KiB.
const SIZES: usize = 7;
/// Bits of a slot that tell the place among the pages of a size; the others tell the size.
const PLACE_BITS: u32 = 29;
const PLACES: u32 = (1 << PLACE_BITS) - 1;
/// Requests in one piece of memory: eight pages of the largest size. Where the pieces are has to stay in
/// the cache, and what is not used of the last of each size is wasted.
const PIECE: usize = 8 << (SIZES - 1);
/// The order of a gap.
const GONE: u64 = u64::MAX;
/// Requests that are loaded before they are needed.
const AHEAD: usize = 8;
/// Arrivals for which even a small index is kept up.
const LEAST_KEPT: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Extent, FileId, JobId, Operation, ServerId};
    use crate::time::Time;
    use std::collections::VecDeque;

    fn request(id: u64) -> Request {
        Request {
            id: RequestId(id),
            file: FileId(id % 3),
            job: JobId(0),
            server: ServerId(0),
            operation: Operation::Read,
            extent: Extent::new(id * 10, 10),
            local: id * 10,
            arrived: Time::ZERO,
        }
    }

    /// Lines of every length, from which requests leave mostly in front, against queues of ids.
    #[test]
    fn agrees_with_plain_queues() {
        let (mut pages, mut lines) = (Pages::new(), [Line::new(); 5]);
        let mut model: [VecDeque<(u64, u32)>; 5] = Default::default();
        let mut state = 1_u64;
        for id in 0..50_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % 5;
            let (line, queue) = (&mut lines[at], &mut model[at]);
            let growing = (id >> 12).is_multiple_of(2);
            if queue.is_empty() || (state >> 40) % 8 < if growing { 5 } else { 2 } {
                queue.push_back((id, pages.append(line, &request(id))));
            } else {
                let near = (state >> 50) as usize % if id % 16 == 0 { queue.len() } else { 1 };
                let (id, slot) = queue.remove(near).unwrap();
                assert_eq!(pages.remove(line, slot).id, RequestId(id));
            }
            let head = queue.front().map(|&(_, slot)| slot);
            assert_eq!((line.head(), line.len()), (head, queue.len()));
            let second = head.and_then(|slot| pages.following(line, slot));
            assert_eq!(second, queue.get(1).map(|&(_, slot)| slot));
        }
        let mut left: Vec<(u64, u32)> = model.into_iter().flatten().collect();
        for &(id, slot) in &left {
            assert_eq!(pages.find(RequestId(id)), Some(slot));
        }
        left.sort_unstable();
        let drained = pages.drain().into_iter().map(|request| request.id.0);
        assert!(drained.eq(left.into_iter().map(|(id, _)| id)) && pages.is_empty());
    }

    #[test]
    fn a_stuck_head_does_not_keep_the_pages_behind_it() {
        let (mut pages, mut line) = (Pages::new(), Line::new());
        pages.append(&mut line, &request(0));
        for id in 1..100_000 {
            let slot = pages.append(&mut line, &request(id));
            if id > 1_000 {
                pages.remove(&mut line, slot);
            }
        }
        let pieces: usize = pages.sizes.iter().map(|size| size.pieces.len()).sum();
        assert!(pieces < 32, "{pieces} pieces for 1,001 requests");
    }
}
