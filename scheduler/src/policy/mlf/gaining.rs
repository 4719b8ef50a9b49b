//! Requests that gain quantum until the same pass.

use std::collections::{BTreeMap, VecDeque};

/// The requests that qualify in one pass, in order of arrival.
///
/// They leave in that order: whoever qualifies, and whoever is overdue before. Only one that is
/// cancelled leaves from the midst; it is crossed out, as to look for it would take long.
#[derive(Debug, Default)]
pub(super) struct Gaining {
    /// Their slots. The first is none that is crossed out.
    slots: VecDeque<u32>,
    /// How often each slot is crossed out, from the first on: it may have been used again since.
    crossed: BTreeMap<u32, u32>,
    /// Crossed out in all.
    gone: usize,
}

impl Gaining {
    /// Adds a request as the youngest.
    #[inline]
    pub(super) fn push(&mut self, slot: u32) {
        self.slots.push_back(slot);
    }

    /// Takes the oldest out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        let slot = self.slots.pop_front();
        self.trim();
        slot
    }

    /// Takes out the request at `slot`, which is among them.
    pub(super) fn remove(&mut self, slot: u32) {
        if self.slots.front() == Some(&slot) {
            self.pop();
            return;
        }
        *self.crossed.entry(slot).or_default() += 1;
        self.gone += 1;
        if self.gone > self.slots.len() / 2 {
            let mut all = std::mem::take(&mut self.slots);
            all.retain(|&slot| !self.is_crossed(slot));
            self.slots = all;
        }
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Drops those in front that are crossed out.
    #[inline]
    fn trim(&mut self) {
        while self.gone > 0
            && let Some(&slot) = self.slots.front()
            && self.is_crossed(slot)
        {
            self.slots.pop_front();
        }
    }

    /// Whether the next entry with this slot is crossed out; then that is done with.
    fn is_crossed(&mut self, slot: u32) -> bool {
        let Some(count) = self.crossed.get_mut(&slot) else { return false };
        *count -= 1;
        if *count == 0 {
            self.crossed.remove(&slot);
        }
        self.gone -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_queue_whoever_leaves() {
        let (mut gaining, mut model) = (Gaining::default(), VecDeque::new());
        let mut free: Vec<u32> = (0..200).collect();
        let mut state = 1_u64;
        for step in 0..100_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let growing = (step >> 10).is_multiple_of(2);
            if free.len() > 1 && (state >> 40) % 8 < if growing { 5 } else { 2 } {
                let slot = free.pop().unwrap();
                gaining.push(slot);
                model.push_back(slot);
            } else if !model.is_empty() && (state >> 50).is_multiple_of(3) {
                let slot = model.remove((state >> 52) as usize % model.len()).unwrap();
                gaining.remove(slot);
                free.push(slot);
            } else {
                let slot = model.pop_front();
                assert_eq!(gaining.pop(), slot);
                free.extend(slot);
            }
            assert_eq!(gaining.is_empty(), model.is_empty());
            assert!(gaining.slots.len() <= 2 * model.len() + 2, "no more than twice as many");
        }
    }
}
