//! Ordered sets of places, one for each lane with very many.
//!
//! Three levels, however many places there are: columns, drawers, places. What is needed to find a
//! drawer is small enough to stay in the cache. To find one takes longer than to look into it; so
//! whoever has looked for one says where it was. Only the first drawer of a cabinet, from which most
//! leave, is in order; in the others they lie as they came until it is their turn.

mod drawer;
mod lows;

use drawer::{Drawer, WIDTH};
use lows::Lows;

use super::Slab;
use super::boxes::Spot;

/// All cabinets, each found by its number.
#[derive(Debug, Default)]
pub(super) struct Cabinets {
    drawers: Slab<Drawer, PIECE>,
    cabinets: Vec<Cabinet>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct Cabinet {
    /// Where each column begins; nothing lower is in it.
    lows: Lows,
    columns: Vec<Column>,
}

#[derive(Debug, Default)]
struct Column {
    /// Where each drawer begins, likewise.
    lows: Lows,
    /// None of them is empty, but for the last that is left in a cabinet.
    drawers: Vec<u32>,
    /// How many spots each of them has.
    counts: Vec<u8>,
}

/// Where a drawer is: its column and its place there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    column: u32,
    drawer: u32,
}

impl Cabinets {
    /// A new cabinet with nothing in it.
    pub(super) fn make(&mut self) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.cabinets.push(Cabinet::default());
            self.cabinets.len() as u32 - 1
        });
        let drawer = self.drawers.insert(Drawer::EMPTY);
        let column = Column { lows: Lows::one(), drawers: vec![drawer], counts: vec![0] };
        self.cabinets[number as usize] = Cabinet { lows: Lows::one(), columns: vec![column] };
        number
    }

    /// Gives a cabinet up, with all that is in it.
    pub(super) fn free(&mut self, number: u32) {
        let cabinet = std::mem::take(&mut self.cabinets[number as usize]);
        for drawer in cabinet.columns.iter().flat_map(|column| &column.drawers) {
            self.drawers.remove(*drawer);
        }
        self.free.push(number);
        if self.free.len() == self.cabinets.len() {
            *self = Cabinets::default();
        }
    }

    /// Where a spot is or belongs: at `guess`, most likely.
    #[inline]
    pub(super) fn find(&self, number: u32, guess: Place, spot: Spot) -> Place {
        let cabinet = &self.cabinets[number as usize];
        if cabinet.spans(guess, spot) { guess } else { cabinet.find(spot) }
    }

    /// Adds a spot, which must not be there.
    #[inline]
    pub(super) fn add(&mut self, number: u32, guess: Place, spot: Spot) {
        let place = self.find(number, guess, spot);
        let (drawer, count) = self.drawer_mut(number, place);
        let before = usize::from(*count);
        *count += 1;
        if place == FIRST {
            drawer.add_sorted(before, spot);
        } else {
            drawer.add(before, spot);
        }
        if before + 1 == WIDTH {
            self.split(number, place, spot);
        }
    }

    /// Parts a full drawer, into which `last` came last.
    #[cold]
    fn split(&mut self, number: u32, place: Place, last: Spot) {
        let (drawer, count) = self.drawer_mut(number, place);
        let (left, low, upper) = drawer.split(last);
        *count = left as u8;
        if place == FIRST {
            drawer.sort(left);
        }
        let upper = self.drawers.insert(upper);
        self.cabinets[number as usize].insert(place, low, upper, WIDTH - left);
    }

    /// Takes a spot out; whether it was there.
    #[inline]
    pub(super) fn remove(&mut self, number: u32, guess: Place, spot: Spot) -> bool {
        let place = self.find(number, guess, spot);
        let (drawer, count) = self.drawer_mut(number, place);
        let before = usize::from(*count);
        let known = match place {
            FIRST => drawer.remove_sorted(before, spot),
            _ => drawer.remove(before, spot),
        };
        *count -= u8::from(known);
        match (place, usize::from(*count)) {
            (FIRST, SOON) => self.touch_second(number),
            (FIRST, 1..) => {}
            (_, left) if left < WIDTH / 4 => self.shrink(number, place),
            _ => {}
        }
        known
    }

    /// The lowest spot.
    #[inline]
    pub(super) fn lowest(&self, number: u32) -> Option<Spot> {
        let (drawer, count) = self.drawer(number, FIRST);
        drawer.lowest(count)
    }

    /// The spot that begins at an offset, near `guess` most likely; of several the lowest.
    #[inline]
    pub(super) fn starting(&self, number: u32, guess: Place, at: u64) -> Option<Spot> {
        let place = self.find(number, guess, Spot::new(at, 0));
        let (drawer, count) = self.drawer(number, place);
        let found = match place {
            FIRST => drawer.starting_sorted(count, at),
            _ => drawer.starting(count, at),
        };
        found.or_else(|| {
            // Only where the next drawer begins with that offset can it have such a spot.
            let (next, low) = self.cabinets[number as usize].behind(place)?;
            let (drawer, count) = self.drawer(number, next);
            if low.at() == at { drawer.starting(count, at) } else { None }
        })
    }

    /// All spots of a cabinet.
    pub(super) fn spots(&self, number: u32) -> impl Iterator<Item = Spot> {
        let columns = self.cabinets[number as usize].columns.iter();
        let drawers = columns.flat_map(|column| column.drawers.iter().zip(&column.counts));
        drawers.flat_map(|(&drawer, &count)| {
            self.drawers.get(drawer).spots(usize::from(count)).iter().copied()
        })
    }

    /// Begins to load a drawer.
    #[inline]
    pub(super) fn touch(&self, number: u32, place: Place) {
        let (drawer, count) = self.drawer(number, place);
        drawer.touch(count);
    }

    /// Begins to load the drawer that will be the first soon.
    fn touch_second(&self, number: u32) {
        if let Some((second, _)) = self.cabinets[number as usize].behind(FIRST) {
            self.touch(number, second);
        }
    }

    /// A drawer, and how many are in it.
    #[inline]
    fn drawer(&self, number: u32, place: Place) -> (&Drawer, usize) {
        let column = &self.cabinets[number as usize].columns[place.column as usize];
        let (drawer, count) = column.drawer(place);
        (self.drawers.get(drawer), count)
    }

    #[inline]
    fn drawer_mut(&mut self, number: u32, place: Place) -> (&mut Drawer, &mut u8) {
        let column = &mut self.cabinets[number as usize].columns[place.column as usize];
        let drawer = column.drawers[place.drawer as usize];
        (self.drawers.get_mut(drawer), &mut column.counts[place.drawer as usize])
    }

    /// Gives a drawer up that is empty, and joins one that is nearly so with one beside it: sparse
    /// drawers would take more memory than what is in them. The first is left to become empty.
    #[cold]
    fn shrink(&mut self, number: u32, place: Place) {
        let cabinet = &mut self.cabinets[number as usize];
        let column = &cabinet.columns[place.column as usize];
        let at = place.drawer as usize;
        if column.counts[at] == 0 {
            if column.drawers.len() > 1 || cabinet.columns.len() > 1 {
                self.drawers.remove(cabinet.remove(place));
                if place == FIRST {
                    self.sort_first(number);
                }
            }
            return;
        }
        let fits = |lower: usize| {
            let both = column.counts.get(lower..lower + 2);
            both.is_some_and(|both| usize::from(both[0]) + usize::from(both[1]) <= JOINED)
        };
        let lower = [Some(at), at.checked_sub(1)].into_iter().flatten().find(|&at| fits(at));
        if let Some(lower) = lower {
            self.join(number, Place { drawer: lower as u32, ..place });
        }
    }

    /// Joins the drawer at a place with the one behind it.
    fn join(&mut self, number: u32, lower: Place) {
        let upper = Place { drawer: lower.drawer + 1, ..lower };
        let (drawer, count) = self.drawer(number, upper);
        let joined = *drawer;
        let (drawer, more) = self.drawer_mut(number, lower);
        drawer.join(usize::from(*more), joined.spots(count));
        *more += count as u8;
        self.drawers.remove(self.cabinets[number as usize].remove(upper));
        if lower == FIRST {
            self.sort_first(number);
        }
    }

    /// Puts the first drawer in order, as another one is the first now or more are in it.
    fn sort_first(&mut self, number: u32) {
        let (drawer, count) = self.drawer_mut(number, FIRST);
        drawer.sort(usize::from(*count));
    }
}

