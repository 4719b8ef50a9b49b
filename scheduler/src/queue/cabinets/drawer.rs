//! A drawer: some places next to each other, in one piece of memory that is loaded as a whole.

use crate::queue::ask;
use crate::queue::boxes::Spot;

/// Up to [`WIDTH`] spots in order. The lowest stands last, as it leaves most often: nothing has to
/// move then.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Drawer {
    count: u32,
    spots: [Spot; WIDTH],
}

impl Drawer {
    /// Nothing in it.
    pub(super) const EMPTY: Drawer = Drawer { count: 0, spots: [Spot::new(0, 0); WIDTH] };

    /// Adds a spot; there must be room.
    pub(super) fn add(&mut self, spot: Spot) {
        let (at, count) = (self.from(spot), self.count as usize);
        self.spots.copy_within(at..count, at + 1);
        self.spots[at] = spot;
        self.count += 1;
    }

    /// Takes a spot out; whether it was there.
    pub(super) fn remove(&mut self, spot: Spot) -> bool {
        let at = self.from(spot);
        let known = at > 0 && self.spots[at - 1] == spot;
        if known {
            self.spots.copy_within(at..self.count as usize, at - 1);
            self.count -= 1;
        }
        known
    }

    /// The lowest from one on.
    #[inline]
    pub(super) fn lowest_from(&self, spot: Spot) -> Option<Spot> {
        self.spots()[..self.from(spot)].last().copied()
    }

    /// Parts with the upper half; with the highest alone if that is what came last, as those that
    /// come in ascending order would leave halves behind.
    pub(super) fn split(&mut self, last: Spot) -> Drawer {
        let count = self.count as usize;
        let upper = if self.spots[0] == last { 1 } else { count / 2 };
        let mut parted = Drawer::EMPTY;
        parted.spots[..upper].copy_from_slice(&self.spots[..upper]);
        parted.count = upper as u32;
        self.spots.copy_within(upper..count, 0);
        self.count -= upper as u32;
        parted
    }

    /// Takes in the spots of the drawer behind.
    pub(super) fn join(&mut self, upper: &Drawer) {
        let (count, more) = (self.count as usize, upper.count as usize);
        self.spots.copy_within(..count, more);
        self.spots[..more].copy_from_slice(upper.spots());
        self.count += upper.count;
    }

    /// Begins to load all of it.
    #[inline]
    pub(super) fn touch(&self) {
        self.spots.iter().step_by(LINE).for_each(ask);
    }

    /// All spots, the lowest last.
    #[inline]
    pub(super) fn spots(&self) -> &[Spot] {
        &self.spots[..self.count as usize]
    }

    /// The lowest.
    #[inline]
    pub(super) fn lowest(&self) -> Option<Spot> {
        self.spots().last().copied()
    }

    pub(super) const fn len(&self) -> usize {
        self.count as usize
    }

    /// How many there are from a spot on.
    #[inline]
    fn from(&self, spot: Spot) -> usize {
        let key = spot.key();
        self.spots().partition_point(|other| other.key() >= key)
    }
}

/// Spots in a drawer at most: with their number they fill twelve lines of the cache.
pub(super) const WIDTH: usize = 63;

/// Spots to a line of the cache.
const LINE: usize = 5;
