//! The requests of every lane in the order of their offsets at the server.

use std::collections::BTreeSet;

use super::Pool;
use crate::room::Limit;

/// One ordered set for all lanes: a lane with a single request costs no more than that request.
#[derive(Debug, Default)]
pub struct Shelf {
    keys: BTreeSet<(u32, u64, u32)>,
}

impl Shelf {
    /// Nothing on it.
    pub const fn new() -> Shelf {
        Shelf { keys: BTreeSet::new() }
    }

    /// Adds the request at `slot` to its lane.
    pub fn add(&mut self, lane: u32, pool: &Pool, slot: u32) {
        self.keys.insert((lane, pool.get(slot).local, slot));
    }

    /// Takes the request at `slot` out of its lane; whether it was there.
    pub fn remove(&mut self, lane: u32, pool: &Pool, slot: u32) -> bool {
        self.keys.remove(&(lane, pool.get(slot).local, slot))
    }

    /// The request with the lowest offset in a lane.
    pub fn lowest(&self, lane: u32) -> Option<u32> {
        self.first(lane, 0).map(|(_, slot)| slot)
    }

    /// Collects into `run`, ascending, the request at `slot` and those that follow it without a
    /// gap, as far as the limit allows.
    pub fn gather(&self, lane: u32, pool: &Pool, slot: u32, limit: Limit, run: &mut Vec<u32>) {
        run.clear();
        run.push(slot);
        let mut left = limit.without(pool.get(slot).length());
        let mut end = pool.get(slot).local_extent().end();
        while left.requests > 0 {
            let Some((at, next)) = self.first(lane, end) else { break };
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
        self.keys.clear();
    }

    /// The first request of a lane from an offset on.
    fn first(&self, lane: u32, from: u64) -> Option<(u64, u32)> {
        let &(found, at, slot) = self.keys.range((lane, from, 0)..).next()?;
        (found == lane).then_some((at, slot))
    }
}
