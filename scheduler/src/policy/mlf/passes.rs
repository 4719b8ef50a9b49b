//! The passes over the objects of one server: who has a turn, who is held, who gains quantum.

use std::collections::BTreeSet;

use crate::queue::Ring;
use crate::time::Time;

/// Where a lane waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing of it qualifies.
    #[default]
    Nowhere,
    /// It has its turn in this pass.
    This,
    /// It has its turn in the next pass.
    Next,
    /// It is held back until then.
    Held(Time),
}

/// The passes over the objects of one server.
#[derive(Debug, Default)]
pub(super) struct Passes {
    count: u64,
    pub(super) this: Ring,
    pub(super) next: Ring,
    pub(super) held: BTreeSet<(Time, u32)>,
    /// Requests that do not qualify yet, by the pass in which they will.
    gaining: BTreeSet<Due>,
}

/// A pass and a slot, in twelve bytes instead of sixteen: there is one for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due([u32; 3]);

impl Passes {
    /// Begins a pass: the lanes served in the last one have turns again. Passes in which nothing
    /// could happen are left out. Whether anything can happen at all.
    pub(super) fn begin(&mut self) -> bool {
        std::mem::swap(&mut self.this, &mut self.next);
        let first = self.gaining.first().map(|due| due.pass());
        if first.is_some_and(|due| due <= self.count) {
            return true; // Some that qualified in this pass are still to be moved: it goes on.
        }
        self.count += 1;
        if self.this.is_empty() {
            let Some(due) = first else { return false };
            self.count = self.count.max(due);
        }
        true
    }

    /// Lets a request gain quantum for so many passes; the mark to put on it.
    pub(super) fn gain(&mut self, slot: u32, passes: u32) -> u16 {
        let due = self.count + u64::from(passes);
        self.gaining.insert(Due::new(due, slot));
        u16::try_from(due % MARKS).expect("a remainder of 65,535 is a u16") + 1
    }

    /// Takes out a request that qualifies by now.
    pub(super) fn qualify(&mut self) -> Option<u32> {
        let first = self.gaining.first().filter(|due| due.pass() <= self.count)?;
        let slot = first.slot();
        self.gaining.pop_first();
        Some(slot)
    }

    /// Forgets a request that gains quantum. Its pass is none gone by, as no pass ends before all
    /// that qualify in it have been moved, and less than 66 ahead; so the mark tells it.
    pub(super) fn forget(&mut self, slot: u32, mark: u16) {
        let ahead = (u64::from(mark) - 1 + MARKS - self.count % MARKS) % MARKS;
        let known = self.gaining.remove(&Due::new(self.count + ahead, slot));
        assert!(known, "a request that does not qualify gains quantum");
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

impl Due {
    const fn new(pass: u64, slot: u32) -> Due {
        Due([(pass >> 32) as u32, pass as u32, slot])
    }

    const fn pass(self) -> u64 {
        (self.0[0] as u64) << 32 | self.0[1] as u64
    }

    const fn slot(self) -> u32 {
        self.0[2]
    }
}

/// The mark of a request that qualifies; others bear the pass in which they will.
pub(super) const QUALIFIED: u16 = 0;

/// Passes that a mark can tell apart.
const MARKS: u64 = 65_535;
