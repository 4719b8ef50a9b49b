//! An ordered set of numbers in few and wide pieces, for sets that are larger than the cache.
//!
//! Three levels, however many numbers there are: branches, leaves, numbers. What is needed to find a
//! leaf is small enough to stay in the cache, and a newcomer is put at the end of its leaf unsorted,
//! so that it costs one line of cold memory where a tree of narrow nodes costs one for each level.

mod leaf;

use std::ops::Range;

use leaf::{Leaf, WIDTH};

/// Numbers of up to 128 bits, each at most once, in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Sorted {
    /// Where each branch begins; nothing less is in it, but for the first.
    lows: Vec<u128>,
    branches: Vec<Branch>,
}

#[derive(Clone, Debug, Default)]
struct Branch {
    /// Where each leaf begins, likewise.
    lows: Vec<u128>,
    /// None of them is empty, but for the last that is left in a set.
    leaves: Vec<Leaf>,
}

impl Sorted {
    /// An empty set.
    pub const fn new() -> Sorted {
        Sorted { lows: Vec::new(), branches: Vec::new() }
    }

    /// Adds a number, which must not be there.
    pub fn insert(&mut self, key: u128) {
        if self.branches.is_empty() {
            self.lows.push(0);
            self.branches.push(Branch { lows: vec![0], leaves: vec![Leaf::default()] });
        }
        let at = position(&self.lows, key);
        let branch = &mut self.branches[at];
        branch.insert(key);
        if branch.leaves.len() > LEAVES {
            let upper = branch.split();
            self.lows.insert(at + 1, upper.lows[0]);
            self.branches.insert(at + 1, upper);
        }
    }

    /// Takes a number out; whether it was there.
    pub fn remove(&mut self, key: u128) -> bool {
        let at = position(&self.lows, key);
        let Some(branch) = self.branches.get_mut(at) else { return false };
        let known = branch.remove(key);
        if branch.is_empty() && self.lows.len() > 1 {
            self.branches.remove(at);
            forget(&mut self.lows, at);
        }
        known
    }

    /// The least number from one on.
    pub fn first_from(&self, key: u128) -> Option<u128> {
        let at = position(&self.lows, key);
        let branch = self.branches.get(at)?;
        branch.first_from(key).or_else(|| self.branches.get(at + 1)?.first_from(key))
    }

    /// The least number.
    pub fn first(&self) -> Option<u128> {
        self.first_from(0)
    }

    /// Calls `each` with every number of a range, ascending.
    pub fn within(&self, range: Range<u128>, mut each: impl FnMut(u128)) {
        let mut from = range.start;
        while let Some(key) = self.first_from(from).filter(|&key| key < range.end) {
            each(key);
            from = key + 1;
        }
    }

    /// Begins to load what it takes to add a number.
    pub fn expect(&self, key: u128) {
        if let Some(branch) = self.branches.get(position(&self.lows, key)) {
            branch.leaves[position(&branch.lows, key)].expect();
        }
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        *self = Sorted::new();
    }
}

impl Branch {
    fn insert(&mut self, key: u128) {
        let at = position(&self.lows, key);
        let leaf = &mut self.leaves[at];
        leaf.insert(key);
        if leaf.len() == WIDTH {
            let upper = leaf.split(key);
            self.lows.insert(at + 1, upper.low());
            self.leaves.insert(at + 1, upper);
        }
    }

    fn remove(&mut self, key: u128) -> bool {
        let at = position(&self.lows, key);
        let leaf = &mut self.leaves[at];
        let known = leaf.remove(key);
        if self.lows.len() == 1 || leaf.len() >= WIDTH / 4 {
            return known;
        }
        if leaf.len() == 0 {
            self.leaves.remove(at);
            forget(&mut self.lows, at);
        } else {
            self.join(at);
            self.join(at.saturating_sub(1));
        }
        known
    }

    /// Joins a leaf with the next if both are small: sparse leaves would take more memory than what
    /// is in them.
    fn join(&mut self, at: usize) {
        let next = self.leaves.get(at + 1).map_or(WIDTH, Leaf::len);
        if self.leaves[at].len() + next <= WIDTH / 2 {
            let upper = self.leaves.remove(at + 1);
            self.lows.remove(at + 1);
            self.leaves[at].append(upper);
        }
    }

    fn is_empty(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.len() == 0)
    }

    fn split(&mut self) -> Branch {
        let half = self.leaves.len() / 2;
        Branch { lows: self.lows.split_off(half), leaves: self.leaves.split_off(half) }
    }

    fn first_from(&self, key: u128) -> Option<u128> {
        let at = position(&self.lows, key);
        self.leaves[at].first_from(key).or_else(|| self.leaves.get(at + 1)?.first_from(key))
    }
}

/// A group, a place in it and a slot as one number that sorts by them.
pub const fn triple(group: u32, at: u64, slot: u32) -> u128 {
    (group as u128) << 96 | (at as u128) << 32 | slot as u128
}

/// The last of those that begin at a number or before it.
fn position(lows: &[u128], key: u128) -> usize {
    lows.partition_point(|&low| low <= key).saturating_sub(1)
}

/// Forgets where a piece begins that is gone: what it spanned falls to the one before it, or for the
/// first to the one behind.
fn forget(lows: &mut Vec<u128>, at: usize) {
    lows.remove(if at == 0 && lows.len() > 1 { 1 } else { at });
}

/// Leaves in a branch at most: where they begin takes 4 KiB.
const LEAVES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A long life against the standard library's set: `step` chooses what comes next.
    fn exercise(mut step: impl FnMut(u64, u64) -> u128) {
        let (mut sorted, mut model, mut state) = (Sorted::new(), BTreeSet::new(), 1_u64);
        for count in 0..30_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = step(count, state >> 20);
            let growing = (count >> 12).is_multiple_of(2);
            if model.contains(&key) {
                assert!(sorted.remove(key) && model.remove(&key));
            } else if growing || model.is_empty() || state >> 62 == 0 {
                sorted.insert(key);
                model.insert(key);
            } else {
                assert!(!sorted.remove(key));
                let first = sorted.first_from(key).or_else(|| sorted.first());
                let first = first.expect("there is one");
                assert!(model.remove(&first) && sorted.remove(first));
            }
            assert_eq!(sorted.first(), model.first().copied());
            assert_eq!(sorted.first_from(key), model.range(key..).next().copied());
        }
        while let Some(key) = model.pop_first() {
            assert_eq!(sorted.first(), Some(key));
            assert!(sorted.remove(key));
        }
        assert!(sorted.branches.len() == 1 && sorted.branches[0].is_empty());
    }

    #[test]
    fn agrees_with_a_set_whatever_comes() {
        exercise(|_, random| u128::from(random % 5_000));
        exercise(|_, random| u128::from(random) << 70 | u128::from(random));
        exercise(|count, _| u128::from(count));
        exercise(|count, _| u128::from(u64::MAX - count));
        exercise(|count, random| u128::from(count % 64) << 96 | u128::from(random % 4_096) << 32);
    }

    #[test]
    fn sparse_leaves_are_joined() {
        let mut sorted = Sorted::new();
        (0..100_000).for_each(|key| sorted.insert(key));
        (0..100_000).filter(|key| key % 100 != 0).for_each(|key| assert!(sorted.remove(key)));
        let leaves: usize = sorted.branches.iter().map(|branch| branch.leaves.len()).sum();
        assert!(leaves < 100, "{leaves} leaves for 1,000 numbers");
    }
}
