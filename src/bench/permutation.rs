//! A random order of the numbers below a bound, without a table: every number once, any position
//! answered at once, so that each process knows its own requests without a word to the others.

use super::content::stir;

/// A Feistel network over the next power of four; what falls outside is sent through again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permutation {
    size: u64,
    half: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// An order of the numbers below `size` that `seed` decides.
    pub(super) const fn new(size: u64, seed: u64) -> Permutation {
        let bits = if size < 2 { 0 } else { 64 - (size - 1).leading_zeros() };
        let keys = [stir(seed), stir(seed ^ 1), stir(seed ^ 2), stir(seed ^ 3)];
        Permutation { size, half: bits.div_ceil(2), keys }
    }

    /// The number at a position below the size.
    pub(super) fn at(&self, position: u64) -> u64 {
        let mut number = position;
        loop {
            number = self.swap(number);
            // The network maps a superset onto itself, so the walk comes back below the size.
            if number < self.size {
                return number;
            }
        }
    }

    fn swap(&self, number: u64) -> u64 {
        let mask = (1_u64 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (stir(right ^ key) & mask));
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_comes_once(size in 1_u64..5_000, seed: u64) {
            let permutation = Permutation::new(size, seed);
            let mut seen: Vec<u64> = (0..size).map(|position| permutation.at(position)).collect();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..size));
        }
    }

    #[test]
    fn the_order_is_the_seeds_and_no_simple_one() {
        let order = |seed| (0..1_000).map(move |p| Permutation::new(1_000, seed).at(p));
        assert!(order(1).eq(order(1)));
        assert!(order(1).ne(order(2)));
        let neighbours =
            order(1).zip(order(1).skip(1)).filter(|(a, b)| a.abs_diff(*b) < 10).count();
        assert!(neighbours < 60, "{neighbours} of 999 lie close to the one before");
    }
}
