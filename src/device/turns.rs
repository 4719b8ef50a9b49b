//! Whose turn it is at a device, in the device's own time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use iofwd_scheduler::request::Extent;
use iofwd_scheduler::sim::{Command, Device, Measured, Random, Server, Stretch};
use iofwd_scheduler::time::Time;

use super::{Spec, Work};

/// Names something that was asked of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(u64);

/// When to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// All of it is done.
    Done,
    /// At this time something of it is done.
    At(Time),
    /// When the device begins with it: others go first.
    WhenCalled,
}

/// The queue of a device.
#[derive(Debug)]
pub(super) struct Turns {
    device: Device,
    places: u64,
    server: Server,
    /// Commands that wait or are under way, by their numbers.
    commands: HashMap<u32, Known>,
    /// Commands under way, the first to be done on top.
    under_way: BinaryHeap<Reverse<(Time, u32)>>,
    tickets: HashMap<Ticket, Progress>,
    next_command: u32,
    next_ticket: u64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    ticket: Ticket,
    sender: u32,
    bytes: u64,
}

/// How far the commands of a ticket are.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Not begun yet.
    waiting: usize,
    /// When the last of those that have begun is done.
    end: Option<Time>,
}

impl Turns {
    pub(super) fn new(spec: &Spec) -> Turns {
        let places = SEED ^ (u64::from(spec.places) << 32);
        Turns {
            device: spec.device,
            places,
            server: Server::new(spec.device, spec.congestion, Random::new(places, 0)),
            commands: HashMap::new(),
            under_way: BinaryHeap::new(),
            tickets: HashMap::new(),
            next_command: 0,
            next_ticket: 0,
        }
    }

    /// Something is asked of the device. Which tickets the device began something of, too.
    pub(super) fn arrive(&mut self, now: Time, work: &Work<'_>) -> (Ticket, Vec<Ticket>) {
        let mut begun = self.advance(now);
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        let stretches = self.stretches(work);
        self.tickets.insert(ticket, Progress { waiting: stretches.len(), end: None });
        for stretch in stretches {
            let load = self.number();
            let known = Known { ticket, sender: work.sender, bytes: stretch.bytes };
            self.commands.insert(load, known);
            self.server.enqueue(now, Command { load, sender: work.sender, stretch });
        }
        self.begin(now, &mut begun);
        (ticket, begun)
    }

    /// Ends what is done by now. The device goes on at the very time at which it was done, however
    /// late somebody looks. Which tickets it began something of.
    pub(super) fn advance(&mut self, now: Time) -> Vec<Ticket> {
        let mut begun = Vec::new();
        while let Some(Reverse((done, load))) = self.under_way.peek().copied()
            && done <= now
        {
            self.under_way.pop();
            if let Some(known) = self.commands.remove(&load) {
                self.server.finish(done, known.sender, known.bytes);
            }
            self.begin(done, &mut begun);
        }
        begun
    }

    /// When to look again after a ticket.
    pub(super) fn wake(&self, now: Time, ticket: Ticket) -> Wake {
        match self.tickets.get(&ticket) {
            None | Some(Progress { waiting: 0, end: None }) => Wake::Done,
            Some(Progress { waiting: 0, end: Some(end) }) if *end <= now => Wake::Done,
            Some(Progress { end: Some(end), .. }) if *end > now => Wake::At(*end),
            Some(_) => Wake::WhenCalled,
        }
    }

    /// Nobody waits for this any more.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.tickets.remove(&ticket);
    }

    pub(super) const fn measured(&self) -> Measured {
        self.server.measured()
    }

    fn begin(&mut self, now: Time, begun: &mut Vec<Ticket>) {
        while let Some((load, done)) = self.server.begin(now) {
            self.under_way.push(Reverse((done, load)));
            let Some(Known { ticket, .. }) = self.commands.get(&load) else { continue };
            if let Some(progress) = self.tickets.get_mut(ticket) {
                progress.waiting -= 1;
                progress.end = progress.end.max(Some(done));
            }
            begun.push(*ticket);
        }
    }

    /// A number that no command has.
    fn number(&mut self) -> u32 {
        loop {
            self.next_command = self.next_command.wrapping_add(1);
            if !self.commands.contains_key(&self.next_command) {
                return self.next_command;
            }
        }
    }

    /// Where on the device the bytes are. What is in a row is one stretch; a device that works off lists
    /// piece by piece has an access for each piece.
    fn stretches(&self, work: &Work<'_>) -> Vec<Stretch> {
        let home = self.home(work.object);
        let mut stretches: Vec<Stretch> = Vec::new();
        for Extent { offset, length } in work.extents.iter().copied() {
            let start = home.saturating_add(offset);
            match stretches.last_mut() {
                Some(last) if last.start.saturating_add(last.bytes) == start => {
                    last.bytes += length;
                    last.accesses += u32::from(!self.device.joins);
                }
                _ => stretches.push(Stretch {
                    start,
                    bytes: length,
                    operation: work.operation,
                    accesses: 1,
                }),
            }
        }
        stretches
    }

    /// The place where an object begins: anywhere on the device, and always the same on one that
    /// was described so.
    fn home(&self, object: u64) -> u64 {
        Random::new(self.places, object).below(self.device.span)
    }
}

