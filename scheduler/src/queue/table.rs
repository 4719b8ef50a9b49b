//! From a hash to a slot: buckets of a cache line each, the same on every run and machine.
//!
//! The table holds no keys; whoever asks says whether a slot is the one meant. What finds its bucket
//! full goes to the next one, and every bucket counts those that went past it: so a lookup nearly
//! always ends in its first line, and a removal leaves nothing behind.

use super::{NIL, ask};

/// A set of slots, found by a 32-bit hash of a key that the slot's value holds.
#[derive(Clone, Debug, Default)]
pub struct Table {
    buckets: Vec<Bucket>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// The last of them is none: eight are compared as fast as one.
    hashes: [u32; WIDTH + 1],
    slots: [u32; WIDTH],
    /// Entries that belong here or before, and are further on.
    passed: u32,
}

impl Table {
    /// An empty table; it allocates at the first insertion.
    pub const fn new() -> Table {
        Table { buckets: Vec::new(), len: 0 }
    }

    /// Adds `slot`; whether an equal key is there already is the caller's concern.
    pub fn insert(&mut self, hash: u32, slot: u32) {
        if (self.len + 1) * 100 > self.buckets.len() * WIDTH * FULL {
            self.grow();
        }
        self.place(hash, slot);
        self.len += 1;
    }

    /// Adds `slot` unless there is one with this hash for which `is` holds.
    #[inline]
    pub fn insert_unless(&mut self, hash: u32, slot: u32, is: impl Fn(u32) -> bool) {
        if self.position(hash, is).is_none() {
            self.insert(hash, slot);
        }
    }

    /// Begins to load what a lookup of this hash will need, so that several can be under way at a
    /// time.
    #[inline]
    pub fn touch(&self, hash: u32) {
        if !self.buckets.is_empty() {
            ask(&self.buckets[self.home(hash)]);
        }
    }

    /// A slot that this hash may stand for, found without a look at more than one line.
    #[inline]
    pub fn guess(&self, hash: u32) -> Option<u32> {
        let bucket = self.buckets.get(self.home(hash))?;
        let alike = bucket.alike(hash);
        let place = alike.trailing_zeros() as usize;
        (alike != 0 && bucket.slots[place] != NIL).then(|| bucket.slots[place])
    }

    /// The slot with this hash for which `is` holds.
    #[inline]
    pub fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let (bucket, at) = self.position(hash, is)?;
        Some(self.buckets[bucket].slots[at])
    }

    /// Takes out the slot with this hash for which `is` holds.
    pub fn remove(&mut self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let (found, at) = self.position(hash, is)?;
        let slot = std::mem::replace(&mut self.buckets[found].slots[at], NIL);
        self.unpass(self.home(hash), found);
        self.fill_gap(found);
        self.len -= 1;
        if self.len == 0 && self.buckets.len() > SMALLEST {
            self.buckets = Vec::new();
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
    fn position(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<(usize, usize)> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.home(hash);
        loop {
            let bucket = &self.buckets[at];
            let mut alike = bucket.alike(hash);
            while alike != 0 {
                let place = alike.trailing_zeros() as usize;
                if bucket.slots[place] != NIL && is(bucket.slots[place]) {
                    return Some((at, place));
                }
                alike &= alike - 1;
            }
            if bucket.passed == 0 {
                return None;
            }
            at = self.after(at);
        }
    }

    #[inline]
    fn place(&mut self, hash: u32, slot: u32) {
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if bucket.fill(hash, slot) {
                return;
            }
            bucket.passed += 1;
            at = self.after(at);
        }
    }

    /// One entry less goes past the buckets between these.
    fn unpass(&mut self, mut from: usize, to: usize) {
        while from != to {
            self.buckets[from].passed -= 1;
            from = self.after(from);
        }
    }

    /// Moves entries that went past a bucket with a free place back to it, and so on with the places
    /// they leave, so that a table that was full for long is no slower than a new one.
    fn fill_gap(&mut self, mut gap: usize) {
        let mut at = gap;
        while self.buckets[gap].passed > 0 {
            at = self.after(at);
            let Some(place) = self.which_passed(gap, at) else { continue };
            let Bucket { hashes, slots, .. } = self.buckets[at];
            self.buckets[at].slots[place] = NIL;
            self.buckets[gap].fill(hashes[place], slots[place]);
            self.unpass(gap, at);
            gap = at;
        }
    }

    /// An entry of the bucket `at` that went past `gap` on its way.
    fn which_passed(&self, gap: usize, at: usize) -> Option<usize> {
        let Bucket { hashes, slots, .. } = self.buckets[at];
        let way = self.distance(gap, at);
        (0..WIDTH).find(|&place| {
            slots[place] != NIL && self.distance(self.home(hashes[place]), at) >= way
        })
    }

    /// Steps from one bucket to another, going round.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.buckets.len() - from }
    }

    /// The bucket of this hash: as far through the table as the hash is through all hashes, so that
    /// a table may have any length.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.buckets.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    /// Grows by an eighth, for the sake of memory: a table in use is 74 to 83 % full.
    fn grow(&mut self) {
        let size = (self.buckets.len() + self.buckets.len() / 8).max(SMALLEST);
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::EMPTY; size]);
        for bucket in old {
            for place in (0..WIDTH).filter(|&place| bucket.slots[place] != NIL) {
                self.place(bucket.hashes[place], bucket.slots[place]);
            }
        }
    }
}

