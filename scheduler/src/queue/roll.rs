//! Who came when: slots in order of arrival, of which any may leave.

use super::slab::piece;
use super::{NIL, Slab, ask};

/// Lists of slots on sheets, oldest first.
///
/// Whoever leaves is struck off, which takes a bit of a word. These words stay in the cache however long
/// the lists are; links to those before and behind would be two pieces of cold memory.
#[derive(Debug, Default)]
pub(super) struct Roll {
    sheets: Slab<Sheet>,
    /// What is written on the sheets, some in a piece of memory: apart, as to strike off does not need it.
    pieces: Vec<Box<[u32; PIECE * WIDTH]>>,
    /// For each slot its sheet, and in the lowest bits its place there.
    places: Slab<u32, PLACES>,
}

/// A list of slots, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The oldest slot.
    head: u32,
    len: u32,
    /// The sheets that it begins and ends on.
    first: u32,
    last: u32,
    /// The place on the last sheet for who comes next; none if there is no room on it.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Sheet {
    /// The places of those that are still there, a bit each.
    taken: u64,
    before: u32,
    behind: u32,
}

impl Roll {
    /// Makes room for one more slot, and says which: the one given up last, or a new one.
    pub(super) fn enter(&mut self) -> u32 {
        self.places.insert(NIL)
    }

    /// Gives a slot up that is in no list.
    pub(super) fn leave(&mut self, slot: u32) {
        self.places.remove(slot);
    }

    /// Puts a slot at the end of a list.
    #[inline]
    pub(super) fn append(&mut self, list: &mut List, slot: u32) {
        if list.next == 0 {
            self.add_sheet(list);
        }
        let place = list.next;
        list.next = (place + 1) % WIDTH as u32;
        let sheet = self.sheets.get_mut(list.last);
        sheet.taken |= 1 << place;
        self.slots_mut(list.last)[place as usize] = slot;
        *self.places.get_mut(slot) = list.last << PLACE_BITS | place;
        if list.len == 0 {
            list.head = slot;
        }
        list.len += 1;
    }

    /// Takes a slot out of the list it is in.
    #[inline]
    pub(super) fn strike(&mut self, list: &mut List, slot: u32) {
        let place = *self.places.get(slot);
        let number = place >> PLACE_BITS;
        let sheet = self.sheets.get_mut(number);
        sheet.taken &= !(1 << (place % WIDTH as u32));
        list.len -= 1;
        match sheet.len() {
            0 => self.remove_sheet(list, number),
            FEW => self.join(list, number),
            _ => {}
        }
        if list.head == slot {
            list.head = self.oldest_on(list.first);
        }
    }

    /// The slots of a list, oldest first.
    pub(super) fn oldest(&self, list: &List) -> impl Iterator<Item = u32> {
        let known = |&sheet: &u32| sheet != NIL;
        let behind = move |&sheet: &u32| Some(self.sheets.get(sheet).behind).filter(known);
        let sheets = std::iter::successors(Some(list.first).filter(known), behind);
        sheets.flat_map(|sheet| {
            let slots = self.slots(sheet);
            self.sheets.get(sheet).places().map(|place| slots[place as usize])
        })
    }

    /// The oldest slot of a sheet, if there is such a sheet.
    #[inline]
    fn oldest_on(&self, sheet: u32) -> u32 {
        match sheet {
            NIL => NIL,
            _ => self.slots(sheet)[self.sheets.get(sheet).taken.trailing_zeros() as usize],
        }
    }

    /// Begins to load what is needed to take a slot out.
    #[inline]
    pub(super) fn touch(&self, slot: u32) {
        ask(self.places.get(slot));
    }

    /// Begins to load the sheet that a slot is on, once its place is loaded.
    #[inline]
    pub(super) fn touch_sheet(&self, slot: u32) {
        ask(self.sheets.get(*self.places.get(slot) >> PLACE_BITS));
    }

    #[inline]
    fn slots(&self, sheet: u32) -> &[u32] {
        let at = sheet as usize % PIECE * WIDTH;
        &self.pieces[sheet as usize / PIECE][at..at + WIDTH]
    }

    #[inline]
    fn slots_mut(&mut self, sheet: u32) -> &mut [u32] {
        let at = sheet as usize % PIECE * WIDTH;
        &mut self.pieces[sheet as usize / PIECE][at..at + WIDTH]
    }

    #[cold]
    fn add_sheet(&mut self, list: &mut List) {
        let sheet = self.sheets.insert(Sheet { taken: 0, before: list.last, behind: NIL });
        assert!(sheet < NIL >> PLACE_BITS, "fewer than 2^26 sheets fit in memory");
        if sheet as usize / PIECE == self.pieces.len() {
            self.pieces.push(piece(NIL));
        }
        match list.last {
            NIL => list.first = sheet,
            last => self.sheets.get_mut(last).behind = sheet,
        }
        list.last = sheet;
    }

