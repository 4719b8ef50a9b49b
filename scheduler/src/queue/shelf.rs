//! The requests of every lane in the order of their offsets at the server.

use super::boxes::{Boxes, MOST, Spot};
use super::{NIL, Pool, Sorted, triple};
use crate::room::Limit;

/// What the rows of all lanes have in common: boxes for those with some requests, one ordered set for
/// those with many.
#[derive(Debug, Default)]
pub struct Shelf {
    keys: Sorted,
    boxes: Boxes,
}

/// The requests of one lane. Whoever has the lane keeps it, so that both are found at once.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The request with the lowest offset, if there is any.
    lowest: Spot,
    count: u32,
    /// The box of the others, if there are any. Once there were too many, until the lane is empty, all
    /// are in the set, and this says so.
    rest: u32,
}

impl Shelf {
    /// Nothing on it.
    pub fn new() -> Shelf {
        Shelf::default()
    }

    /// Adds the request at `slot` to the row of a lane.
    pub fn add(&mut self, lane: u32, row: &mut Row, pool: &Pool, slot: u32) {
        let spot = Spot::new(pool.local(slot), slot);
        if !row.is_sorted() && row.others() == MOST {
            self.sort(lane, row);
        }
        let is_lowest = row.count == 0 || spot.key() < row.lowest.key();
        let other = if is_lowest { std::mem::replace(&mut row.lowest, spot) } else { spot };
        if row.is_sorted() {
            self.keys.insert(triple(lane, spot.at(), spot.slot));
        } else if row.count > 0 {
            row.rest = self.boxes.add(row.rest, row.others(), other);
        }
        row.count += 1;
    }

    /// Takes the request at `slot` out of the row of a lane, where it must be.
    pub fn remove(&mut self, lane: u32, row: &mut Row, pool: &Pool, slot: u32) {
        if row.is_sorted() {
            self.remove_sorted(lane, row, pool, slot);
        } else if row.others() > 0 {
            self.remove_boxed(row, slot);
        } else {
            assert!(row.lowest.slot == slot && row.count == 1, "{MISPLACED}");
        }
        row.count -= 1;
        if row.count == 0 {
            *row = Row::new();
        }
    }

    fn remove_boxed(&mut self, row: &mut Row, slot: u32) {
        let spots = self.boxes.get(row.rest, row.others());
        let place = if row.lowest.slot == slot {
            row.lowest = *spots.last().expect("there are others");
            spots.len() - 1
        } else {
            spots.iter().position(|spot| spot.slot == slot).expect(MISPLACED)
        };
        row.rest = self.boxes.remove(row.rest, row.others(), place);
    }

    fn remove_sorted(&mut self, lane: u32, row: &mut Row, pool: &Pool, slot: u32) {
        let known = self.keys.remove(triple(lane, pool.local(slot), slot));
        assert!(known, "{MISPLACED}");
        if row.lowest.slot == slot && row.count > 1 {
            let first = self.keys.first_from(triple(lane, 0, 0));
            let first = first.expect("a lane of several is sorted");
            row.lowest = Spot::new((first >> 32) as u64, first as u32);
        }
    }

    /// Moves all requests of a row into the set.
    #[cold]
    fn sort(&mut self, lane: u32, row: &mut Row) {
        let others = self.boxes.get(row.rest, row.others());
        for spot in others.iter().chain([&row.lowest]) {
            self.keys.insert(triple(lane, spot.at(), spot.slot));
        }
        self.boxes.free(row.rest);
        row.rest = NIL;
    }

    /// Collects into `run`, ascending, the request at `slot` and those that follow it without a
    /// gap, as far as the limit allows.
    pub fn gather(
        &self,
        (lane, row): (u32, &Row),
        pool: &Pool,
        slot: u32,
        limit: Limit,
        run: &mut Vec<u32>,
    ) {
        run.clear();
        run.push(slot);
        let mut left = limit.without(pool.get(slot).length());
        let mut end = pool.get(slot).local_extent().end();
        while left.requests > 0 {
            let Some(next) = self.starting(lane, row, end) else { break };
            let length = pool.get(next).length();
            if length == 0 || !left.takes(length) {
                break;
            }
            run.push(next);
            left = left.without(length);
            end += length;
        }
    }

    /// Takes everything off; rows are void then.
    pub fn clear(&mut self) {
        *self = Shelf::new();
    }

    /// Begins to load what a newcomer to a row at an offset needs.
    #[inline]
    pub fn touch_end(&self, lane: u32, row: &Row, at: u64) {
        if row.is_sorted() {
            self.keys.expect(triple(lane, at, 0));
        } else if row.others() > 0 {
            self.boxes.touch(row.rest, row.others());
        }
    }

    /// Begins to load what it needs to take a request at an offset out of a row.
    #[inline]
    pub fn touch(&self, lane: u32, row: &Row, at: u64) {
        if row.is_sorted() {
            self.keys.expect(triple(lane, at, 0));
        } else if row.others() > 0 {
            self.boxes.touch(row.rest, row.others());
        }
    }

