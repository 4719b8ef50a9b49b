//! How long requests took: a log-linear histogram of integers. Recording is a handful of
//! instructions and never allocates; what is read back is at most 1/64 too high.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts in memory that the processes share. One process writes; others read when it rests.
#[repr(C)]
pub(super) struct Recorder {
    sum: AtomicU64,
    smallest: AtomicU64,
    largest: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

/// Nanoseconds that requests took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    count: u64,
    sum: u128,
    smallest: u64,
    largest: u64,
    buckets: Vec<u64>,
}

impl Recorder {
    /// Counts one request.
    #[inline]
    pub(super) fn record(&self, nanos: u64) {
        // There is one writer: a load and a store do, and no locked instruction is paid for.
        let add = |to: &AtomicU64, value| to.store(to.load(Relaxed).wrapping_add(value), Relaxed);
        add(&self.buckets[bucket(nanos)], 1);
        add(&self.sum, nanos);
        // Kept inverted, so that fresh memory, all zero, means "none yet".
        if !nanos > self.smallest.load(Relaxed) {
            self.smallest.store(!nanos, Relaxed);
        }
        if nanos > self.largest.load(Relaxed) {
            self.largest.store(nanos, Relaxed);
        }
    }

    /// What was counted since the last time; starts again from nothing.
    pub(super) fn take(&self) -> Latency {
        let buckets: Vec<u64> = self.buckets.iter().map(|one| one.swap(0, Relaxed)).collect();
        Latency {
            count: buckets.iter().sum(),
            sum: self.sum.swap(0, Relaxed).into(),
            smallest: !self.smallest.swap(0, Relaxed),
            largest: self.largest.swap(0, Relaxed),
            buckets,
        }
    }
}

impl Latency {
    /// Adds what another one has.
    pub fn add(&mut self, other: &Latency) {
        self.count += other.count;
        self.sum += other.sum;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(own, more)| *own += more);
    }

    /// How many requests.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The fastest; zero if there is none.
    pub fn smallest(&self) -> u64 {
        if self.count == 0 { 0 } else { self.smallest }
    }

    /// The slowest.
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    /// The average, rounded down.
    pub fn mean(&self) -> u64 {
        let mean = self.sum.checked_div(self.count.into()).unwrap_or(0);
        u64::try_from(mean).expect("a mean of u64 values is one")
    }

    /// What this share of the requests, in ten-thousandths, did not exceed.
    pub fn percentile(&self, share: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(share)).div_ceil(10_000).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return bound(index).clamp(self.smallest, self.largest);
            }
        }
        self.largest
    }
}

impl Default for Latency {
    fn default() -> Self {
        Latency { count: 0, sum: 0, smallest: u64::MAX, largest: 0, buckets: vec![0; BUCKETS] }
    }
}

/// The first 128 values have a bucket each; every doubling after that has 64.
const fn bucket(nanos: u64) -> usize {
    let magnitude = (u64::BITS - (nanos | (STEPS - 1)).leading_zeros()) - STEP_BITS;
    let index = magnitude as usize * (STEPS as usize / 2) + (nanos >> magnitude) as usize;
    if index < BUCKETS { index } else { BUCKETS - 1 }
}

/// The largest value in a bucket.
const fn bound(index: usize) -> u64 {
    let half = STEPS / 2;
    let index = index as u64;
    if index < STEPS {
        return index;
    }
    let magnitude = index / half - 1;
    let step = index % half + half;
    ((step + 1) << magnitude) - 1
}

const STEP_BITS: u32 = 7;
const STEPS: u64 = 1 << STEP_BITS;
/// Up to 2^44 ns, nearly five hours; what takes longer counts as that.
const BUCKETS: usize = (STEPS as usize) + (44 - STEP_BITS as usize) * (STEPS as usize / 2);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Latency {
        let recorder = recorder();
        values.iter().for_each(|value| recorder.record(*value));
        recorder.take()
    }

    fn recorder() -> Recorder {
        Recorder {
            sum: AtomicU64::new(0),
            smallest: AtomicU64::new(0),
            largest: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }

    #[test]
    fn buckets_are_numbered_without_a_gap() {
        let mut last = 0;
        for nanos in 0..1_u64 << 20 {
            let index = bucket(nanos);
            assert!(index == last || index == last + 1, "{nanos}: {last} then {index}");
            assert!(nanos <= bound(index) && (index == 0 || nanos > bound(index - 1)));
            last = index;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket((1 << 44) - 1), BUCKETS - 1);
    }

    proptest! {
        #[test]
        fn percentiles_are_right_up_to_a_64th(mut values in prop::collection::vec(0_u64..1 << 43, 1..300), share in 1_u64..=10_000) {
            let found = of(&values).percentile(share);
            values.sort_unstable();
            let exact = values[(values.len() as u64 * share).div_ceil(10_000).max(1) as usize - 1];
            prop_assert!(found >= exact && found - exact <= exact / 64, "{found} for {exact}");
        }

        #[test]
        fn parts_add_up(one in prop::collection::vec(0_u64..1 << 43, 0..50), two in prop::collection::vec(0_u64..1 << 43, 0..50)) {
            let mut sum = of(&one);
            sum.add(&of(&two));
            prop_assert_eq!(sum, of(&[one, two].concat()));
        }
    }

    #[test]
    fn known_values() {
        let latency = of(&[10, 20, 30, 40]);
        assert_eq!((latency.count(), latency.mean()), (4, 25));
        assert_eq!((latency.smallest(), latency.largest()), (10, 40));
        assert_eq!([5_000, 7_500, 9_999].map(|share| latency.percentile(share)), [20, 30, 40]);
        let none = of(&[]);
        assert_eq!(none, Latency::default());
        assert_eq!((none.smallest(), none.mean(), none.percentile(5_000)), (0, 0, 0));
    }

    #[test]
    fn taking_starts_again() {
        let recorder = recorder();
        recorder.record(5);
        assert_eq!(recorder.take(), of(&[5]));
        assert_eq!(recorder.take(), Latency::default());
    }
}
