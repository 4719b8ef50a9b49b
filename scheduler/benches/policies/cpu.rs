//! The processor time of this thread as what is measured: a busy machine does not count.

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds that the processor worked for this thread.
pub(crate) struct CpuTime;

fn spent() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
    let part = |value: i64| u64::try_from(value).expect("time spent is positive");
    part(time.tv_sec()) * 1_000_000_000 + part(time.tv_nsec())
}

impl Measurement for CpuTime {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        spent()
    }

    fn end(&self, start: u64) -> u64 {
        spent() - start
    }

    fn add(&self, one: &u64, other: &u64) -> u64 {
        one + other
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// Says times and rates as criterion says those of the wall clock.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_values(typical, values)
    }

    fn scale_throughputs(
        &self,
        typical: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        WallTime.formatter().scale_throughputs(typical, throughput, values)
    }

    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_for_machines(values)
    }
}