    /// Begins to load what it needs to take the lowest out of a row.
    #[inline]
    pub fn touch_lowest(&self, row: &Row, pool: &Pool) {
        if row.count > 0 {
            pool.touch_leaving(row.lowest.slot);
        }
        if !row.is_sorted() && row.others() > 0 {
            self.boxes.touch_end(row.rest, row.others());
        }
    }

    /// Begins to load some requests of a row, the next to leave among them.
    pub fn touch_requests(&self, row: &Row, pool: &Pool) {
        if row.count > 0 {
            pool.touch_leaving(row.lowest.slot);
        }
        if !row.is_sorted() {
            self.others(row)
                .iter()
                .rev()
                .take(AHEAD)
                .for_each(|spot| pool.touch_leaving(spot.slot));
        }
    }

    /// The request of a lane that begins at an offset; of several the one with the lowest slot.
    fn starting(&self, lane: u32, row: &Row, at: u64) -> Option<u32> {
        if row.is_sorted() {
            let key = self.keys.first_from(triple(lane, at, 0))?;
            return (key >> 32 == triple(lane, at, 0) >> 32).then_some(key as u32);
        }
        let lowest = Some(&row.lowest).filter(|_| row.count > 0);
        let mut ascending = lowest.into_iter().chain(self.others(row).iter().rev());
        let spot = ascending.find(|spot| spot.at() >= at)?;
        (spot.at() == at).then_some(spot.slot)
    }

    /// All but the lowest of a row that is not in the set.
    #[inline]
    fn others(&self, row: &Row) -> &[Spot] {
        match row.others() {
            0 => &[],
            others => self.boxes.get(row.rest, others),
        }
    }
}

impl Row {
    /// No request.
    pub const fn new() -> Row {
        Row { lowest: Spot::new(0, 0), count: 0, rest: 0 }
    }

    /// The request with the lowest offset.
    #[inline]
    pub const fn lowest(&self) -> Option<u32> {
        if self.count == 0 { None } else { Some(self.lowest.slot) }
    }

    /// Number of requests.
    #[inline]
    pub const fn count(&self) -> usize {
        self.count as usize
    }

    const fn others(&self) -> usize {
        (self.count as usize).saturating_sub(1)
    }

    const fn is_sorted(&self) -> bool {
        self.rest == NIL
    }
}

impl Default for Row {
    fn default() -> Self {
        Row::new()
    }
}

const MISPLACED: &str = "a request on the shelf is in its place";

/// Requests that are loaded before they are needed.
const AHEAD: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
    use crate::time::Time;
    use std::collections::BTreeSet;

    fn request(at: u64) -> Request {
        Request {
            id: RequestId(0),
            file: FileId(0),
            job: JobId(0),
            server: ServerId(0),
            operation: Operation::Read,
            extent: Extent::new(at, 10),
            local: at,
            arrived: Time::ZERO,
        }
    }

    /// What begins where the one before ends, by the model.
    fn follow(model: &BTreeSet<(u64, u32)>, slot: u32, mut end: u64) -> Vec<u32> {
        let mut run = vec![slot];
        while let Some(&(_, next)) = model.range((end, 0)..(end + 1, 0)).next() {
            run.push(next);
            end += 10;
        }
        run
    }

    /// Rows that grow through boxes of every size into the set and back to nothing, against plain sets.
    #[test]
    fn agrees_with_sets_at_every_length() {
        let (mut shelf, mut pool) = (Shelf::new(), Pool::new());
        let mut rows = [Row::new(); 4];
        let mut model: [BTreeSet<(u64, u32)>; 4] = Default::default();
        let mut state = 1_u64;
        for count in 0..40_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let lane = (state >> 33) as usize % 4;
            let (row, set) = (&mut rows[lane], &mut model[lane]);
            let growing = (count >> 10).is_multiple_of(2);
            if set.is_empty() || (state >> 40) % 8 < if growing { 5 } else { 2 } {
                let at = (state >> 44) % 300 * 10;
                let slot = pool.insert(request(at));
                shelf.add(lane as u32, row, &pool, slot);
                set.insert((at, slot));
            } else {
                let pick = if count % 3 == 0 { (state >> 50) as usize % set.len() } else { 0 };
                let (at, slot) = *set.iter().nth(pick).unwrap();
                let mut run = Vec::new();
                shelf.gather((lane as u32, row), &pool, slot, Limit::NONE, &mut run);
                assert_eq!(run, follow(set, slot, at + 10));
                shelf.remove(lane as u32, row, &pool, slot);
                pool.remove(slot);
                set.remove(&(at, slot));
            }
            assert_eq!(row.lowest(), set.first().map(|&(_, slot)| slot));
            assert_eq!(row.count(), set.len());
        }
    }
}
