//! The objects of one server: which one has its turn, which qualify, which gain, which are held.

use std::collections::BTreeSet;

use crate::queue::Sorted;
use crate::time::Time;

/// Where a lane waits, in eight bytes as there may be very many: nowhere as it is empty or has its
/// turn, or held back, or until its head qualifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place([u32; 2]);

impl Place {
    /// It is empty, or has its turn.
    pub(super) const NOWHERE: Place = Place([0, 0]);
    /// It is held back; its past says until when.
    pub(super) const HELD: Place = Place([0, 1]);

    /// Its head qualifies in pass `due`, and arrived as number `order`.
    pub(super) const fn waiting(due: u64, order: u64) -> Place {
        let low = (order << ORDER_AT) as u32 | (due % DUES) as u32 | WAITS;
        Place([(order >> (32 - ORDER_AT)) as u32, low])
    }

    const fn is_waiting(self) -> bool {
        self.0[1] & WAITS != 0
    }

    const fn order(self) -> u64 {
        (self.0[0] as u64) << (32 - ORDER_AT) | (self.0[1] >> ORDER_AT) as u64
    }

    /// The pass in which the head qualifies: the one next to `pass` of which the last bits are known.
    /// Those that wait for it are never further away than a request needs passes.
    const fn due(self, pass: u64) -> u64 {
        let from = pass.saturating_sub(DUES / 2);
        from + (self.0[1] as u64 % DUES + DUES - from % DUES) % DUES
    }
}

/// The turns at one server.
#[derive(Debug)]
pub(super) struct Turns {
    /// The lane whose turn it is, and the bytes it has issued in it.
    pub(super) turn: Option<(u32, u64)>,
    pass: u64,
    /// How many requests had arrived when each of the last passes began.
    begun: [u64; KEPT],
    /// By pass in which the head qualifies, order and lane.
    gaining: Sorted,
    /// By order of the head and lane.
    ready: Sorted,
    held: BTreeSet<(Time, u32)>,
}

impl Turns {
    /// Begins a pass; `arrived` requests came before it.
    pub(super) fn pass(&mut self, arrived: u64) {
        self.pass += 1;
        self.begun[self.pass as usize % KEPT] = arrived;
    }

    /// The pass in which the request that arrived as number `order` came; for one that has seen
    /// more passes than any request needs, some pass that long ago.
    pub(super) fn entered(&self, order: u64) -> u64 {
        let kept = self.pass.min(KEPT as u64 - 1);
        let (mut low, mut high) = (self.pass - kept, self.pass);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.begun[middle as usize % KEPT] <= order {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// The lane with the oldest head among those that qualify. If none does, passes in which
    /// nothing could happen are left out; `arrived` requests came before the last of them.
    pub(super) fn oldest(&mut self, arrived: u64) -> Option<u32> {
        if self.ready.first().is_none() {
            let (due, _, _) = apart(self.gaining.first()?);
            while self.pass < due {
                self.pass(arrived);
            }
        }
        while let Some(first) = self.gaining.first() {
            let (due, order, lane) = apart(first);
            if due > self.pass {
                break;
            }
            self.gaining.remove(first);
            self.ready.insert(one(order, 0, lane));
        }
        self.ready.first().map(|first| apart(first).2)
    }

    /// Moves a lane from one place to another. If one of them is that of a lane held back, `until`
    /// says until when.
    pub(super) fn put(&mut self, lane: u32, from: Place, to: Place, until: Time) {
        if from.is_waiting() {
            let (due, order) = (from.due(self.pass), from.order());
            let gone = self.ready.remove(one(order, 0, lane))
                || self.gaining.remove(one(due, order, lane));
            assert!(gone, "a lane that waits is listed");
        } else if from == Place::HELD {
            assert!(self.held.remove(&(until, lane)), "held lanes are listed");
        }
        if to.is_waiting() {
            self.gaining.insert(one(to.due(self.pass), to.order(), lane));
        } else if to == Place::HELD {
            self.held.insert((until, lane));
        }
    }

    /// Takes a lane whose hold is over out of those that are held.
    pub(super) fn release(&mut self, now: Time) -> Option<u32> {
        let &(until, lane) = self.held.first()?;
        if until > now {
            return None;
        }
        self.held.pop_first();
        Some(lane)
    }

    /// When the next hold ends.
    pub(super) fn wake(&self) -> Option<Time> {
        self.held.first().map(|&(until, _)| until)
    }
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            turn: None,
            pass: 0,
            begun: [0; KEPT],
            gaining: Sorted::new(),
            ready: Sorted::new(),
            held: BTreeSet::new(),
        }
    }
}

/// Two counts and a lane as one number that sorts by them: 48 bits are enough for eight years of a
/// million a second.
const fn one(first: u64, second: u64, lane: u32) -> u128 {
    (first as u128) << 80 | (second as u128) << 32 | lane as u128
}

/// What was made one.
const fn apart(key: u128) -> (u64, u64, u32) {
    ((key >> 80) as u64, (key >> 32) as u64 & ((1 << 48) - 1), key as u32)
}

/// Passes remembered: more than any request needs.
const KEPT: usize = 128;

/// The lower half of a place: the last bits of the order, a bit that says that it waits, and the last
/// bits of the pass.
const ORDER_AT: u32 = 16;
const WAITS: u32 = 1 << 15;
const DUES: u64 = 1 << 12;
