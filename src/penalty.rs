//! Whoever shows a wrong key again and again has to wait.
//!
//! Counted by address; in IPv6 by its first 64 bits, because the rest is free for anybody to
//! choose. Three failures within a minute close the door for a second, each further one for twice as
//! long, a minute at most. A good key clears it all, and so do ten minutes without a failure. The
//! table is bounded: whoever failed longest ago is forgotten first.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Who failed, and how long they have to wait.
#[derive(Debug, Default)]
pub struct Penalties {
    known: HashMap<Origin, Record>,
    /// By the turn of the last failure, to find the oldest.
    order: BTreeMap<u64, Origin>,
    turns: u64,
}

/// Where a failure came from: the address, or the first half of it.
type Origin = IpAddr;

#[derive(Debug)]
struct Record {
    /// The last failures, oldest first.
    failures: [Option<Instant>; FREE],
    /// How often the door was closed.
    closed: u32,
    /// When it opens.
    until: Option<Instant>,
    turn: u64,
}

impl Penalties {
    /// Nobody has failed.
    pub fn new() -> Penalties {
        Penalties::default()
    }

    /// How long an address must still wait before it may try; `None`: it may.
    pub fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let until = self.known.get(&origin(address))?.until?;
        let left = until.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// An address showed a wrong key. How long it has to wait, if it has to.
    pub fn fail(&mut self, address: IpAddr, now: Instant) -> Option<Duration> {
        let origin = origin(address);
        let mut record = self.remove(origin).unwrap_or_else(Record::new);
        record.fail(now);
        let wait = record.until.map(|until| until.saturating_duration_since(now));
        self.insert(origin, record);
        wait
    }

    /// An address showed a good key.
    pub fn succeed(&mut self, address: IpAddr) {
        self.remove(origin(address));
    }

    /// How many addresses are remembered.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nobody is remembered.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn remove(&mut self, origin: Origin) -> Option<Record> {
        let record = self.known.remove(&origin)?;
        self.order.remove(&record.turn);
        Some(record)
    }

    fn insert(&mut self, origin: Origin, mut record: Record) {
        if self.known.len() >= MOST
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.known.remove(&oldest);
        }
        self.turns += 1;
        record.turn = self.turns;
        self.order.insert(record.turn, origin);
        self.known.insert(origin, record);
    }
}

impl Record {
    const fn new() -> Record {
        Record { failures: [None; FREE], closed: 0, until: None, turn: 0 }
    }

    fn fail(&mut self, now: Instant) {
        let within = |since: Option<Instant>, span: Duration| {
            since.is_some_and(|since| now.saturating_duration_since(since) < span)
        };
        if !within(self.failures[FREE - 1], FORGOTTEN) {
            *self = Record::new();
        }
        self.failures.rotate_left(1);
        self.failures[FREE - 1] = Some(now);
        if self.closed > 0 || within(self.failures[0], COUNTED) {
            let wait = FIRST * 2_u32.saturating_pow(self.closed.min(DOUBLED_MOST));
            self.until = Some(now + wait.min(LONGEST));
            self.closed = self.closed.saturating_add(1);
        }
    }
}

/// An IPv4 address, or the first 64 bits of an IPv6 address.
fn origin(address: IpAddr) -> Origin {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
    }
}

