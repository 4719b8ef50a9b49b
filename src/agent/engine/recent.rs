//! The batches that left last: who used which server when, for the picture of the windows.

use iofwd_scheduler::batch::Batch;
use iofwd_scheduler::time::Time;

/// A batch that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) at: Time,
    pub(super) server: u32,
    pub(super) bytes: u64,
}

/// A bounded number of them; the oldest makes room for the newest.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    left: Vec<Left>,
    next: usize,
}

impl Recent {
    pub(super) fn note(&mut self, at: Time, batch: &Batch) {
        self.push(Left { at, server: batch.server().0, bytes: batch.bytes() });
    }

    fn push(&mut self, left: Left) {
        if self.left.len() < MOST {
            return self.left.push(left);
        }
        self.left[self.next] = left;
        self.next = (self.next + 1) % MOST;
    }

    /// All of them, the oldest first.
    pub(super) fn in_order(&self) -> Vec<Left> {
        [&self.left[self.next..], &self.left[..self.next]].concat()
    }
}

/// As many as a picture shows.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_there_in_order() {
        let mut recent = Recent::default();
        for number in 0..MOST as u64 + 5 {
            recent.push(Left { at: Time::from_nanos(number), server: 0, bytes: 1 });
        }
        let times: Vec<u64> = recent.in_order().iter().map(|left| left.at.as_nanos()).collect();
        assert_eq!(times, (5..MOST as u64 + 5).collect::<Vec<_>>());
    }
}
