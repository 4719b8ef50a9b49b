//! What a data server stores on: how long it takes to get to a place, and to move bytes there.

use super::network::Rate;
use super::random::Random;
use crate::request::Operation;
use crate::time::{Span, Time};

/// The parameters of a storage device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// What each command costs before anything moves.
    pub command: Span,
    /// What each access costs on top: one for a command whose bytes are in a row.
    pub access: Span,
    /// The shortest seek that is one at all.
    pub seek_min: Span,
    /// The seek from one end of the device to the other. In between it grows with the square root of
    /// the distance, as an arm that speeds up and slows down does.
    pub seek_max: Span,
    /// Bytes from one end to the other.
    pub span: u64,
    /// One turn of the platter; a random part of it is lost after each seek.
    pub turn: Span,
    /// Reads that go on within this many bytes ahead need no seek: they pay for passing over the gap.
    pub lookahead: u64,
    /// How fast bytes are read.
    pub read: Rate,
    /// How fast bytes are written.
    pub write: Rate,
    /// What each write costs on top until it is safe on the medium.
    pub sync: Span,
    /// How many waiting commands the device looks at to find the nearest.
    pub depth: u32,
    /// How many commands it works on at the same time. Transfers still share its rate.
    pub channels: u32,
    /// Whether requests that come together and touch are one access. A server that works off a list
    /// piece by piece, each with an access of its own, gains messages from lists and nothing else.
    pub joins: bool,
}

impl Device {
    /// A disk of 7,200 turns a minute and 558 GB, as those of about 2014.
    pub const HDD: Device = Device {
        command: Span::from_micros(50),
        access: Span::ZERO,
        seek_min: Span::from_micros(800),
        seek_max: Span::from_millis(16),
        span: 558_000_000_000,
        turn: Span::from_nanos(8_333_333),
        lookahead: 512 * 1024,
        read: Rate::per_second(150_000_000),
        write: Rate::per_second(150_000_000),
        sync: Span::ZERO,
        depth: 32,
        channels: 1,
        joins: true,
    };

    /// Flash behind an NVMe port: distance is nothing, and many commands run at once.
    pub const SSD: Device = Device {
        command: Span::from_micros(80),
        access: Span::ZERO,
        seek_min: Span::ZERO,
        seek_max: Span::ZERO,
        span: 1,
        turn: Span::ZERO,
        lookahead: 0,
        read: Rate::per_second(3_000_000_000),
        write: Rate::per_second(1_500_000_000),
        sync: Span::ZERO,
        depth: 1,
        channels: 32,
        joins: true,
    };

    /// Takes no time at all: what remains is the network and the scheduling.
    pub const NULL: Device = Device {
        command: Span::ZERO,
        access: Span::ZERO,
        seek_min: Span::ZERO,
        seek_max: Span::ZERO,
        span: 1,
        turn: Span::ZERO,
        lookahead: 0,
        read: Rate::INSTANT,
        write: Rate::INSTANT,
        sync: Span::ZERO,
        depth: 1,
        channels: 1,
        joins: true,
    };

    /// A preset by its name: `hdd`, `ssd` or `null`.
    pub fn by_name(name: &str) -> Option<Device> {
        match name {
            "hdd" => Some(Device::HDD),
            "ssd" => Some(Device::SSD),
            "null" => Some(Device::NULL),
            _ => None,
        }
    }

    /// How long the arm takes over this distance.
    pub const fn seek(&self, distance: u64) -> Span {
        if distance == 0 || self.seek_max.as_nanos() == 0 {
            return Span::ZERO;
        }
        let reach = if distance < self.span { distance } else { self.span };
        let growth = self.seek_max.as_nanos().saturating_sub(self.seek_min.as_nanos());
        let part = growth as u128 * reach.isqrt() as u128 / self.span.isqrt() as u128;
        Span::from_nanos(self.seek_min.as_nanos() + part as u64)
    }

    /// How long the bytes of a command take once the device has got to them.
    fn transfer(&self, operation: Operation, bytes: u64) -> Span {
        let rate = match operation {
            Operation::Read => self.read,
            Operation::Write => self.write,
        };
        self.sync_of(operation) + rate.time_of(bytes)
    }

    /// What an access costs on top until its bytes are safe.
    const fn sync_of(&self, operation: Operation) -> Span {
        match operation {
            Operation::Read => Span::ZERO,
            Operation::Write => self.sync,
        }
    }
}

/// A device at work: where its head is, and until when its data path is taken.
#[derive(Clone, Debug)]
pub(super) struct Head {
    device: Device,
    random: Random,
    at: u64,
    transferring: Time,
}

impl Head {
    pub(super) const fn new(device: Device, random: Random) -> Head {
        Head { device, random, at: 0, transferring: Time::ZERO }
    }

    /// How far the head would have to go.
    pub(super) const fn distance(&self, place: u64) -> u64 {
        self.at.abs_diff(place)
    }

