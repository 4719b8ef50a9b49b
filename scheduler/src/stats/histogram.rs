//! Counts by power of two: exact sum and count, a bucket for each bit length, no floats.

/// How often values of each magnitude occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; 65],
    count: u64,
    sum: u128,
    largest: u64,
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.buckets[(64 - value.leading_zeros()) as usize] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.largest = self.largest.max(value);
    }

    /// Number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the values.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The average, rounded down; zero if there is no value.
    pub fn average(&self) -> u64 {
        let average = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        u64::try_from(average).expect("an average of u64 values is one")
    }

    /// The largest value.
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    /// A bound that this share of the values, in thousandths, does not pass.
    pub fn quantile(&self, thousandths: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(thousandths)).div_ceil(1_000);
        let mut seen = 0_u128;
        for (bound, count) in self.buckets() {
            seen += u128::from(count);
            if seen >= rank && seen > 0 {
                return bound.min(self.largest);
            }
        }
        self.largest
    }

    /// The buckets that are not empty: the largest value that would fall in it, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let bound = |bits: usize| if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let all = self.buckets.iter().enumerate();
        all.filter(|&(_, &count)| count > 0).map(move |(bits, &count)| (bound(bits), count))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: [0; 65], count: 0, sum: 0, largest: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_values_by_magnitude() {
        let mut histogram = Histogram::default();
        [0, 1, 2, 3, 4, 1_000, u64::MAX].into_iter().for_each(|value| histogram.record(value));
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets, [(0, 1), (1, 1), (3, 2), (7, 1), (1_023, 1), (u64::MAX, 1)]);
        assert_eq!((histogram.count(), histogram.largest()), (7, u64::MAX));
        assert_eq!(histogram.quantile(500), 3);
    }

    #[test]
    fn averages_exactly_and_knows_nothing_of_nothing() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.average(), histogram.quantile(990)), (0, 0));
        [10, 20, 33].into_iter().for_each(|value| histogram.record(value));
        assert_eq!((histogram.average(), histogram.quantile(1_000)), (21, 33));
    }
}