impl Cabinet {
    /// Whether a spot is, or belongs, in the drawer at a place, if there is one.
    #[inline]
    fn spans(&self, place: Place, spot: Spot) -> bool {
        let Place { column, drawer } = place;
        let Some(column) = self.columns.get(column as usize) else { return false };
        let Some(low) = column.lows.get(drawer as usize) else { return false };
        let next = column.lows.get(drawer as usize + 1);
        let next = next.or_else(|| self.lows.get(place.column as usize + 1));
        low.key() <= spot.key() && next.is_none_or(|next| spot.key() < next.key())
    }

    fn find(&self, spot: Spot) -> Place {
        let column = self.lows.position(spot);
        let drawer = self.columns[column].lows.position(spot);
        Place { column: column as u32, drawer: drawer as u32 }
    }

    /// The drawer behind one, and where it begins.
    fn behind(&self, place: Place) -> Option<(Place, Spot)> {
        let column = &self.columns[place.column as usize];
        if let Some(low) = column.lows.get(place.drawer as usize + 1) {
            return Some((Place { drawer: place.drawer + 1, ..place }, low));
        }
        let low = self.lows.get(place.column as usize + 1)?;
        Some((Place { column: place.column + 1, drawer: 0 }, low))
    }

    /// Puts a drawer with `count` spots that begins at `low` behind the one at a place.
    fn insert(&mut self, place: Place, low: Spot, drawer: u32, count: usize) {
        let at = place.column as usize;
        let column = &mut self.columns[at];
        column.lows.insert(place.drawer as usize + 1, low);
        column.drawers.insert(place.drawer as usize + 1, drawer);
        column.counts.insert(place.drawer as usize + 1, count as u8);
        if column.drawers.len() > DRAWERS {
            let half = column.drawers.len() / 2;
            let upper = Column {
                lows: column.lows.split_off(half),
                drawers: column.drawers.split_off(half),
                counts: column.counts.split_off(half),
            };
            self.lows.insert(at + 1, upper.lows.get(0).expect("half a column is not empty"));
            self.columns.insert(at + 1, upper);
        }
    }

