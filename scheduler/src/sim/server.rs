//! A data server: commands wait, the device takes the nearest, and a crowd slows everybody down.

use std::collections::{BTreeMap, VecDeque};

use super::device::{Device, Head, Stretch};
use super::network::Port;
use super::random::Random;
use crate::request::Operation;
use crate::time::{Span, Time};

/// What it costs a server to deal with several senders at once.
///
/// The TWINS thesis (Bez, 2016, figure 5.5) measured larger congestion windows where I/O nodes took turns
/// at the data servers, and shorter reads the fewer senders there were. The shape is an assumption of this
/// model: each command is delayed by this span for each doubling of the senders that have work here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// Delay of a read for each doubling.
    pub read: Span,
    /// Delay of a write for each doubling.
    pub write: Span,
}

impl Congestion {
    /// A crowd costs nothing.
    pub const NONE: Congestion = Congestion { read: Span::ZERO, write: Span::ZERO };

    /// The delay of one command while this many senders have work at the server.
    pub fn delay(&self, operation: Operation, senders: u32) -> Span {
        let each = match operation {
            Operation::Read => self.read,
            Operation::Write => self.write,
        };
        Span::from_nanos(each.as_nanos().saturating_mul(doublings(senders)) / 1000)
    }
}

/// The binary logarithm in thousandths, straight lines between the powers of two.
const fn doublings(count: u32) -> u64 {
    let Some(whole) = count.checked_ilog2() else { return 0 };
    let part = ((count as u64 - (1 << whole)) * 1000) >> whole;
    whole as u64 * 1000 + part
}

/// A command that waits at the server.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Which load it is: a number of the caller's.
    pub load: u32,
    /// Whose it is.
    pub sender: u32,
    /// The bytes it is about.
    pub stretch: Stretch,
}

/// One data server: told of commands that come and end, it says when each would be done.
///
/// Of time it knows only what it is told, so that the program can let real requests wait as long.
#[derive(Debug)]
pub struct Server {
    pub(super) port: Port,
    device: Device,
    head: Head,
    congestion: Congestion,
    waiting: VecDeque<Command>,
    working: u32,
    /// Commands here, by sender.
    present: BTreeMap<u32, u32>,
    picks: u64,
    measured: Measured,
}

/// What a server has been doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Commands served.
    pub commands: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time during which the device worked.
    pub busy: Span,
    /// Commands that came while another sender had work here.
    pub collisions: u64,
    /// Time during which two senders or more had work here.
    pub crowded: Span,
    changed: Time,
}

impl Server {
    /// An idle server.
    pub fn new(device: Device, congestion: Congestion, random: Random) -> Server {
        Server {
            port: Port::default(),
            device,
            head: Head::new(device, random),
            congestion,
            waiting: VecDeque::new(),
            working: 0,
            present: BTreeMap::new(),
            picks: 0,
            measured: Measured::default(),
        }
    }

    /// Takes a command in.
    pub fn enqueue(&mut self, now: Time, command: Command) {
        self.account(now);
        *self.present.entry(command.sender).or_default() += 1;
        self.measured.collisions += u64::from(self.present.len() > 1);
        self.waiting.push_back(command);
    }

    /// Begins a waiting command if the device has room; says which and when it will be done.
    pub fn begin(&mut self, now: Time) -> Option<(u32, Time)> {
        if self.working >= self.device.channels || self.waiting.is_empty() {
            return None;
        }
        self.account(now);
        let command = self.pick()?;
        let delay = self.congestion.delay(command.stretch.operation, self.present.len() as u32);
        self.working += 1;
        Some((command.load, self.head.serve(now, command.stretch, delay)))
    }

    /// Notes the end of a command.
    pub fn finish(&mut self, now: Time, sender: u32, bytes: u64) {
        self.account(now);
        self.working -= 1;
        let left = self.present.get_mut(&sender).expect("a command that ends has come");
        *left -= 1;
        if *left == 0 {
            self.present.remove(&sender);
        }
        self.measured.commands += 1;
        self.measured.bytes += bytes;
    }

    /// What it has been doing up to the last thing it was told.
    pub const fn measured(&self) -> Measured {
        self.measured
    }

    /// The waiting command nearest to the head among the oldest few. Every so often the oldest itself,
    /// so that none is passed over for ever.
    fn pick(&mut self) -> Option<Command> {
        self.picks += 1;
        let depth = u64::from(self.device.depth);
        if depth <= 1 || self.picks.is_multiple_of(depth) {
            return self.waiting.pop_front();
        }
        let in_sight = self.waiting.iter().take(depth as usize).enumerate();
        let nearest = in_sight.min_by_key(|(_, command)| self.head.distance(command.stretch.start));
        let index = nearest.map(|(index, _)| index)?;
        self.waiting.remove(index)
    }

    /// Adds the time since the last change to what it was spent on.
    fn account(&mut self, now: Time) {
        let passed = now.since(self.measured.changed);
        self.measured.changed = now;
        if self.working > 0 {
            self.measured.busy += passed;
        }
        if self.present.len() > 1 {
            self.measured.crowded += passed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Device = Device { turn: Span::ZERO, lookahead: 0, ..Device::HDD };

    fn command(load: u32, sender: u32, start: u64) -> Command {
        let stretch = Stretch { start, bytes: 0, operation: Operation::Read, accesses: 1 };
        Command { load, sender, stretch }
    }

    fn server(device: Device, congestion: Congestion) -> Server {
        Server::new(device, congestion, Random::new(0, 0))
    }

    #[test]
    fn doublings_are_a_logarithm() {
        let found = [0, 1, 2, 3, 4, 6, 32, 128].map(doublings);
        assert_eq!(found, [0, 0, 1000, 1500, 2000, 2500, 5000, 7000]);
    }

    #[test]
    fn the_nearest_goes_first_but_nobody_is_passed_over_for_ever() {
        let mut server = server(Device { depth: 4, ..STILL }, Congestion::NONE);
        for (load, start) in [(0, 900), (1, 500), (2, 100), (3, 300), (4, 0)] {
            server.enqueue(Time::ZERO, command(load, 0, start << 20));
        }
        let mut now = Time::ZERO;
        let mut order = Vec::new();
        while let Some((load, done)) = server.begin(now) {
            order.push(load);
            server.finish(done, 0, 0);
            now = done;
        }
        // Load 4 is out of sight at first; the fourth pick is the oldest.
        assert_eq!(order, [2, 4, 3, 0, 1]);
    }

    #[test]
    fn a_crowd_delays_and_is_counted() {
        let each = Span::from_micros(100);
        let mut server = server(Device::NULL, Congestion { read: each, write: Span::ZERO });
        server.enqueue(Time::ZERO, command(0, 5, 0));
        server.enqueue(Time::ZERO, command(1, 5, 0));
        assert_eq!(server.measured().collisions, 0);
        server.enqueue(Time::ZERO, command(2, 6, 0));
        assert_eq!(server.measured().collisions, 1);
        let mut now = Time::ZERO;
        for sender in [5, 5, 6] {
            let (_, done) = server.begin(now).unwrap();
            assert!(server.begin(now).is_none(), "one channel only");
            server.finish(done, sender, 10);
            now = done;
        }
        // Two senders for the first two commands, one for the last.
        assert_eq!(now, Time::ZERO + each * 2);
        let measured = server.measured();
        assert_eq!((measured.crowded, measured.busy), (each * 2, each * 2));
        assert_eq!((measured.commands, measured.bytes), (3, 30));
    }
}