impl Bucket {
    const EMPTY: Bucket = Bucket { hashes: [0; WIDTH + 1], slots: [NIL; WIDTH], passed: 0 };

    /// Takes an entry in, if there is a free place.
    #[inline]
    fn fill(&mut self, hash: u32, slot: u32) -> bool {
        let free = self.free();
        if free == 0 {
            return false;
        }
        let place = free.trailing_zeros() as usize;
        (self.hashes[place], self.slots[place]) = (hash, slot);
        true
    }

    /// The places with this hash, a bit each; some of them may not be in use.
    #[inline]
    fn alike(&self, hash: u32) -> u32 {
        let mut found = 0;
        for place in 0..=WIDTH {
            found |= u32::from(self.hashes[place] == hash) << place;
        }
        found & ((1 << WIDTH) - 1)
    }

    /// The places not in use, a bit each.
    #[inline]
    fn free(&self) -> u32 {
        let mut found = 0;
        for place in 0..WIDTH {
            found |= u32::from(self.slots[place] == NIL) << place;
        }
        found
    }
}

/// A hash of well mixed bits, for keys without any order worth keeping.
#[inline]
pub const fn mix(key: u64) -> u32 {
    let folded = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((folded ^ (folded >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

/// A hash for numbers given out in sequence: four neighbours stay together, so that a queue that is
/// walked in order misses the cache once for four. Longer runs would collide with each other as a
/// whole and make probes long.
#[inline]
pub const fn spread(id: u64) -> u32 {
    (mix(id >> 2) & !3) | (id & 3) as u32
}

/// Entries of a bucket: what fits into 64 bytes.
const WIDTH: usize = 7;

/// How full a table may be, in hundredths, before it grows.
const FULL: usize = 83;

/// Buckets of the smallest table.
const SMALLEST: usize = 8;

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

    /// How many buckets the entries are away from their own, in all.
    fn steps(table: &Table) -> u32 {
        table.buckets.iter().map(|bucket| bucket.passed).sum()
    }

    #[test]
    fn keys_in_sequence_or_stride_do_not_pile_up_with_age() {
        for stride in [1_u64, 2, 64, 256, 4096, 1 << 32] {
            let mut table = Table::new();
            (0..20_000).for_each(|n| table.insert(spread(u64::from(n) * stride), n));
            let before = steps(&table);
            assert!(before < 20_000, "stride {stride}: {before} steps past full buckets");
            for n in 20_000..400_000_u32 {
                let old = n - 20_000;
                table.remove(spread(u64::from(old) * stride), |slot| slot == old);
                table.insert(spread(u64::from(n) * stride), n);
            }
            let after = steps(&table);
            assert!(after < 2 * before.max(10_000), "stride {stride}: {before}, aged {after}");
        }
    }
}
