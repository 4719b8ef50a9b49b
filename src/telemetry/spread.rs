//! How values are spread: counts by power of two, from which shares are estimated.

use serde::{Deserialize, Serialize};

/// Counts of values, each bucket with the largest value that falls in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest of them.
    pub largest: u64,
    /// Bounds and counts of the buckets that are not empty.
    pub buckets: Vec<(u64, u64)>,
}

impl Spread {
    /// The value that this share, in thousandths, does not pass: exact to the bucket, and even
    /// inside it.
    pub fn quantile(&self, thousandths: u64) -> u64 {
        let rank = (self.count as f64 * thousandths as f64 / 1000.0).max(1.0);
        let mut below = 0.0;
        for &(bound, count) in &self.buckets {
            let count = count as f64;
            if count > 0.0 && below + count >= rank {
                let (least, most) = (bound / 2, bound.min(self.largest.max(1)));
                let inside = (rank - below) / count;
                return least + (most.saturating_sub(least) as f64 * inside) as u64;
            }
            below += count;
        }
        self.largest
    }

    /// The values that came after an earlier look.
    pub fn since(&self, earlier: &Spread) -> Spread {
        let before = |bound: u64| {
            let found = earlier.buckets.iter().find(|(other, _)| *other == bound);
            found.map_or(0, |(_, count)| *count)
        };
        let left = |(bound, count): &(u64, u64)| (*bound, count.saturating_sub(before(*bound)));
        Spread {
            count: self.count.saturating_sub(earlier.count),
            sum: self.sum.saturating_sub(earlier.sum),
            largest: self.largest,
            buckets: self.buckets.iter().map(left).filter(|(_, count)| *count > 0).collect(),
        }
    }

    /// Both together.
    pub fn with(&self, other: &Spread) -> Spread {
        let mut buckets: std::collections::BTreeMap<u64, u64> =
            self.buckets.iter().copied().collect();
        for (bound, count) in &other.buckets {
            *buckets.entry(*bound).or_default() += count;
        }
        Spread {
            count: self.count + other.count,
            sum: self.sum.saturating_add(other.sum),
            largest: self.largest.max(other.largest),
            buckets: buckets.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread() -> Spread {
        // 10 values up to 1,023 and 90 up to 2,047.
        Spread { count: 100, sum: 100_000, largest: 1_800, buckets: vec![(1_023, 10), (2_047, 90)] }
    }

    #[test]
    fn shares_are_estimated_inside_their_bucket() {
        assert_eq!(Spread::default().quantile(500), 0);
        let spread = spread();
        assert_eq!(spread.quantile(100), 1_023);
        assert_eq!(spread.quantile(1_000), 1_800, "nothing is larger than the largest");
        let half = spread.quantile(500);
        assert!((1_023..1_500).contains(&half), "{half}");
    }

    #[test]
    fn a_difference_has_only_what_came_later_and_a_sum_has_both() {
        let (spread, mut later) = (spread(), spread());
        later.count += 5;
        later.buckets[0].1 += 5;
        let new = later.since(&spread);
        assert_eq!((new.count, new.buckets.as_slice()), (5, &[(1_023, 5)][..]));
        let both = spread.with(&new);
        assert_eq!((both.count, both.buckets), (105, later.buckets));
    }
}
