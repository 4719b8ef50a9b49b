//! The objects of one server: which one has its turn, which qualify, which gain, which are held.

use std::collections::BTreeSet;

use crate::time::Time;

/// Where a lane waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// It is empty, or has its turn.
    #[default]
    Nowhere,
    /// Its head qualifies in pass `due`, and arrived as number `order`.
    Waiting { due: u64, order: u64 },
    /// It is held back until then.
    Held(Time),
}

/// The turns at one server.
#[derive(Debug)]
pub(super) struct Turns {
    /// The lane whose turn it is, and the bytes it has issued in it.
    pub(super) turn: Option<(u32, u64)>,
    pass: u64,
    /// How many requests had arrived when each of the last passes began.
    begun: [u64; KEPT],
    gaining: BTreeSet<(u64, u64, u32)>,
    ready: BTreeSet<(u64, u64, u32)>,
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
        if self.ready.is_empty() {
            let &(due, _, _) = self.gaining.first()?;
            while self.pass < due {
                self.pass(arrived);
            }
        }
        while let Some(&(due, order, lane)) = self.gaining.first() {
            if due > self.pass {
                break;
            }
            self.gaining.pop_first();
            self.ready.insert((order, due, lane));
        }
        self.ready.first().map(|&(_, _, lane)| lane)
    }

    /// Moves a lane from one place to another.
    pub(super) fn put(&mut self, lane: u32, from: Place, to: Place) {
        match from {
            Place::Nowhere => {}
            Place::Waiting { due, order } => {
                let gone = self.ready.remove(&(order, due, lane))
                    || self.gaining.remove(&(due, order, lane));
                assert!(gone, "a lane that waits is listed");
            }
            Place::Held(until) => {
                assert!(self.held.remove(&(until, lane)), "held lanes are listed")
            }
        }
        match to {
            Place::Nowhere => {}
            Place::Waiting { due, order } => {
                self.gaining.insert((due, order, lane));
            }
            Place::Held(until) => {
                self.held.insert((until, lane));
            }
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
            gaining: BTreeSet::new(),
            ready: BTreeSet::new(),
            held: BTreeSet::new(),
        }
    }
}

/// Passes remembered: more than any request needs.
const KEPT: usize = 128;
