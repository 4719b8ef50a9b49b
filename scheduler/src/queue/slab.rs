//! A store of values by slot number that grows in pieces: no value moves, and no growth copies all.

use super::ask;

/// Values of one type, each at a slot that stays its own until it is removed; so many in one piece of
/// memory.
#[derive(Debug)]
pub struct Slab<T, const CHUNK: usize = 512> {
    /// Where they are has to stay in the cache, so their length is not written there.
    chunks: Vec<Box<[T; CHUNK]>>,
    /// Slots that were ever in use since it was last empty.
    made: usize,
    free: Vec<u32>,
    live: usize,
}

impl<T: Copy, const CHUNK: usize> Slab<T, CHUNK> {
    /// An empty slab; it allocates at the first insertion.
    pub const fn new() -> Slab<T, CHUNK> {
        Slab { chunks: Vec::new(), made: 0, free: Vec::new(), live: 0 }
    }

    /// Stores `value` and returns its slot; a slot freed last is used first, as it is still cached.
    pub fn insert(&mut self, value: T) -> u32 {
        self.live += 1;
        if let Some(slot) = self.free.pop() {
            *self.get_mut(slot) = value;
            return slot;
        }
        if self.made == self.chunks.len() * CHUNK {
            self.chunks.push(piece(value));
        }
        let slot = u32::try_from(self.made).expect("fewer than 2^32 requests fit in memory");
        self.made += 1;
        *self.get_mut(slot) = value;
        slot
    }

    /// Takes the value at `slot` out and frees the slot.
    pub fn remove(&mut self, slot: u32) -> T {
        let value = *self.get(slot);
        self.live -= 1;
        if self.live == 0 {
            self.reset();
        } else {
            self.free.push(slot);
        }
        value
    }

    /// All slots in use, ascending. This walks the whole slab.
    pub fn slots(&self) -> Vec<u32> {
        let mut free = self.free.clone();
        free.sort_unstable();
        let mut free = free.into_iter().peekable();
        let all = 0..u32::try_from(self.made).expect("slots are u32");
        all.filter(|slot| free.next_if_eq(slot).is_none()).collect()
    }

    /// Number of values stored.
    pub const fn len(&self) -> usize {
        self.live
    }

    /// Whether nothing is stored.
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// The value at `slot`, which must be in use.
    #[inline]
    pub fn get(&self, slot: u32) -> &T {
        &self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    /// The value at `slot`, which must be in use, to be changed.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    /// Begins to load the value at `slot`, which may lie on two lines of the cache: the other one is that
    /// where the next value begins.
    #[inline]
    pub fn touch(&self, slot: u32) {
        let chunk = &self.chunks[slot as usize / CHUNK];
        ask(&chunk[slot as usize % CHUNK]);
        chunk.get(slot as usize % CHUNK + 1).into_iter().for_each(ask);
    }

    /// Gives the memory of a past peak back, all but one chunk.
    fn reset(&mut self) {
        self.chunks.truncate(1);
        self.made = 0;
        self.free.clear();
        self.free.shrink_to(CHUNK);
    }
}

impl<T: Copy, const CHUNK: usize> Default for Slab<T, CHUNK> {
    fn default() -> Self {
        Slab::new()
    }
}

/// A piece of memory with a value at every place.
pub(super) fn piece<T: Copy, const LENGTH: usize>(value: T) -> Box<[T; LENGTH]> {
    let all = vec![value; LENGTH].into_boxed_slice();
    all.try_into().ok().expect("it is as long as it was made")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = 512;

    #[test]
    fn keeps_values_apart_over_chunks_and_reuse() {
        let mut slab = Slab::<u64>::new();
        let slots: Vec<u32> = (0..3 * CHUNK as u64).map(|n| slab.insert(n)).collect();
        for (n, &slot) in slots.iter().enumerate().filter(|(n, _)| n % 3 == 0) {
            assert_eq!(slab.remove(slot), n as u64);
        }
        let again: Vec<u32> = (0..CHUNK as u64).map(|n| slab.insert(n + 10_000)).collect();
        assert_eq!(slab.len(), 3 * CHUNK);
        assert_eq!(slab.slots(), (0..3 * CHUNK as u32).collect::<Vec<_>>());
        slab.remove(slots[1]);
        assert!(!slab.slots().contains(&slots[1]));
        assert_eq!(slab.insert(1), slots[1]);
        for (n, &slot) in again.iter().enumerate() {
            assert_eq!(*slab.get(slot), n as u64 + 10_000);
        }
        for (n, &slot) in slots.iter().enumerate().filter(|(n, _)| n % 3 != 0) {
            assert_eq!(*slab.get(slot), n as u64);
        }
    }

    #[test]
    fn an_empty_slab_gives_its_memory_back() {
        let mut slab = Slab::<u64>::new();
        let slots: Vec<u32> = (0..10 * CHUNK as u64).map(|n| slab.insert(n)).collect();
        for slot in slots {
            slab.remove(slot);
        }
        assert!(slab.is_empty() && slab.chunks.len() == 1);
        assert_eq!(slab.insert(7), 0);
    }
}