    #[cold]
    fn remove_sheet(&mut self, list: &mut List, sheet: u32) {
        let Sheet { before, behind, .. } = self.sheets.remove(sheet);
        if self.sheets.is_empty() {
            self.pieces.truncate(1);
        }
        match before {
            NIL => list.first = behind,
            _ => self.sheets.get_mut(before).behind = behind,
        }
        match behind {
            NIL => (list.last, list.next) = (before, 0),
            _ => self.sheets.get_mut(behind).before = before,
        }
    }

    /// Joins a sheet with one beside it if there are few on both: sparse sheets would take more memory
    /// than those that are on them.
    fn join(&mut self, list: &mut List, sheet: u32) {
        let Sheet { before, behind, .. } = *self.sheets.get(sheet);
        for (one, other) in [(before, sheet), (sheet, behind)] {
            if one != NIL && other != NIL {
                let together = self.sheets.get(one).len() + self.sheets.get(other).len();
                if together <= 2 * FEW {
                    return self.merge(list, one, other);
                }
            }
        }
    }

    #[cold]
    fn merge(&mut self, list: &mut List, one: u32, other: u32) {
        let mut count = 0;
        let mut slots = [NIL; WIDTH];
        for sheet in [one, other] {
            for place in self.sheets.get(sheet).places() {
                slots[count as usize] = self.slots(sheet)[place as usize];
                *self.places.get_mut(slots[count as usize]) = one << PLACE_BITS | count;
                count += 1;
            }
        }
        self.slots_mut(one).copy_from_slice(&slots);
        self.sheets.get_mut(one).taken = (1 << count) - 1;
        self.remove_sheet(list, other);
    }
}

impl Sheet {
    const fn len(&self) -> u32 {
        self.taken.count_ones()
    }

    /// The places that are taken, ascending.
    fn places(&self) -> impl Iterator<Item = u32> + use<> {
        let rest = |taken: &u64| Some(taken & (taken - 1)).filter(|&rest| rest != 0);
        let all = std::iter::successors(Some(self.taken).filter(|&taken| taken != 0), rest);
        all.map(u64::trailing_zeros)
    }
}

impl List {
    /// An empty list.
    pub const fn new() -> List {
        List { head: NIL, len: 0, first: NIL, last: NIL, next: 0 }
    }

    /// The slot of the oldest request.
    #[inline]
    pub const fn head(&self) -> Option<u32> {
        if self.head == NIL { None } else { Some(self.head) }
    }

    /// Number of requests listed.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing is listed.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for List {
    fn default() -> Self {
        List::new()
    }
}

/// Places on a sheet.
const WIDTH: usize = 64;
const PLACE_BITS: u32 = WIDTH.trailing_zeros();
/// Places of slots in one piece of memory.
const PLACES: usize = 4_096;
/// Sheets in one piece of memory.
const PIECE: usize = 32;
/// So many on a sheet are few.
const FEW: u32 = WIDTH as u32 / 4;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Lists that grow and shrink, from which any slot leaves, against plain queues.
    #[test]
    fn agrees_with_plain_queues_whoever_leaves() {
        let (mut roll, mut lists) = (Roll::default(), [List::new(); 3]);
        let mut model: [VecDeque<u32>; 3] = Default::default();
        let mut state = 1_u64;
        for step in 0..100_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % 3;
            let (list, queue) = (&mut lists[at], &mut model[at]);
            let growing = (step >> 12).is_multiple_of(2);
            if queue.is_empty() || (state >> 40) % 8 < if growing { 5 } else { 2 } {
                let slot = roll.enter();
                roll.append(list, slot);
                queue.push_back(slot);
            } else {
                let any = (state >> 50) as usize % queue.len();
                let at = [any, 0, queue.len() - 1][(state >> 44) as usize % 3];
                let slot = queue.remove(at).unwrap();
                roll.strike(list, slot);
                roll.leave(slot);
            }
            assert_eq!((list.head(), list.len()), (queue.front().copied(), queue.len()));
            if step % 64 == 0 {
                assert!(roll.oldest(list).eq(queue.iter().copied()));
            }
        }
    }

    #[test]
    fn a_stuck_few_do_not_keep_the_sheets_of_the_others() {
        let (mut roll, mut list) = (Roll::default(), List::new());
        let slots: Vec<u32> = (0..100_000).map(|_| roll.enter()).collect();
        slots.iter().for_each(|&slot| roll.append(&mut list, slot));
        let gone = slots.iter().filter(|&slot| slot % 100 != 0);
        gone.for_each(|&slot| roll.strike(&mut list, slot));
        assert!(roll.oldest(&list).eq(slots.iter().copied().filter(|slot| slot % 100 == 0)));
        assert!(roll.sheets.len() < 70, "{} sheets for 1,000 slots", roll.sheets.len());
    }
}
