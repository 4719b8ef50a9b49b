//! Queues of which there are many and none for long: a lane for each object or job that has requests.
//!
//! An object is one file's bytes on one server, reads and writes apart: what the schedulers that were
//! made for data servers call a file's queue. Lanes wait for their turn in rings, one per server.

use std::collections::VecDeque;

use super::{NIL, Slab, Table, mix};
use crate::request::{Operation, Request, ServerId};

/// What a lane is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneKey {
    number: u64,
    /// The server, and in the lowest bits what the number is one of.
    place: u32,
}

impl LaneKey {
    /// The object a request reads or writes.
    pub const fn object(request: &Request) -> LaneKey {
        let kind = match request.operation {
            Operation::Read => 0,
            Operation::Write => 1,
        };
        LaneKey { number: request.file.0, place: request.server.0 << 2 | kind }
    }

    /// The job of a request, at its server.
    pub const fn job(request: &Request) -> LaneKey {
        LaneKey { number: request.job.0, place: request.server.0 << 2 | 2 }
    }

    /// The server of a request, whatever the job.
    pub const fn server(request: &Request) -> LaneKey {
        LaneKey { number: 0, place: request.server.0 << 2 | 3 }
    }

    const fn hash(self) -> u32 {
        mix(self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.place as u64)
    }
}

/// All lanes with a request, and the state of some that had one lately.
#[derive(Debug)]
pub struct Lanes<T> {
    lanes: Slab<Lane<T>, PIECE>,
    names: Table,
    idle: VecDeque<(u32, u32)>,
    keep: usize,
    retired: u32,
}

#[derive(Clone, Copy, Debug)]
struct Lane<T> {
    /// The number of its key in halves, lower first: nothing is between two lanes then.
    number: [u32; 2],
    place: u32,
    /// The lanes before and behind it in its ring. While it is in none because it is empty: a mark
    /// for that, and when it was retired, by count.
    prev: u32,
    next: u32,
    state: T,
}

/// Lanes that take turns; the first is served next.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    head: u32,
    tail: u32,
}

impl<T: Copy + Default> Lanes<T> {
    /// No lanes; up to `keep` empty ones will be remembered.
    pub fn new(keep: usize) -> Lanes<T> {
        let (lanes, names, idle) = (Slab::new(), Table::new(), VecDeque::new());
        Lanes { lanes, names, idle, keep, retired: 0 }
    }

    /// The lane with this key: an existing one, or one with default state.
    pub fn of(&mut self, key: LaneKey) -> u32 {
        if let Some(lane) = self.find(key) {
            let found = self.lanes.get_mut(lane);
            if found.retired().is_some() {
                found.prev = NIL;
            }
            return lane;
        }
        let state = T::default();
        let LaneKey { number, place } = key;
        let number = [number as u32, (number >> 32) as u32];
        let lane = self.lanes.insert(Lane { number, place, prev: NIL, next: NIL, state });
        self.names.insert(key.hash(), lane);
        lane
    }

    /// The lane with this key, if there is one.
    pub fn find(&self, key: LaneKey) -> Option<u32> {
        self.names.find(key.hash(), |lane| self.lanes.get(lane).key() == key)
    }

    /// Begins to load what is needed to find a lane.
    #[inline]
    pub fn expect(&self, key: LaneKey) {
        self.names.touch(key.hash());
    }

    /// The lane that most likely has this key, if it was expected; it may be another one.
    #[inline]
    pub fn guess(&self, key: LaneKey) -> Option<u32> {
        self.names.guess(key.hash())
    }

    /// Begins to load a lane.
    #[inline]
    pub fn touch(&self, lane: u32) {
        self.lanes.touch(lane);
    }

    /// Takes note that a lane is empty and in no ring: sooner or later it is forgotten. The state of
    /// the one that is forgotten now.
    pub fn retire(&mut self, lane: u32) -> Option<T> {
        if self.keep == 0 {
            return Some(self.forget(lane));
        }
        self.retired = self.retired.wrapping_add(1);
        let state = self.lanes.get_mut(lane);
        (state.prev, state.next) = (RETIRED, self.retired);
        self.idle.push_back((lane, self.retired));
        if self.idle.len() > self.keep { self.forget_oldest() } else { None }
    }

    /// Puts a lane at the end of a ring.
    pub fn enqueue(&mut self, ring: &mut Ring, lane: u32) {
        let state = self.lanes.get_mut(lane);
        (state.prev, state.next) = (ring.tail, NIL);
        if ring.tail == NIL {
            ring.head = lane;
        } else {
            self.lanes.get_mut(ring.tail).next = lane;
        }
        ring.tail = lane;
    }

    /// Takes a lane out of the ring it is in.
    pub fn dequeue(&mut self, ring: &mut Ring, lane: u32) {
        let Lane { prev, next, .. } = *self.lanes.get(lane);
        if prev == NIL {
            ring.head = next;
        } else {
            self.lanes.get_mut(prev).next = next;
        }
        if next == NIL {
            ring.tail = prev;
        } else {
            self.lanes.get_mut(next).prev = prev;
        }
    }

    /// Forgets all lanes.
    pub fn clear(&mut self) {
        *self = Lanes::new(self.keep);
    }

    /// The state of a lane.
    #[inline]
    pub fn get(&self, lane: u32) -> &T {
        &self.lanes.get(lane).state
    }

    /// The state of a lane, to be changed.
    #[inline]
    pub fn get_mut(&mut self, lane: u32) -> &mut T {
        &mut self.lanes.get_mut(lane).state
    }

    /// What a lane is found by.
    #[inline]
    pub fn key(&self, lane: u32) -> LaneKey {
        self.lanes.get(lane).key()
    }

    /// The server of a lane.
    pub fn server(&self, lane: u32) -> ServerId {
        ServerId(self.lanes.get(lane).place >> 2)
    }

    /// The lane after this one in its ring.
    pub fn following(&self, lane: u32) -> Option<u32> {
        Some(self.lanes.get(lane).next).filter(|&next| next != NIL)
    }

    /// Forgets the lane that has been empty for longest, unless it has found requests again.
    fn forget_oldest(&mut self) -> Option<T> {
        let (lane, retired) = self.idle.pop_front()?;
        let gone = self.lanes.get(lane).retired() == Some(retired);
        gone.then(|| self.forget(lane))
    }

    fn forget(&mut self, lane: u32) -> T {
        let gone = self.lanes.remove(lane);
        self.names.remove(gone.key().hash(), |found| found == lane);
        gone.state
    }
}

impl<T> Lane<T> {
    const fn key(&self) -> LaneKey {
        let [low, high] = self.number;
        LaneKey { number: (high as u64) << 32 | low as u64, place: self.place }
    }

    const fn retired(&self) -> Option<u32> {
        if self.prev == RETIRED { Some(self.next) } else { None }
    }
}

impl Ring {
    /// No lane.
    pub const fn new() -> Ring {
        Ring { head: NIL, tail: NIL }
    }

    /// The lane whose turn it is.
    #[inline]
    pub const fn head(&self) -> Option<u32> {
        if self.head == NIL { None } else { Some(self.head) }
    }

    /// Whether no lane waits.
    pub const fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl Default for Ring {
    fn default() -> Self {
        Ring::new()
    }
}

/// Stands in the link to the lane before in one that is empty.
const RETIRED: u32 = NIL - 1;

/// Lanes in one piece of memory: half of one is wasted, more or less.
const PIECE: usize = 256;
