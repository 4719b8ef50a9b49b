//! What scheduling costs: the time spent deciding, measured on one call in many.

use iofwd_scheduler::time::Span;

/// A histogram of the time that calls of the scheduler took.
#[derive(Debug)]
pub(super) struct Costs {
    calls: u64,
    buckets: [u64; BUCKETS],
}

impl Costs {
    pub(super) fn new() -> Costs {
        Costs { calls: 0, buckets: [0; BUCKETS] }
    }

    /// Count a call, and measure it if its turn has come.
    pub(super) fn add(&mut self, measure: impl FnOnce() -> Span) {
        self.calls += 1;
        // Odd, so that of the two calls per request both kinds get their turn.
        if self.calls.is_multiple_of(SAMPLE) {
            let bucket = (measure().as_nanos() / BUCKET_NANOS) as usize;
            self.buckets[bucket.min(BUCKETS - 1)] += 1;
        }
    }

    /// The median time of a call, rounded up to the width of a bucket.
    pub(super) fn median(&self) -> Span {
        let half = self.buckets.iter().sum::<u64>().div_ceil(2);
        let mut below = 0;
        let at = self.buckets.iter().position(|count| {
            below += count;
            below >= half && half > 0
        });
        Span::from_nanos(at.map_or(0, |bucket| (bucket as u64 + 1) * BUCKET_NANOS))
    }
}

const SAMPLE: u64 = 33;
const BUCKET_NANOS: u64 = 50;
const BUCKETS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_that_of_the_measured_calls() {
        let mut costs = Costs::new();
        assert_eq!(costs.median(), Span::ZERO);
        for call in 0..SAMPLE * 10 {
            costs.add(|| Span::from_nanos(if call < SAMPLE * 6 { 120 } else { 9_000_000 }));
        }
        assert_eq!(costs.median(), Span::from_nanos(150));
    }
}
