//! Holding an object back for a moment in the hope of a better order or a larger merge: what `mlf`
//! and `aioli` have in common.
//!
//! Lebre et al. (2006) saw that requests of several processes arrive shifted against each other:
//! the one that belongs before the head is often just about to come.

use crate::policy::OutOfRange;
use crate::queue::{NIL, Slab};
use crate::time::{Span, Time};

/// What was issued from an object lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    /// Where the last batch began and ended.
    start: u64,
    end: u64,
    /// Where the next is expected to begin, if the last one went back.
    expected: Option<u64>,
    members: u32,
}

/// The pasts of the objects that have one: most of those that are queued have issued nothing yet, and
/// need no memory for it.
#[derive(Debug, Default)]
pub(super) struct Pasts(Slab<Past>);

/// Which past an object has, if any.
#[derive(Clone, Copy, Debug)]
pub(super) struct PastId(u32);

/// What is remembered of an object that has issued something, in a line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Past {
    pub(super) history: History,
    /// While it is held back: until then.
    pub(super) until: Time,
    /// Bytes it may issue in a turn.
    pub(super) quantum: u64,
}

impl Pasts {
    /// The past of an object, which begins now if it has none.
    pub(super) fn of(&mut self, id: &mut PastId) -> &mut Past {
        if id.0 == NIL {
            id.0 = self.0.insert(Past::default());
        }
        self.0.get_mut(id.0)
    }

    /// The past of an object, if it has one.
    pub(super) fn get(&mut self, id: PastId) -> Option<&mut Past> {
        (id.0 != NIL).then(|| self.0.get_mut(id.0))
    }

    /// Begins to load the past of an object, if it has one.
    pub(super) fn touch(&self, id: PastId) {
        if id.0 != NIL {
            self.0.touch(id.0);
        }
    }

    /// Forgets the past of an object.
    pub(super) fn forget(&mut self, id: PastId) {
        if id.0 != NIL {
            self.0.remove(id.0);
        }
    }
}

impl Default for PastId {
    fn default() -> Self {
        PastId(NIL)
    }
}

impl History {
    /// Whether a batch of `members` from offset `start` on should wait for a better one. An
    /// expectation, or a larger merge before, is a reason once only. What need not wait now need not
    /// when asked again.
    pub(super) fn doubts(&mut self, start: u64, members: usize) -> bool {
        if let Some(expected) = self.expected {
            let doubts = start > expected;
            self.expected = self.expected.filter(|_| !doubts);
            return doubts;
        }
        let doubts = start > self.end && self.members as usize > members;
        if doubts {
            self.members = 0;
        }
        doubts
    }

    /// Takes note of a batch that was issued. One that belongs before the last came late: the same
    /// process is expected to go on where that ended, and late again.
    pub(super) fn note(&mut self, start: u64, end: u64, members: usize) {
        self.expected = self.expected.filter(|&expected| start > expected);
        if start < self.start && self.expected.is_none() {
            self.expected = Some(self.end);
        }
        (self.start, self.end) = (start, end);
        self.members = u32::try_from(members).unwrap_or(u32::MAX);
    }
}

/// How many passes a request needs: with none it has a quantum of nothing, then of 1, 2, 4 and so on
/// times the quantum, until that covers its length.
pub(super) fn passes(length: u64, quantum: u64) -> u32 {
    let quanta = length.div_ceil(quantum).max(1);
    1 + (u64::BITS - (quanta - 1).leading_zeros())
}

/// Refuses a hold or a quantum out of range.
pub(super) fn check(hold: Span, quantum: u64) -> Result<(), OutOfRange> {
    OutOfRange::unless("hold", hold.as_nanos(), 0, 1_000_000_000)?;
    OutOfRange::unless("quantum", quantum, 512, 1 << 30)
}

/// Default time to hold an object back: what AGIOS waits.
pub(super) const HOLD: Span = Span::from_micros(900);

/// Empty objects whose history is remembered: those of one application, or two.
pub(super) const REMEMBERED: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_double_the_quantum() {
        let passes: Vec<u32> =
            [0, 1, 8, 9, 16, 17, 32, 33].map(|length| passes(length, 8)).to_vec();
        assert_eq!(passes, [1, 1, 1, 2, 2, 3, 3, 4]);
        assert_eq!(super::passes(u64::MAX, 512), 1 + 55);
    }

    #[test]
    fn after_a_step_back_the_next_is_expected_where_the_one_before_ended_once() {
        // A row of 50 from each of three processes; the first of them is late.
        let mut history = History::default();
        history.note(50, 150, 1);
        history.note(0, 50, 1);
        assert!(history.doubts(200, 1), "150 was expected");
        assert!(!history.doubts(200, 1), "and is so no longer");
        history.note(200, 300, 1);
        history.note(150, 200, 1);
        assert!(!history.doubts(300, 1), "it came");
    }

    #[test]
    fn what_was_expected_may_go_however_often_it_is_asked() {
        let mut history = History::default();
        history.note(50, 150, 1);
        history.note(0, 50, 4);
        assert!(!history.doubts(100, 1) && !history.doubts(100, 1), "150 was expected");
        history.note(100, 150, 4);
        assert!(history.doubts(200, 1), "nothing is expected any more; a larger merge may be");
    }

    #[test]
    fn a_larger_merge_before_is_a_reason_once() {
        let mut history = History::default();
        history.note(0, 40, 4);
        assert!(!history.doubts(50, 4) && !history.doubts(40, 1));
        assert!(history.doubts(50, 3) && !history.doubts(50, 3));
    }
}
