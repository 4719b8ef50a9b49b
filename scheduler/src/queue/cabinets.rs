//! Ordered sets of places, one for each lane with very many.
//!
//! Three levels, however many places there are: columns, drawers, places. What is needed to find a
//! drawer is small enough to stay in the cache, and a drawer is loaded as a whole. To find one takes
//! longer than to look into it; so whoever has looked for one says where it was.

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
}

/// Where a drawer is: its column and its place there.
#[derive(Clone, Copy, Debug, Default)]
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
        let column = Column { lows: Lows::one(), drawers: vec![drawer] };
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
    pub(super) fn add(&mut self, number: u32, guess: Place, spot: Spot) {
        let place = self.find(number, guess, spot);
        let drawer = self.drawer_mut(number, place);
        drawer.add(spot);
        if drawer.len() == WIDTH {
            let upper = drawer.split(spot);
            let low = upper.lowest().expect("half a drawer is not empty");
            let upper = self.drawers.insert(upper);
            self.cabinets[number as usize].insert(place, low, upper);
        }
    }

    /// Takes a spot out; whether it was there.
    pub(super) fn remove(&mut self, number: u32, guess: Place, spot: Spot) -> bool {
        let place = self.find(number, guess, spot);
        let drawer = self.drawer_mut(number, place);
        let known = drawer.remove(spot);
        if drawer.len() < WIDTH / 4 {
            self.shrink(number, place);
        }
        known
    }

    /// The lowest spot.
    #[inline]
    pub(super) fn lowest(&self, number: u32) -> Option<Spot> {
        self.drawer(number, Place::default()).lowest()
    }

    /// The spot that begins at an offset, near `guess` most likely; of several the lowest.
    #[inline]
    pub(super) fn starting(&self, number: u32, guess: Place, at: u64) -> Option<Spot> {
        let from = Spot::new(at, 0);
        let place = self.find(number, guess, from);
        let found = self.drawer(number, place).lowest_from(from);
        let found = found.or_else(|| {
            // Only where the next drawer begins with that offset can it have such a spot.
            let (next, low) = self.cabinets[number as usize].behind(place)?;
            if low.at() == at { self.drawer(number, next).lowest() } else { None }
        });
        found.filter(|spot| spot.at() == at)
    }

    /// All spots of a cabinet, ascending.
    pub(super) fn spots(&self, number: u32) -> impl Iterator<Item = Spot> {
        let columns = self.cabinets[number as usize].columns.iter();
        let drawers = columns.flat_map(|column| &column.drawers);
        drawers.flat_map(|&drawer| self.drawers.get(drawer).spots().iter().rev().copied())
    }

    /// Begins to load a drawer.
    #[inline]
    pub(super) fn touch(&self, number: u32, place: Place) {
        self.drawer(number, place).touch();
    }

    #[inline]
    fn drawer(&self, number: u32, place: Place) -> &Drawer {
        self.drawers.get(self.cabinets[number as usize].drawer(place))
    }

    #[inline]
    fn drawer_mut(&mut self, number: u32, place: Place) -> &mut Drawer {
        self.drawers.get_mut(self.cabinets[number as usize].drawer(place))
    }

    /// Gives a drawer up that is empty, and joins one that is nearly so with one beside it: sparse
    /// drawers would take more memory than what is in them.
    #[cold]
    fn shrink(&mut self, number: u32, place: Place) {
        let column = &self.cabinets[number as usize].columns[place.column as usize];
        let (at, drawers) = (place.drawer as usize, column.drawers.len());
        if self.drawer(number, place).len() == 0 {
            if drawers > 1 || self.cabinets[number as usize].columns.len() > 1 {
                let gone = self.cabinets[number as usize].remove(place);
                self.drawers.remove(gone);
            }
            return;
        }
        for at in [at, at.wrapping_sub(1)] {
            if at.wrapping_add(1) < drawers && at != usize::MAX {
                let lower = Place { drawer: at as u32, ..place };
                let upper = Place { drawer: at as u32 + 1, ..place };
                let joined = *self.drawer(number, upper);
                if self.drawer(number, lower).len() + joined.len() <= JOINED {
                    self.drawer_mut(number, lower).join(&joined);
                    let gone = self.cabinets[number as usize].remove(upper);
                    self.drawers.remove(gone);
                    return;
                }
            }
        }
    }
}

impl Cabinet {
    #[inline]
    fn drawer(&self, place: Place) -> u32 {
        self.columns[place.column as usize].drawers[place.drawer as usize]
    }

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

    /// Puts a drawer that begins at `low` behind the one at a place.
    fn insert(&mut self, place: Place, low: Spot, drawer: u32) {
        let at = place.column as usize;
        let column = &mut self.columns[at];
        column.lows.insert(place.drawer as usize + 1, low);
        column.drawers.insert(place.drawer as usize + 1, drawer);
        if column.drawers.len() > DRAWERS {
            let half = column.drawers.len() / 2;
            let upper = Column {
                lows: column.lows.split_off(half),
                drawers: column.drawers.split_off(half),
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
                assert!(spots.eq(model.iter().copied()));
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
