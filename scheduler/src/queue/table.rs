//! From a hash to a slot: open addressing with linear probing, the same on every run and machine.
//!
//! The table holds no keys; whoever asks says whether a slot is the one meant. Removal shifts the
//! entries behind back, so there are no tombstones and lookups never grow slower with age.

use super::NIL;

/// A set of slots, found by a 32-bit hash of a key that the slot's value holds.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    slot: u32,
}

impl Table {
    /// An empty table; it allocates at the first insertion.
    pub const fn new() -> Table {
        Table { entries: Vec::new(), len: 0 }
    }

    /// Adds `slot`; whether an equal key is there already is the caller's concern.
    pub fn insert(&mut self, hash: u32, slot: u32) {
        if (self.len + 1) * 8 > self.entries.len() * 7 {
            self.grow();
        }
        self.place(Entry { hash, slot });
        self.len += 1;
    }

    /// The slot with this hash for which `is` holds.
    #[inline]
    pub fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.position(hash, is).map(|at| self.entries[at].slot)
    }

    /// Takes out the slot with this hash for which `is` holds.
    pub fn remove(&mut self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let at = self.position(hash, is)?;
        let slot = self.entries[at].slot;
        self.close_gap(at);
        self.len -= 1;
        if self.len == 0 && self.entries.len() > SMALLEST {
            self.entries = Vec::new();
        }
        Some(slot)
    }

    /// Number of slots held.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no slot is held.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn position(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let mask = self.entries.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.entries[at];
            if entry.slot == NIL {
                return None;
            }
            if entry.hash == hash && is(entry.slot) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn place(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut at = entry.hash as usize & mask;
        while self.entries[at].slot != NIL {
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
    }

    /// Moves later entries of the same run forward so that none is cut off from its home.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.entries.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.slot == NIL {
                break;
            }
            let from_home = at.wrapping_sub(entry.hash as usize) & mask;
            if from_home >= at.wrapping_sub(gap) & mask {
                self.entries[gap] = entry;
                gap = at;
            }
        }
        self.entries[gap].slot = NIL;
    }

    fn grow(&mut self) {
        let size = (self.entries.len() * 2).max(SMALLEST);
        let old = std::mem::replace(&mut self.entries, vec![Entry { hash: 0, slot: NIL }; size]);
        for entry in old.into_iter().filter(|entry| entry.slot != NIL) {
            self.place(entry);
        }
    }
}

/// A hash of well mixed bits, for keys without any order worth keeping.
#[inline]
pub const fn mix(key: u64) -> u32 {
    let folded = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((folded ^ (folded >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

/// A hash for numbers given out in sequence: eight neighbours share a cache line, so that a queue
/// that is walked in order misses once for eight. Longer runs would collide with each other as a
/// whole and make probes long.
#[inline]
pub const fn spread(id: u64) -> u32 {
    (mix(id >> 3) << 3) | (id & 7) as u32
}

/// Entries of the smallest table.
const SMALLEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Keys are the slots' own numbers times a stride, so that `is` can be answered without a pool.
    fn exercise(stride: u64) {
        let mut table = Table::new();
        let mut model = BTreeMap::new();
        let mut state = 1_u64;
        for _ in 0..60_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let slot = u32::try_from((state >> 33) % 3_000).unwrap();
            let hash = spread(u64::from(slot) * stride);
            if model.remove(&slot).is_some() {
                assert_eq!(table.remove(hash, |found| found == slot), Some(slot));
            } else {
                assert_eq!(table.find(hash, |found| found == slot), None);
                table.insert(hash, slot);
                model.insert(slot, ());
            }
            assert_eq!(table.len(), model.len());
        }
        for &slot in model.keys() {
            let hash = spread(u64::from(slot) * stride);
            assert_eq!(table.find(hash, |found| found == slot), Some(slot));
        }
    }

    #[test]
    fn agrees_with_a_map_whatever_the_keys_look_like() {
        [1, 16, 256, 1 << 20, 1 << 40].into_iter().for_each(exercise);
    }

    #[test]
    fn keys_in_sequence_or_stride_do_not_pile_up() {
        for stride in [1_u64, 2, 64, 256, 4096, 1 << 32] {
            let mut used = vec![0_u32; 4096];
            (0..2_048_u64).for_each(|n| used[spread(n * stride) as usize & 4095] += 1);
            assert!(used.iter().all(|&n| n <= 12), "stride {stride} piles up");
            let mut table = Table::new();
            (0..20_000).for_each(|n| table.insert(spread(u64::from(n) * stride), n));
            let mask = table.entries.len() - 1;
            let probes = (0..).zip(&table.entries).filter(|(_, entry)| entry.slot != NIL);
            let total: usize = probes
                .map(|(at, entry): (usize, _)| at.wrapping_sub(entry.hash as usize) & mask)
                .sum();
            assert!(total < 20_000 * 16, "stride {stride}: {} probes on average", total / 20_000);
        }
    }
}