    /// Serves a stretch of the device from `now` on, after an extra delay; says when it is done.
    pub(super) fn serve(&mut self, now: Time, stretch: Stretch, extra: Span) -> Time {
        let Stretch { start, bytes, operation, accesses } = stretch;
        let mut ready = now + self.device.command + extra + self.position(start, operation);
        ready += self.device.access * u64::from(accesses);
        let again = accesses.saturating_sub(1);
        ready += self.device.sync_of(operation) * u64::from(again);
        for _ in 0..again {
            ready += Span::from_nanos(self.random.below(self.device.turn.as_nanos()));
        }
        let begin = ready.max(self.transferring);
        self.transferring = begin + self.device.transfer(operation, bytes);
        self.at = start.saturating_add(bytes);
        self.transferring
    }

    fn position(&mut self, place: u64, operation: Operation) -> Span {
        let distance = self.distance(place);
        if distance == 0 {
            return Span::ZERO;
        }
        let seek = self.device.seek(distance);
        let ahead = operation == Operation::Read && place > self.at;
        let turn = Span::from_nanos(self.random.below(self.device.turn.as_nanos()));
        if ahead && distance <= self.device.lookahead {
            return self.device.read.time_of(distance).min(seek + turn);
        }
        seek + turn
    }
}

/// Bytes in a row on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Where on the device they begin.
    pub start: u64,
    /// How many they are.
    pub bytes: u64,
    /// Whether they are read or written.
    pub operation: Operation,
    /// How many times the device must get to a place for it: once if the bytes are really in a row. For
    /// a list of places that is not worth its details, the number of places.
    pub accesses: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn still(device: Device) -> Head {
        Head::new(Device { turn: Span::ZERO, ..device }, Random::new(0, 0))
    }

    fn read(start: u64, bytes: u64) -> Stretch {
        Stretch { start, bytes, operation: Operation::Read, accesses: 1 }
    }

    #[test]
    fn seeks_grow_with_the_root_of_the_distance() {
        let hdd = Device::HDD;
        assert_eq!(hdd.seek(0), Span::ZERO);
        assert_eq!(hdd.seek(hdd.span), hdd.seek_max);
        assert_eq!(hdd.seek(u64::MAX), hdd.seek_max);
        let quarter = (hdd.seek_min + hdd.seek_max).as_nanos() / 2;
        assert!(hdd.seek(hdd.span / 4).as_nanos().abs_diff(quarter) < 100_000);
    }

    #[test]
    fn going_on_where_the_head_is_costs_the_command_and_the_bytes() {
        let mut head = still(Device::HDD);
        let done = head.serve(Time::ZERO, read(0, 150_000), Span::ZERO);
        assert_eq!(done, Time::ZERO + Span::from_micros(50) + Span::from_millis(1));
        let next = head.serve(done, read(150_000, 150_000), Span::from_micros(3));
        assert_eq!(next, done + Span::from_micros(53) + Span::from_millis(1));
    }

    #[test]
    fn a_read_passes_over_a_small_gap_and_a_write_does_not() {
        let gap = 15_000;
        let mut head = still(Device::HDD);
        let read_done = head.serve(Time::ZERO, read(gap, 0), Span::ZERO);
        assert_eq!(read_done, Time::ZERO + Span::from_micros(50 + 100));
        let mut head = still(Device::HDD);
        let write = Stretch { start: gap, bytes: 0, operation: Operation::Write, accesses: 1 };
        let write_done = head.serve(Time::ZERO, write, Span::ZERO);
        assert_eq!(write_done, Time::ZERO + Span::from_micros(50) + Device::HDD.seek(gap));
    }

    #[test]
    fn a_write_waits_until_it_is_safe() {
        let sync = Span::from_millis(5);
        let mut head = still(Device { sync, ..Device::HDD });
        let write = Stretch { start: 0, bytes: 150_000, operation: Operation::Write, accesses: 1 };
        let done = head.serve(Time::ZERO, write, Span::ZERO);
        assert_eq!(done, Time::ZERO + Span::from_micros(1050) + sync);
    }

    #[test]
    fn flash_overlaps_access_but_shares_its_rate() {
        let mut head = still(Device::SSD);
        let first = head.serve(Time::ZERO, read(0, 3_000_000), Span::ZERO);
        let second = head.serve(Time::ZERO, read(1 << 40, 3_000_000), Span::ZERO);
        assert_eq!(first, Time::ZERO + Span::from_micros(1080));
        assert_eq!(second, Time::ZERO + Span::from_micros(2080));
    }

    #[test]
    fn presets_have_names() {
        assert_eq!(Device::by_name("hdd"), Some(Device::HDD));
        assert_eq!(Device::by_name("ssd"), Some(Device::SSD));
        assert_eq!(Device::by_name("null"), Some(Device::NULL));
        assert_eq!(Device::by_name("tape"), None);
    }
}
