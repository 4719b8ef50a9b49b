//! A leaf of the ordered set: numbers in order, and behind them the last few as they came.

use crate::queue::ask;

/// Some numbers next to each other in the set; no more than [`WIDTH`].
#[derive(Clone, Debug, Default)]
pub(super) struct Leaf {
    keys: Vec<u128>,
    /// How many of them are in order; the others came since.
    ordered: usize,
}

impl Leaf {
    /// Puts a number behind the others, and all in order if those behind become many.
    pub(super) fn insert(&mut self, key: u128) {
        if self.keys.len() == self.keys.capacity() {
            self.keys.reserve_exact(GROWTH);
        }
        self.keys.push(key);
        if self.keys.len() - self.ordered > LOOSE {
            self.order();
        }
    }

    /// Takes a number out; whether it was there.
    pub(super) fn remove(&mut self, key: u128) -> bool {
        if self.keys.capacity() > self.keys.len() + 2 * GROWTH {
            self.keys.shrink_to(self.keys.len() + GROWTH);
        }
        if let Ok(at) = self.keys[..self.ordered].binary_search(&key) {
            self.keys.remove(at);
            self.ordered -= 1;
            return true;
        }
        let found = self.keys[self.ordered..].iter().position(|&loose| loose == key);
        found.is_some_and(|at| self.keys.swap_remove(self.ordered + at) == key)
    }

    /// The least number from one on.
    pub(super) fn first_from(&self, key: u128) -> Option<u128> {
        let (ordered, loose) = self.keys.split_at(self.ordered);
        let first = ordered.get(ordered.partition_point(|&other| other < key)).copied();
        let least =
            |least: u128, &other: &u128| if other >= key { least.min(other) } else { least };
        let found = loose.iter().fold(first.unwrap_or(u128::MAX), least);
        (found != u128::MAX || first.is_some()).then_some(found)
    }

    /// Parts with the upper half; with the last alone if that is what came last, as those that come
    /// in ascending order would leave halves behind.
    pub(super) fn split(&mut self, last: u128) -> Leaf {
        self.order();
        let half = self.keys.len() / 2;
        let at = if self.keys.ends_with(&[last]) { self.keys.len() - 1 } else { half };
        let keys = self.keys.split_off(at);
        self.keys.shrink_to_fit();
        self.ordered = at;
        Leaf { ordered: keys.len(), keys }
    }

    /// Takes in the numbers of the leaf behind.
    pub(super) fn append(&mut self, mut upper: Leaf) {
        self.order();
        upper.order();
        self.keys.append(&mut upper.keys);
        self.ordered = self.keys.len();
    }

    /// Begins to load its end, where a newcomer is put.
    #[inline]
    pub(super) fn expect(&self) {
        if let Some(last) = self.keys.last() {
            ask(last);
        }
    }

    /// The least of all, in a leaf that was just split off.
    pub(super) fn low(&self) -> u128 {
        self.keys[0]
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Merges those that came last into the others, from behind.
    fn order(&mut self) {
        let mut came = [0; LOOSE + 1];
        let count = self.keys.len() - self.ordered;
        let came = &mut came[..count];
        came.copy_from_slice(&self.keys[self.ordered..]);
        came.sort_unstable();
        let (mut from, mut to) = (self.ordered, self.keys.len());
        for &key in came.iter().rev() {
            while from > 0 && self.keys[from - 1] > key {
                (from, to) = (from - 1, to - 1);
                self.keys[to] = self.keys[from];
            }
            to -= 1;
            self.keys[to] = key;
        }
        self.ordered = self.keys.len();
    }
}

/// Numbers in a leaf at most: to look one up in 2 KiB of cold memory takes few loads that wait for each
/// other.
pub(super) const WIDTH: usize = 128;

/// Places that a full leaf gets at once: twice as many as it has would stay half empty.
const GROWTH: usize = 8;

/// Numbers that may stand out of order: few enough to look through.
const LOOSE: usize = 7;
