//! Counting: means, and how values are spread, in integers only.
//!
//! Finer than the scheduler's own histogram, whose steps are powers of two and cost less to keep: two
//! policies may differ in a latency by a tenth.

/// How many there were and what they add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mean {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
}

impl Mean {
    /// Takes a value in.
    pub const fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += value as u128;
    }

    /// The mean, rounded down; zero of nothing.
    pub const fn mean(&self) -> u64 {
        self.times(1)
    }

    /// The mean times a factor, for fixed-point output.
    pub const fn times(&self, factor: u64) -> u64 {
        if self.count == 0 { 0 } else { (self.sum * factor as u128 / self.count as u128) as u64 }
    }
}

/// A histogram whose steps grow with the value: a quantile is exact to an eighth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Count and sum of the values.
    pub mean: Mean,
    /// The largest value.
    pub max: u64,
    buckets: Vec<u64>,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread { mean: Mean::default(), max: 0, buckets: vec![0; bucket(u64::MAX) + 1] }
    }
}

impl Spread {
    /// Takes a value in.
    pub fn add(&mut self, value: u64) {
        self.mean.add(value);
        self.max = self.max.max(value);
        self.buckets[bucket(value)] += 1;
    }

    /// A value that `permille` of the values do not exceed, at most an eighth too high.
    pub fn quantile(&self, permille: u64) -> u64 {
        let wanted = (u128::from(self.mean.count) * u128::from(permille)).div_ceil(1000) as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return ceiling(index).min(self.max);
            }
        }
        self.max
    }
}

/// Eight steps to each doubling; the smallest values have one each.
const fn bucket(value: u64) -> usize {
    if value < 8 {
        return value as usize;
    }
    let doubling = value.ilog2();
    let step = (value >> (doubling - 3)) & 7;
    ((doubling as usize - 2) << 3) + step as usize
}

/// The largest value of a bucket.
const fn ceiling(bucket: usize) -> u64 {
    if bucket < 8 {
        return bucket as u64;
    }
    let (doubling, step) = ((bucket >> 3) as u32 + 2, (bucket & 7) as u64);
    let size = 1 << (doubling - 3);
    (8 + step) * size + (size - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_at_its_ceiling() {
        for value in [0, 1, 7, 8, 9, 15, 16, 17, 100, 12_345, u64::MAX / 3, u64::MAX] {
            let index = bucket(value);
            assert!(ceiling(index) >= value, "{value}");
            assert_eq!(bucket(ceiling(index)), index, "{value}");
            assert!(ceiling(index) - value <= value / 8, "{value}");
        }
    }

    #[test]
    fn quantiles_of_a_ramp() {
        let mut spread = Spread::default();
        assert_eq!((spread.quantile(500), spread.mean.mean()), (0, 0));
        for value in 1..=1000 {
            spread.add(value);
        }
        assert_eq!(spread.mean.times(10), 5005);
        assert_eq!(spread.max, 1000);
        assert!((500..=563).contains(&spread.quantile(500)), "{}", spread.quantile(500));
        assert_eq!(spread.quantile(1000), 1000);
        assert_eq!(spread.quantile(0), 1);
    }
}