/// Any: the same on every machine, so that objects have the same places.
const SEED: u64 = 0x1f0d;

#[cfg(test)]
mod tests {
    use iofwd_scheduler::request::Operation;
    use iofwd_scheduler::time::Span;

    use super::*;

    fn turns(spec: &str) -> Turns {
        Turns::new(&spec.parse().expect("a device"))
    }

    fn read(sender: u32, extents: &[Extent]) -> Work<'_> {
        Work { sender, object: 1, extents, operation: Operation::Read }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// A megabyte takes 100 ms, 1,000 bytes take 100 us.
    const SLOW: &str = "null,read=10000000";

    #[test]
    fn one_after_the_other_and_those_who_wait_are_called() {
        let mut turns = turns(SLOW);
        let extents = [Extent::new(0, 1_000)];
        let (first, begun) = turns.arrive(at(0), &read(1, &extents));
        assert_eq!(begun, [first]);
        let (second, begun) = turns.arrive(at(10), &read(2, &extents));
        assert_eq!(begun, []);
        assert_eq!(turns.wake(at(10), first), Wake::At(at(100)));
        assert_eq!(turns.wake(at(10), second), Wake::WhenCalled);
        assert_eq!(turns.advance(at(100)), [second]);
        assert_eq!(turns.wake(at(100), first), Wake::Done);
        assert_eq!(turns.wake(at(100), second), Wake::At(at(200)));
    }

    #[test]
    fn who_looks_late_delays_nobody() {
        let mut turns = turns(SLOW);
        let extents = [Extent::new(0, 1_000)];
        let (_, _) = turns.arrive(at(0), &read(1, &extents));
        let (second, _) = turns.arrive(at(0), &read(2, &extents));
        let (third, _) = turns.arrive(at(0), &read(3, &extents));
        // Nobody looked when the first was done, nor when the second was.
        assert_eq!(turns.advance(at(250)), [second, third]);
        assert_eq!(turns.wake(at(250), second), Wake::Done);
        assert_eq!(turns.wake(at(250), third), Wake::At(at(300)));
    }

    #[test]
    fn a_list_is_done_when_its_last_piece_is() {
        let mut turns = turns(SLOW);
        let apart = [Extent::new(0, 1_000), Extent::new(5_000, 1_000)];
        let (ticket, _) = turns.arrive(at(0), &read(1, &apart));
        assert_eq!(turns.wake(at(0), ticket), Wake::At(at(100)), "to begin with the next");
        assert_eq!(turns.advance(at(100)), [ticket]);
        assert_eq!(turns.wake(at(100), ticket), Wake::At(at(200)));
        let (nothing, _) = turns.arrive(at(150), &read(1, &[]));
        assert_eq!(turns.wake(at(150), nothing), Wake::Done);
    }

    #[test]
    fn what_is_in_a_row_is_one_access() {
        let row = [Extent::new(0, 1_000), Extent::new(1_000, 500), Extent::new(9_000, 1)];
        let turns = turns("hdd");
        let stretches = turns.stretches(&read(1, &row));
        assert_eq!(stretches.iter().map(|s| s.bytes).collect::<Vec<_>>(), [1_500, 1]);
        assert!(stretches.iter().all(|stretch| stretch.accesses == 1));
        assert_ne!(turns.home(1), turns.home(2));
        assert_eq!(turns.home(1), self::turns("hdd").home(1));
        assert_ne!(turns.home(1), self::turns("hdd,places=2").home(1));
    }

    #[test]
    fn a_crowd_of_senders_costs_and_is_measured() {
        let mut turns = turns("null,crowd_read=80us");
        let extents = [Extent::new(0, 1)];
        turns.arrive(at(0), &read(1, &extents));
        turns.arrive(at(0), &read(1, &extents));
        assert_eq!(turns.measured().collisions, 0);
        let mut turns = self::turns("null,read=1000000,crowd_read=80us");
        turns.arrive(at(0), &read(1, &[Extent::new(0, 100)]));
        turns.arrive(at(0), &read(2, &[Extent::new(0, 100)]));
        // The first began alone; the second while nobody else was left.
        turns.advance(at(1_000));
        let measured = turns.measured();
        assert_eq!((measured.collisions, measured.crowded), (1, Span::from_micros(100)));
    }

    #[test]
    fn a_ticket_that_is_gone_and_one_of_nothing_are_done() {
        let mut turns = turns(SLOW);
        let (ticket, _) = turns.arrive(at(0), &read(1, &[Extent::new(0, 1_000)]));
        turns.leave(ticket);
        assert_eq!(turns.wake(at(1), ticket), Wake::Done);
        assert_eq!(turns.advance(at(100)), []);
    }
}
