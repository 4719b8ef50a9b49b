//! A drawer: some places next to each other, in one piece of memory.
//!
//! How many are in it is known outside, where it stays in the cache. So to put one in is to write it
//! behind the others, which nothing waits for, however cold the memory.

use std::cmp::Reverse;

use crate::queue::ask;
use crate::queue::boxes::Spot;

/// Up to [`WIDTH`] spots as they came; or in order, the lowest last, so that it leaves without anything
/// else being moved.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Drawer([Spot; WIDTH]);

impl Drawer {
    /// Nothing in it.
    pub(super) const EMPTY: Drawer = Drawer([Spot::new(0, 0); WIDTH]);

    /// Puts a spot behind `count` others.
    #[inline]
    pub(super) fn add(&mut self, count: usize, spot: Spot) {
        self.0[count] = spot;
    }

    /// Puts a spot where it belongs among `count` in order.
    pub(super) fn add_sorted(&mut self, count: usize, spot: Spot) {
        let at = self.0[..count].partition_point(|other| other.key() > spot.key());
        self.0.copy_within(at..count, at + 1);
        self.0[at] = spot;
    }

    /// Takes a spot out of `count`; whether it was there.
    #[inline]
    pub(super) fn remove(&mut self, count: usize, spot: Spot) -> bool {
        let Some(at) = self.find(count, spot) else { return false };
        self.0[at] = self.0[count - 1];
        true
    }

    /// Takes a spot out of `count` in order; whether it was there.
    #[inline]
    pub(super) fn remove_sorted(&mut self, count: usize, spot: Spot) -> bool {
        if self.0[..count].last() == Some(&spot) {
            return true; // It was the lowest, as most are.
        }
        let Some(at) = self.find(count, spot) else { return false };
        self.0.copy_within(at + 1..count, at);
        true
    }

    #[inline]
    fn find(&self, count: usize, spot: Spot) -> Option<usize> {
        self.0[..count].iter().position(|other| other.slot == spot.slot && *other == spot)
    }

    /// The spot that begins at an offset, among `count`; of several the lowest.
    #[inline]
    pub(super) fn starting(&self, count: usize, at: u64) -> Option<Spot> {
        let same = self.0[..count].iter().filter(|spot| spot.at() == at);
        same.min_by_key(|spot| spot.slot).copied()
    }

    /// The same if they are in order: the lowest are asked first.
    #[inline]
    pub(super) fn starting_sorted(&self, count: usize, at: u64) -> Option<Spot> {
        let next = self.0[..count].iter().rfind(|spot| spot.at() >= at);
        next.filter(|spot| spot.at() == at).copied()
    }

    /// Parts with the upper half of all, which are as many as there is room for; with the highest alone
    /// if that is what came last, as those that come in ascending order would leave halves behind. How
    /// many stay is told as well, and the lowest of those that go.
    pub(super) fn split(&mut self, last: Spot) -> (usize, Spot, Drawer) {
        let highest = self.0.iter().all(|spot| spot.key() <= last.key());
        let upper = if highest { 1 } else { WIDTH / 2 };
        self.0.select_nth_unstable_by_key(upper - 1, |spot| Reverse(spot.key()));
        let mut parted = Drawer::EMPTY;
        parted.0[..upper].copy_from_slice(&self.0[..upper]);
        self.0.copy_within(upper.., 0);
        (WIDTH - upper, parted.0[upper - 1], parted)
    }

    /// Takes in the spots of another drawer.
    pub(super) fn join(&mut self, count: usize, other: &[Spot]) {
        self.0[count..count + other.len()].copy_from_slice(other);
    }

    /// Puts `count` spots in order.
    pub(super) fn sort(&mut self, count: usize) {
        self.0[..count].sort_unstable_by_key(|spot| Reverse(spot.key()));
    }

    /// Begins to load all that `count` spots lie on.
    #[inline]
    pub(super) fn touch(&self, count: usize) {
        let spots = &self.0[..count];
        spots.iter().step_by(LINE).chain(spots.last()).for_each(ask);
    }

    /// The lowest of `count` in order.
    #[inline]
    pub(super) fn lowest(&self, count: usize) -> Option<Spot> {
        self.0[..count].last().copied()
    }

    /// All `count` spots.
    #[inline]
    pub(super) fn spots(&self, count: usize) -> &[Spot] {
        &self.0[..count]
    }
}

/// Spots in a drawer at most: they fill twelve lines of the cache.
pub(super) const WIDTH: usize = 64;

/// Spots to a line of the cache.
const LINE: usize = 5;
