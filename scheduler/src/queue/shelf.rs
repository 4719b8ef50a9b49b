//! The requests of every lane in the order of their offsets at the server.

use std::collections::BTreeSet;

use super::Pool;
use crate::room::Limit;

/// One ordered set for all lanes. The lowest of each lane is known without a search, and a lane with
/// a single request has nothing in the set at all.
#[derive(Debug, Default)]
pub struct Shelf {
    keys: BTreeSet<(u32, u64, u32)>,
    lanes: Vec<Row>,
}

/// What is known of one lane.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// The request with the lowest offset, if there is any.
    lowest: u32,
    count: u32,
    /// Whether its requests are in the set: since it had a second one, until it is empty.
    sorted: bool,
}

impl Shelf {
    /// Nothing on it.
    pub const fn new() -> Shelf {
        Shelf { keys: BTreeSet::new(), lanes: Vec::new() }
    }

    /// Adds the request at `slot` to its lane.
    pub fn add(&mut self, lane: u32, pool: &Pool, slot: u32) {
        if self.lanes.len() <= lane as usize {
            self.lanes.resize(lane as usize + 1, Row::default());
        }
        let row = &mut self.lanes[lane as usize];
        row.count += 1;
        if row.count == 1 {
            row.lowest = slot;
            return;
        }
        let (key, lowest) = ((pool.local(slot), slot), (pool.local(row.lowest), row.lowest));
        if !row.sorted {
            row.sorted = true;
            self.keys.insert((lane, lowest.0, lowest.1));
        }
        if key < lowest {
            row.lowest = slot;
        }
        self.keys.insert((lane, key.0, key.1));
    }

    /// Takes the request at `slot` out of its lane, where it must be.
    pub fn remove(&mut self, lane: u32, pool: &Pool, slot: u32) {
        let row = &mut self.lanes[lane as usize];
        row.count -= 1;
        if row.sorted {
            let known = self.keys.remove(&(lane, pool.local(slot), slot));
            assert!(known, "a request on the shelf is in its place");
        }
        if row.count == 0 {
            *row = Row::default();
        } else if row.lowest == slot {
            let first = self.keys.range((lane, 0, 0)..).next();
            row.lowest = first.expect("a lane of several is sorted").2;
        }
    }

    /// The request with the lowest offset in a lane.
    pub fn lowest(&self, lane: u32) -> Option<u32> {
        let row = self.lanes.get(lane as usize)?;
        (row.count > 0).then_some(row.lowest)
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

    /// The first request of a lane from an offset on.
    fn first(&self, lane: u32, pool: &Pool, from: u64) -> Option<(u64, u32)> {
        let lowest = self.lowest(lane)?;
        if !self.lanes[lane as usize].sorted {
            let at = pool.local(lowest);
            return (at >= from).then_some((at, lowest));
        }
        let &(found, at, slot) = self.keys.range((lane, from, 0)..).next()?;
        (found == lane).then_some((at, slot))
    }
}
