//! The requests of every lane in the order of their offsets at the server.

use super::Pool;
use super::boxes::{Boxes, MOST, NO_BOX, NUMBERS, Spot};
use super::cabinets::{Cabinets, Place};
use crate::room::Limit;

/// What the rows of all lanes have in common: boxes for those with some requests, cabinets for those
/// with many.
#[derive(Debug)]
pub struct Shelf {
    boxes: Boxes,
    cabinets: Cabinets,
    /// Where some requests in cabinets were looked for lately.
    looked: [Looked; LOOKED],
}

/// Where in its cabinet a request is or belongs, unless others have come or gone since.
#[derive(Clone, Copy, Debug, Default)]
struct Looked {
    slot: u32,
    place: Place,
}

/// The requests of one lane. Whoever has the lane keeps it, so that both are found at once.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The request with the lowest offset, if there is any.
    lowest: Spot,
    count: u32,
    /// The box of the others, if there are any; or, once there are too many for a box, the cabinet with
    /// all of them.
    rest: u32,
}

impl Shelf {
    /// Nothing on it.
    pub fn new() -> Shelf {
        let (boxes, cabinets) = (Boxes::default(), Cabinets::default());
        Shelf { boxes, cabinets, looked: [Looked::default(); LOOKED] }
    }

    /// Adds the request at `slot` to a row.
    pub fn add(&mut self, row: &mut Row, pool: &Pool, slot: u32) {
        let spot = Spot::new(pool.local(slot), slot);
        if row.cabinet().is_none() && row.others() == MOST {
            self.sort(row);
        }
        let is_lowest = row.count == 0 || spot.key() < row.lowest.key();
        let other = if is_lowest { std::mem::replace(&mut row.lowest, spot) } else { spot };
        if let Some(cabinet) = row.cabinet() {
            self.cabinets.add(cabinet, self.looked(slot), spot);
        } else if row.count > 0 {
            row.rest = self.boxes.add(row.rest, row.others(), other);
        }
        row.count += 1;
    }

    /// Takes the request at `slot` out of a row, where it must be.
    pub fn remove(&mut self, row: &mut Row, pool: &Pool, slot: u32) {
        if let Some(cabinet) = row.cabinet() {
            self.remove_sorted(cabinet, row, pool, slot);
        } else if row.others() > 0 {
            self.remove_boxed(row, slot);
        } else {
            assert!(row.lowest.slot == slot && row.count == 1, "{MISPLACED}");
        }
        row.count -= 1;
        if row.count == 0 {
            *row = Row::new();
        } else if row.cabinet().is_some() && row.others() == FEW {
            self.unsort(row);
        }
    }

    fn remove_boxed(&mut self, row: &mut Row, slot: u32) {
        let place = if row.lowest.slot == slot {
            let place = self.boxes.lowest(row.rest, row.others());
            row.lowest = self.others(row)[place];
            place
        } else {
            self.others(row).iter().position(|spot| spot.slot == slot).expect(MISPLACED)
        };
        row.rest = self.boxes.remove(row.rest, row.others(), place);
    }

    fn remove_sorted(&mut self, cabinet: u32, row: &mut Row, pool: &Pool, slot: u32) {
        let spot = Spot::new(pool.local(slot), slot);
        let known = self.cabinets.remove(cabinet, self.looked(slot), spot);
        assert!(known, "{MISPLACED}");
        if row.lowest.slot == slot {
            row.lowest = self.cabinets.lowest(cabinet).expect("a cabinet holds some");
        }
    }

    /// Moves all requests of a row from its box into a cabinet.
    #[cold]
    fn sort(&mut self, row: &mut Row) {
        let cabinet = self.cabinets.make();
        for &spot in self.others(row).to_vec().iter().chain([&row.lowest]) {
            self.cabinets.add(cabinet, Place::default(), spot);
        }
        self.boxes.free(row.rest);
        row.rest = NO_BOX | cabinet;
    }

    /// Moves the few requests that are left of a row from its cabinet into a box.
    #[cold]
    fn unsort(&mut self, row: &mut Row) {
        let Some(cabinet) = row.cabinet() else { return };
        let mut rest = 0;
        let others = self.cabinets.spots(cabinet).filter(|spot| spot.slot != row.lowest.slot);
        for (count, spot) in others.enumerate() {
            rest = self.boxes.add(rest, count, spot);
        }
        self.cabinets.free(cabinet);
        row.rest = rest;
    }