    /// Takes a drawer out, which is not the only one: what it spanned falls to the one before it, or
    /// for the first to the one behind.
    fn remove(&mut self, place: Place) -> u32 {
        let at = place.column as usize;
        let column = &mut self.columns[at];
        let gone = column.drawers.remove(place.drawer as usize);
        column.counts.remove(place.drawer as usize);
        if column.drawers.is_empty() {
            self.columns.remove(at);
            self.lows.forget(at);
            self.columns[0].lows.begin_least();
        } else {
            column.lows.forget(place.drawer as usize);
        }
        gone
    }
}

impl Column {
    /// A drawer of this column, and how many are in it.
    #[inline]
    fn drawer(&self, place: Place) -> (u32, usize) {
        let at = place.drawer as usize;
        (self.drawers[at], usize::from(self.counts[at]))
    }
}

/// The first drawer of a cabinet, the one in order.
const FIRST: Place = Place { column: 0, drawer: 0 };

/// The second drawer is loaded when so many are left in the first.
const SOON: usize = 3;

/// Drawers in a column at most.
const DRAWERS: usize = 128;

/// Drawers in one piece of memory.
const PIECE: usize = 64;

/// So many spots in two drawers fit well into one.
const JOINED: usize = WIDTH * 3 / 4;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A long life of two cabinets against plain sets: `step` chooses what comes next. Guesses are wrong
    /// as often as not.
    fn exercise(mut step: impl FnMut(u64, u64) -> (u64, u32)) {
        let mut cabinets = Cabinets::default();
        let numbers = [cabinets.make(), cabinets.make()];
        let mut models: [BTreeSet<(u64, u32)>; 2] = Default::default();
        let (mut guess, mut state) = (Place::default(), 1_u64);
        for count in 0..60_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let which = (state >> 13) as usize % 2;
            let (number, model) = (numbers[which], &mut models[which]);
            let (at, slot) = step(count, state >> 20);
            let growing = (count >> 14).is_multiple_of(2);
            if model.remove(&(at, slot)) {
                assert!(cabinets.remove(number, guess, Spot::new(at, slot)));
            } else if growing || model.is_empty() || state >> 62 == 0 {
                cabinets.add(number, guess, Spot::new(at, slot));
                model.insert((at, slot));
            } else {
                assert!(!cabinets.remove(number, guess, Spot::new(at, slot)));
                let (at, slot) = model.pop_first().unwrap();
                assert!(cabinets.remove(number, guess, Spot::new(at, slot)));
            }
            guess = cabinets.find(number, guess, Spot::new(at, 0));
            let starting = model.range((at, 0)..=(at, u32::MAX)).next().copied();
            let found = cabinets.starting(number, guess, at);
            assert_eq!(found.map(|spot| (spot.at(), spot.slot)), starting);
            let lowest = cabinets.lowest(number);
            assert_eq!(lowest.map(|spot| (spot.at(), spot.slot)), model.first().copied());
            if count % 4_096 == 0 {
                let spots = cabinets.spots(number).map(|spot| (spot.at(), spot.slot));
                assert_eq!(spots.collect::<BTreeSet<_>>(), *model);
            }
        }
        numbers.into_iter().for_each(|number| cabinets.free(number));
        assert!(cabinets.drawers.is_empty() && cabinets.cabinets.is_empty());
    }

    #[test]
    fn agree_with_sets_whatever_comes() {
        exercise(|_, random| (random % 5_000, (random >> 30) as u32 % 2));
        exercise(|_, random| (random << 20, random as u32));
        exercise(|count, _| (count * 4_096, 7));
        exercise(|count, _| (u64::MAX - count * 4_096, 7));
        exercise(|count, random| (count % 3, random as u32 % 60_000));
    }

    #[test]
    fn sparse_drawers_are_joined() {
        let mut cabinets = Cabinets::default();
        let number = cabinets.make();
        let spot = |at: u32| Spot::new(at.into(), at);
        (0..100_000).for_each(|at| cabinets.add(number, Place::default(), spot(at)));
        let full = cabinets.drawers.len();
        assert!(full < 100_000 / (WIDTH - 3), "{full} drawers for spots in ascending order");
        let gone = (0..100_000).filter(|at| at % 100 != 0);
        gone.for_each(|at| assert!(cabinets.remove(number, Place::default(), spot(at))));
        assert!(cabinets.drawers.len() < 80, "{} drawers for 1,000", cabinets.drawers.len());
    }
}
