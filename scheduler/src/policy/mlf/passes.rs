//! The passes over the objects of one server: who has a turn, who is held, who gains quantum.

use std::collections::{BTreeMap, BTreeSet};

use super::gaining::Gaining;
use crate::queue::Ring;
use crate::time::Time;

/// Where a lane waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing of it qualifies.
    #[default]
    Nowhere,
    /// It has a turn, in the pass that this ring is for.
    Turn(u8),
    /// It is held back; its past says until when.
    Held,
}

/// The passes over the objects of one server.
#[derive(Debug, Default)]
pub(super) struct Passes {
    count: u64,
    /// The lanes that have a turn in this pass and those that have one in the next. Which is which
    /// changes with every pass, so that no lane needs to be told.
    rings: [Ring; 2],
    current: u8,
    pub(super) held: BTreeSet<(Time, u32)>,
    /// Requests that do not qualify yet, by the pass in which they will.
    gaining: BTreeMap<u64, Gaining>,
}

impl Passes {
    /// Begins a pass: the lanes served in the last one have turns again. Passes in which nothing
    /// could happen are left out. Whether anything can happen at all.
    pub(super) fn begin(&mut self) -> bool {
        self.current = 1 - self.current;
        let first = self.gaining.first_key_value().map(|(&due, _)| due);
        if first.is_some_and(|due| due <= self.count) {
            return true; // Some that qualified in this pass are still to be moved: it goes on.
        }
        self.count += 1;
        if self.ring(self.current).is_empty() {
            let Some(due) = first else { return false };
            self.count = self.count.max(due);
        }
        true
    }

    /// The lane whose turn it is.
    pub(super) fn head(&self) -> Option<u32> {
        self.rings[usize::from(self.current)].head()
    }

    /// Where a lane waits that has its turn in this pass.
    pub(super) const fn this(&self) -> Place {
        Place::Turn(self.current)
    }

    /// Where a lane waits that has its turn in the next pass.
    pub(super) const fn next(&self) -> Place {
        Place::Turn(1 - self.current)
    }

    /// The lanes of a place with turns.
    pub(super) const fn ring(&mut self, number: u8) -> &mut Ring {
        &mut self.rings[number as usize]
    }

    /// Lets a request gain quantum for so many passes; the mark to put on it.
    pub(super) fn gain(&mut self, slot: u32, passes: u32) -> u16 {
        let due = self.count + u64::from(passes);
        self.gaining.entry(due).or_default().push(slot);
        u16::try_from(due % MARKS).expect("a remainder of 65,535 is a u16") + 1
    }

    /// Takes out a request that qualifies by now: of several the one that came first.
    pub(super) fn qualify(&mut self) -> Option<u32> {
        let mut first = self.gaining.first_entry().filter(|due| *due.key() <= self.count)?;
        let slot = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        slot
    }

    /// Forgets a request that gains quantum. Its pass is none gone by, as no pass ends before all
    /// that qualify in it have been moved, and less than 66 ahead; so the mark tells it.
    pub(super) fn forget(&mut self, slot: u32, mark: u16) {
        let ahead = (u64::from(mark) - 1 + MARKS - self.count % MARKS) % MARKS;
        let due = self.count + ahead;
        let gaining = self.gaining.get_mut(&due).expect("a request that gains is due in its pass");
        gaining.remove(slot);
        if gaining.is_empty() {
            self.gaining.remove(&due);
        }
    }

    /// The lane whose hold ends first, if it has ended.
    pub(super) fn released(&self, now: Time) -> Option<u32> {
        self.held.first().filter(|&&(until, _)| until <= now).map(|&(_, lane)| lane)
    }

    /// When the next hold ends.
    pub(super) fn wake(&self) -> Option<Time> {
        self.held.first().map(|&(until, _)| until)
    }
}

/// The mark of a request that qualifies; others bear the pass in which they will.
pub(super) const QUALIFIED: u16 = 0;

/// Passes that a mark can tell apart.
const MARKS: u64 = 65_535;
