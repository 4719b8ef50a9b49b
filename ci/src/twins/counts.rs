//! What data servers count: requests, bytes, and agents that meet there.

use std::ops::{Add, Sub};

/// Counts of one server or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    requests: f64,
    bytes: f64,
    used: f64,
    shared: f64,
    used_time: f64,
    shared_time: f64,
    busy: f64,
}

impl Counts {
    /// From a report: a name and a value a line.
    pub(super) fn parse(report: &str) -> Result<Self, String> {
        let value = |name: &str| {
            let line = report.lines().find_map(|line| line.strip_prefix(name));
            let value = line.and_then(|rest| rest.trim().parse().ok());
            value.ok_or_else(|| format!("no {name}in the report of a server:\n{report}"))
        };
        Ok(Self {
            requests: value("device_commands ")?,
            bytes: value("device_bytes ")?,
            used: value("windows_used ")?,
            shared: value("windows_shared ")?,
            used_time: value("used_ns ")?,
            shared_time: value("shared_ns ")?,
            busy: value("device_busy_ns ")?,
        })
    }

    /// The mean size of a request, in KiB.
    pub(super) fn size_kib(self) -> f64 {
        self.bytes / self.requests.max(1.0) / 1024.0
    }

    /// Windows in which agents met, of those in which any was there, in percent.
    pub(super) fn shared_windows(self) -> f64 {
        100.0 * self.shared / self.used.max(1.0)
    }

    /// The time during which agents met, of that during which any was there, in percent.
    pub(super) fn shared_time(self) -> f64 {
        100.0 * self.shared_time / self.used_time.max(1.0)
    }

    /// How much of so many seconds the devices worked, of all of them together, in percent.
    pub(super) fn busy(self, seconds: f64) -> f64 {
        100.0 * self.busy / 1e9 / seconds
    }

    fn with(self, other: Self, by: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            requests: by(self.requests, other.requests),
            bytes: by(self.bytes, other.bytes),
            used: by(self.used, other.used),
            shared: by(self.shared, other.shared),
            used_time: by(self.used_time, other.used_time),
            shared_time: by(self.shared_time, other.shared_time),
            busy: by(self.busy, other.busy),
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, |mine, its| mine + its)
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.with(other, |mine, its| mine - its)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_the_difference_of_two_reports() {
        let report = |n: u32| {
            format!(
                "pid              7\nwindows_used     {}\nwindows_shared   {}\nused_ns  {}\n\
                 shared_ns {}\ndevice_commands  {}\ndevice_bytes {}\ndevice_busy_ns {}\n",
                n * 10,
                n * 5,
                n * 100,
                n * 20,
                n,
                n * 65_536,
                n * 500_000_000
            )
        };
        let (before, after) = (report(1), report(3));
        let counts = Counts::parse(&after).unwrap() - Counts::parse(&before).unwrap();
        assert_eq!((counts.size_kib(), counts.shared_windows()), (64.0, 50.0));
        assert_eq!((counts.shared_time(), counts.busy(4.0)), (20.0, 25.0));
        assert!(Counts::parse("pid 7\n").unwrap_err().contains("device_commands"));
    }
}