    /// Collects into `run`, ascending, the request at `slot` and those that follow it without a
    /// gap, as far as the limit allows.
    pub fn gather(&mut self, row: &Row, pool: &Pool, slot: u32, limit: Limit, run: &mut Vec<u32>) {
        run.clear();
        run.push(slot);
        let mut left = limit.without(pool.get(slot).length());
        let mut end = pool.get(slot).local_extent().end();
        while left.requests > 0 {
            let Some(next) = self.starting(row, slot, end) else { break };
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

    /// Begins to load what it takes to take the request at `slot`, which begins at an offset, out of a row.
    #[inline]
    pub fn touch(&mut self, row: &Row, slot: u32, at: u64) {
        if let Some(cabinet) = row.cabinet() {
            let place = self.look(cabinet, slot, at);
            self.cabinets.touch(cabinet, place);
        } else if row.others() > 0 {
            self.boxes.touch(row.rest, row.others());
        }
    }

    /// Looks for the place of a request in a cabinet, and remembers it.
    #[inline]
    fn look(&mut self, cabinet: u32, slot: u32, at: u64) -> Place {
        let place = self.cabinets.find(cabinet, Place::default(), Spot::new(at, slot));
        self.looked[slot as usize % LOOKED] = Looked { slot, place };
        place
    }

    /// Where a request was looked for, if it was; the others are lowest, mostly.
    #[inline]
    fn looked(&self, slot: u32) -> Place {
        let looked = self.looked[slot as usize % LOOKED];
        if looked.slot == slot { looked.place } else { Place::default() }
    }

    /// Begins to load what it needs to take the lowest out of a row.
    #[inline]
    pub fn touch_lowest(&self, row: &Row, pool: &Pool) {
        if row.count > 0 {
            pool.touch_leaving(row.lowest.slot);
        }
        if row.cabinet().is_none() && row.others() > 0 {
            self.boxes.touch(row.rest, row.others());
        }
    }

    /// Begins to load some requests of a row: if there are few of them, those that leave next.
    pub fn touch_requests(&self, row: &Row, pool: &Pool) {
        if row.count > 0 {
            pool.touch_leaving(row.lowest.slot);
        }
        if row.cabinet().is_none() {
            let others = self.others(row).iter().take(AHEAD);
            others.for_each(|spot| pool.touch_leaving(spot.slot));
        }
    }

    /// The request of a row that begins at an offset, not far behind that of `near`; of several the
    /// one with the lowest slot.
    fn starting(&mut self, row: &Row, near: u32, at: u64) -> Option<u32> {
        if let Some(cabinet) = row.cabinet() {
            return self.cabinets.starting(cabinet, self.looked(near), at).map(|spot| spot.slot);
        }
        if row.others() == 0 {
            return None;
        }
        if near == row.lowest.slot {
            // That one leaves, most likely, and then the next has to be known.
            let next = self.boxes.lowest(row.rest, row.others());
            let next = self.others(row)[next];
            if next.at() >= at {
                return (next.at() == at).then_some(next.slot);
            }
        }
        let all = [&row.lowest].into_iter().chain(self.others(row));
        all.filter(|spot| spot.at() == at).map(|spot| spot.slot).min()
    }

    /// All but the lowest of a row that has no cabinet.
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

    /// The cabinet that all requests are in, if they are in one.
    #[inline]
    const fn cabinet(&self) -> Option<u32> {
        if self.rest >= NO_BOX { Some(self.rest & NUMBERS) } else { None }
    }
}

impl Default for Shelf {
    fn default() -> Self {
        Shelf::new()
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

/// Requests beside the lowest with which a row returns from its cabinet into a box: far fewer than made
/// it leave.
const FEW: usize = MOST / 4;

/// Requests that were looked for and are remembered: more than are under way at a time.
const LOOKED: usize = 64;

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
                shelf.add(row, &pool, slot);
                set.insert((at, slot));
            } else {
                let pick = if count % 3 == 0 { (state >> 50) as usize % set.len() } else { 0 };
                let (at, slot) = *set.iter().nth(pick).unwrap();
                let mut run = Vec::new();
                shelf.gather(row, &pool, slot, Limit::NONE, &mut run);
                assert_eq!(run, follow(set, slot, at + 10));
                shelf.remove(row, &pool, slot);
                pool.remove(slot);
                set.remove(&(at, slot));
            }
            assert_eq!(row.lowest(), set.first().map(|&(_, slot)| slot));
            assert_eq!(row.count(), set.len());
        }
    }
}
