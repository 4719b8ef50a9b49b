//! The requests of every lane in the order of their offsets at the server.

use super::{NIL, Pool, Sorted, triple};
use crate::room::Limit;

/// One ordered set for all lanes. The lowest of each lane is known without a search, and a lane with
/// few requests has nothing in the set at all.
#[derive(Debug, Default)]
pub struct Shelf {
    keys: Sorted,
    lanes: Vec<Row>,
}

/// What is known of one lane.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// The first is the request with the lowest offset, if there is any. The others are the rest, in
    /// any order, while they are few; once there were more, until the lane is empty, all are in the
    /// set, and the second says so.
    slots: [u32; FEW],
    count: u32,
}

impl Shelf {
    /// Nothing on it.
    pub const fn new() -> Shelf {
        Shelf { keys: Sorted::new(), lanes: Vec::new() }
    }

    /// Adds the request at `slot` to its lane.
    pub fn add(&mut self, lane: u32, pool: &Pool, slot: u32) {
        self.make_room(lane as usize);
        let row = &mut self.lanes[lane as usize];
        let is_lowest = row.count == 0 || place(pool, slot) < place(pool, row.slots[0]);
        if !row.is_sorted() && row.count as usize == FEW {
            for slot in row.slots {
                self.keys.insert(triple(lane, pool.local(slot), slot));
            }
            row.slots[1] = NIL;
        }
        if row.is_sorted() {
            self.keys.insert(triple(lane, pool.local(slot), slot));
        } else {
            row.slots[row.count as usize] = slot;
        }
        match (is_lowest, row.is_sorted()) {
            (true, true) => row.slots[0] = slot,
            (true, false) => row.slots.swap(0, row.count as usize),
            (false, _) => {}
        }
        row.count += 1;
    }

    /// Takes the request at `slot` out of its lane, where it must be.
    pub fn remove(&mut self, lane: u32, pool: &Pool, slot: u32) {
        let row = &mut self.lanes[lane as usize];
        if !row.is_sorted() {
            row.remove(pool, slot);
            return;
        }
        let known = self.keys.remove(triple(lane, pool.local(slot), slot));
        assert!(known, "a request on the shelf is in its place");
        row.count -= 1;
        if row.count == 0 {
            *row = Row::default();
        } else if row.slots[0] == slot {
            let first = self.keys.first_from(triple(lane, 0, 0));
            row.slots[0] = first.expect("a lane of several is sorted") as u32;
            pool.touch(row.slots[0]);
        }
    }

    /// The request with the lowest offset in a lane.
    pub fn lowest(&self, lane: u32) -> Option<u32> {
        let row = self.lanes.get(lane as usize)?;
        (row.count > 0).then_some(row.slots[0])
    }

    /// Number of requests in a lane.
    pub fn count(&self, lane: u32) -> usize {
        self.lanes.get(lane as usize).map_or(0, |row| row.count as usize)
    }

    /// Collects into `run`, ascending, the request at `slot` and those that follow it without a
    /// gap, as far as the limit allows.
    pub fn gather(&self, lane: u32, pool: &Pool, slot: u32, limit: Limit, run: &mut Vec<u32>) {
        run.clear();
        run.push(slot);
        let mut left = limit.without(pool.get(slot).length());
        let mut end = pool.get(slot).local_extent().end();
        while left.requests > 0 {
            let Some((at, next)) = self.first(lane, pool, end) else { break };
            let length = pool.get(next).length();
            if at != end || length == 0 || !left.takes(length) {
                break;
            }
            run.push(next);
            left = left.without(length);
            end += length;
        }
    }

    /// Takes everything off.
    pub fn clear(&mut self) {
        *self = Shelf::new();
    }

    /// Makes a row for a lane; all rows move then, so it makes some more, but not twice as many.
    fn make_room(&mut self, lane: usize) {
        if self.lanes.len() <= lane {
            if self.lanes.capacity() <= lane {
                self.lanes.reserve_exact(lane + 1 - self.lanes.len() + self.lanes.len() / 8);
            }
            self.lanes.resize(lane + 1, Row::default());
        }
    }

    /// The first request of a lane from an offset on.
    fn first(&self, lane: u32, pool: &Pool, from: u64) -> Option<(u64, u32)> {
        let row = self.lanes.get(lane as usize)?;
        if !row.is_sorted() {
            let all = row.slots[..row.count as usize].iter().map(|&slot| place(pool, slot));
            return all.filter(|&(at, _)| at >= from).min();
        }
        let key = self.keys.first_from(triple(lane, from, 0))?;
        ((key >> 96) as u32 == lane).then_some(((key >> 32) as u64, key as u32))
    }
}

impl Row {
    const fn is_sorted(&self) -> bool {
        self.slots[1] == NIL
    }

    /// Takes a request out of a lane with few.
    fn remove(&mut self, pool: &Pool, slot: u32) {
        let all = &mut self.slots[..self.count as usize];
        let at = all.iter().position(|&found| found == slot);
        let at = at.expect("a request on the shelf is in its place");
        let (last, rest) = all.split_last_mut().expect("there is one");
        if let Some(gap) = rest.get_mut(at) {
            *gap = *last;
        }
        let lowest = (0..rest.len()).min_by_key(|&at| place(pool, rest[at]));
        if let Some(lowest) = lowest {
            rest.swap(0, lowest);
        }
        self.count -= 1;
    }
}

/// What a request is sorted by.
fn place(pool: &Pool, slot: u32) -> (u64, u32) {
    (pool.local(slot), slot)
}

/// Requests of a lane that need no set: to look at each costs less than to search.
const FEW: usize = 2;