/// So many failures close the door.
const FREE: usize = 3;
/// They count if they come within this.
const COUNTED: Duration = Duration::from_secs(60);
/// How long the door is closed first.
const FIRST: Duration = Duration::from_secs(1);
/// And at most.
const LONGEST: Duration = Duration::from_secs(60);
/// After so many doublings it is longer than that.
const DOUBLED_MOST: u32 = 6;
/// After so long without a failure all is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Addresses that are remembered.
const MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// An address that has just failed three times, a second apart.
    fn closed(start: Instant) -> (Penalties, IpAddr) {
        let (mut penalties, someone) = (Penalties::new(), address("10.0.0.1"));
        assert_eq!(penalties.fail(someone, start - seconds(2)), None);
        assert_eq!(penalties.fail(someone, start - seconds(1)), None);
        assert_eq!(penalties.fail(someone, start), Some(seconds(1)));
        (penalties, someone)
    }

    fn start() -> Instant {
        Instant::now() + seconds(3600)
    }

    #[test]
    fn three_failures_in_a_minute_close_the_door_for_a_second() {
        let start = start();
        let (penalties, someone) = closed(start);
        assert_eq!(penalties.wait(someone, start), Some(seconds(1)));
        let half = Duration::from_millis(500);
        assert_eq!(penalties.wait(someone, start + half), Some(half));
        assert_eq!(penalties.wait(someone, start + seconds(1)), None);
        assert_eq!(penalties.wait(address("10.0.0.2"), start), None);
    }

    #[test]
    fn failures_further_apart_are_mistakes() {
        let (mut penalties, start) = (Penalties::new(), start());
        for index in 0..20 {
            assert_eq!(penalties.fail(address("10.0.0.1"), start + seconds(31 * index)), None);
        }
    }

    #[test]
    fn the_time_doubles_up_to_a_minute() {
        let mut now = start();
        let (mut penalties, someone) = closed(now);
        for expected in [2, 4, 8, 16, 32, 60, 60, 60] {
            now += penalties.wait(someone, now).expect("closed");
            assert_eq!(penalties.wait(someone, now), None);
            assert_eq!(penalties.fail(someone, now), Some(seconds(expected)));
        }
    }

    #[test]
    fn a_good_key_clears_it_all() {
        let start = start();
        let (mut penalties, someone) = closed(start);
        penalties.succeed(someone);
        assert_eq!(penalties.wait(someone, start), None);
        assert!(penalties.is_empty());
        assert_eq!(penalties.fail(someone, start), None);
    }

    #[test]
    fn ten_quiet_minutes_clear_it_too() {
        let start = start();
        let (mut penalties, someone) = closed(start);
        assert_eq!(penalties.fail(someone, start + seconds(599)), Some(seconds(2)));
        assert_eq!(penalties.fail(someone, start + seconds(599 + 600)), None);
    }

    #[test]
    fn an_ipv6_network_is_one_and_a_mapped_address_is_ipv4() {
        let (mut penalties, start) = (Penalties::new(), start());
        for host in ["fd00::1", "fd00::2", "fd00::3"] {
            penalties.fail(address(host), start);
        }
        assert!(penalties.wait(address("fd00::ffff:1"), start).is_some());
        assert_eq!(penalties.wait(address("fd00:0:0:1::1"), start), None);
        for text in ["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1"] {
            penalties.fail(address(text), start);
        }
        assert!(penalties.wait(address("10.0.0.1"), start).is_some());
        assert_eq!(penalties.wait(address("::ffff:10.0.0.2"), start), None);
    }

    #[test]
    fn the_table_is_bounded_and_the_oldest_failure_goes_first() {
        let start = start();
        let (mut penalties, someone) = closed(start);
        let nth = |n: u32| IpAddr::V4((0x0b00_0000 + n).into());
        for n in 0..MOST as u32 - 1 {
            penalties.fail(nth(n), start);
        }
        assert_eq!(penalties.len(), MOST);
        // A new failure of the oldest makes it the youngest.
        assert_eq!(penalties.fail(someone, start), Some(seconds(2)));
        penalties.fail(nth(MOST as u32), start);
        assert_eq!((penalties.len(), penalties.order.len()), (MOST, MOST));
        assert!(penalties.wait(someone, start).is_some());
        assert!(!penalties.known.contains_key(&nth(0)));
    }

    #[test]
    fn time_that_seems_to_go_back_harms_nobody() {
        let start = start();
        let (mut penalties, someone) = closed(start);
        assert!(penalties.fail(someone, start - seconds(100)).is_some());
        assert!(penalties.wait(someone, start - seconds(200)).is_some());
    }
}
