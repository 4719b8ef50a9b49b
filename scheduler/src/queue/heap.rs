//! Which lane is least: lanes by a number that changes often, where only the least matters.

/// A heap of lanes, four below each. It tells whoever owns the lanes where each of them is, so that one
/// can be moved when its number changes: mostly by a step or two, where an ordered set would search
/// twice.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    entries: Vec<Entry>,
}

/// A number in halves, so that there is nothing between two entries, and its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    high: u32,
    low: u32,
    lane: u32,
}

impl Heap {
    /// No lane.
    pub const fn new() -> Heap {
        Heap { entries: Vec::new() }
    }

    /// The lane with the least number; of several the first.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.entries.first().map(|entry| entry.lane)
    }

    /// Adds a lane; `moved` is told every lane that has another place then, this one included.
    pub fn insert(&mut self, number: u64, lane: u32, moved: impl FnMut(u32, u32)) {
        let entry = Entry::new(number, lane);
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(self.entries.len() / 8 + FEW);
        }
        self.entries.push(entry);
        self.rise(self.entries.len() - 1, entry, moved);
    }

    /// Changes the number of the lane at a place.
    pub fn change(&mut self, place: u32, number: u64, moved: impl FnMut(u32, u32)) {
        let place = place as usize;
        let old = self.entries[place];
        let entry = Entry::new(number, old.lane);
        if entry.key() < old.key() {
            self.rise(place, entry, moved);
        } else {
            self.sink(place, entry, moved);
        }
    }

    /// Takes the lane at a place out.
    pub fn remove(&mut self, place: u32, moved: impl FnMut(u32, u32)) {
        let place = place as usize;
        let old = self.entries[place];
        let last = self.entries.pop().expect("the lane is in the heap");
        if place == self.entries.len() {
            return;
        }
        if last.key() < old.key() {
            self.rise(place, last, moved);
        } else {
            self.sink(place, last, moved);
        }
    }

    /// Begins to load what a change of the lane at a place needs.
    #[inline]
    pub fn touch(&self, place: u32) {
        for place in [place as usize, place as usize * WIDTH + 1] {
            if let Some(entry) = self.entries.get(place) {
                super::ask(entry);
            }
        }
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        *self = Heap::new();
    }

    fn rise(&mut self, mut place: usize, entry: Entry, mut moved: impl FnMut(u32, u32)) {
        while place > 0 {
            let above = (place - 1) / WIDTH;
            if self.entries[above].key() <= entry.key() {
                break;
            }
            self.put(place, self.entries[above], &mut moved);
            place = above;
        }
        self.put(place, entry, &mut moved);
    }

    fn sink(&mut self, mut place: usize, entry: Entry, mut moved: impl FnMut(u32, u32)) {
        loop {
            let first = place * WIDTH + 1;
            let below = first..(first + WIDTH).min(self.entries.len());
            let least = below.min_by_key(|&place| self.entries[place].key());
            let Some(least) = least.filter(|&least| self.entries[least].key() < entry.key()) else {
                break;
            };
            self.put(place, self.entries[least], &mut moved);
            place = least;
        }
        self.put(place, entry, &mut moved);
    }

    fn put(&mut self, place: usize, entry: Entry, moved: &mut impl FnMut(u32, u32)) {
        self.entries[place] = entry;
        moved(entry.lane, u32::try_from(place).expect("fewer lanes than 2^32"));
    }
}

impl Entry {
    const fn new(number: u64, lane: u32) -> Entry {
        Entry { high: (number >> 32) as u32, low: number as u32, lane }
    }

    #[inline]
    const fn key(self) -> u128 {
        (self.high as u128) << 64 | (self.low as u128) << 32 | self.lane as u128
    }
}

/// Entries below one.
const WIDTH: usize = 4;

/// Places that a full heap gets at least.
const FEW: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_set_whatever_changes() {
        let (mut heap, mut model, mut state) = (Heap::new(), BTreeSet::new(), 1_u64);
        let mut lanes = vec![(0_u64, 0_u32); 500];
        for _ in 0..50_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let lane = (state >> 33) as usize % lanes.len();
            let number = if (state >> 60) < 5 { 0 } else { ((state >> 40) % 900) << 20 };
            let (old, place) = lanes[lane];
            let slot = lane as u32;
            let moved = |lane: u32, place: u32| lanes[lane as usize].1 = place;
            match (old, number) {
                (0, 0) => {}
                (0, _) => heap.insert(number, slot, moved),
                (_, 0) => heap.remove(place, moved),
                _ => heap.change(place, number, moved),
            }
            lanes[lane].0 = number;
            model.remove(&(old, slot));
            if number > 0 {
                model.insert((number, slot));
            }
            assert_eq!(heap.first(), model.first().map(|&(_, lane)| lane));
        }
    }
}
