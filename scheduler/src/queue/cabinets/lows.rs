//! Where pieces of an ordered set begin: what is searched to find one of them.

use crate::queue::boxes::Spot;

/// The lowest spot that each of some pieces may have in it, ascending.
///
/// Offsets apart from slots, which matter only where several requests begin at the same offset.
#[derive(Debug, Default)]
pub(super) struct Lows {
    ats: Vec<u64>,
    slots: Vec<u32>,
}

impl Lows {
    /// One piece, which may have any spot in it.
    pub(super) fn one() -> Lows {
        Lows { ats: vec![0], slots: vec![0] }
    }

    /// The piece that a spot is or belongs in: the last that begins there or before.
    ///
    /// One in eight is looked at, and then those between two of these. None of these loads has to wait
    /// for another one, as each of a binary search has.
    #[inline]
    pub(super) fn position(&self, spot: Spot) -> usize {
        let at = spot.at();
        let is_below = |low: &&u64| **low < at;
        let some = self.ats.iter().skip(STRIDE - 1).step_by(STRIDE);
        let from = some.filter(is_below).count() * STRIDE;
        let mut below = from + self.ats[from..].iter().take(STRIDE).filter(is_below).count();
        if self.ats.get(below) == Some(&at) {
            let same = self.ats[below..].partition_point(|&low| low == at);
            below += self.slots[below..below + same].partition_point(|&slot| slot <= spot.slot);
        }
        below.saturating_sub(1)
    }

    /// Where a piece begins, if there is such a piece.
    #[inline]
    pub(super) fn get(&self, piece: usize) -> Option<Spot> {
        self.ats.get(piece).map(|&at| Spot::new(at, self.slots[piece]))
    }

    pub(super) fn insert(&mut self, piece: usize, low: Spot) {
        self.ats.insert(piece, low.at());
        self.slots.insert(piece, low.slot);
    }

    /// Forgets where a piece begins that is gone: what it spanned falls to the one before it, or for
    /// the first to the one behind.
    pub(super) fn forget(&mut self, piece: usize) {
        let gone = if piece == 0 && self.ats.len() > 1 { 1 } else { piece };
        self.ats.remove(gone);
        self.slots.remove(gone);
    }

    /// The first piece of all begins where nothing is lower.
    pub(super) fn begin_least(&mut self) {
        (self.ats[0], self.slots[0]) = (0, 0);
    }

    /// Parts with those from a piece on.
    pub(super) fn split_off(&mut self, piece: usize) -> Lows {
        Lows { ats: self.ats.split_off(piece), slots: self.slots.split_off(piece) }
    }
}

/// Offsets to a line of the cache.
const STRIDE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorted spots, with many at the same offsets: each is found as a plain search finds it.
    #[test]
    fn agree_with_a_plain_search() {
        let mut state = 1_u64;
        for count in 1..200_usize {
            let mut spots = vec![(0, 0)];
            for _ in 1..count {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                spots.push((
                    state >> 40 & if count % 2 == 0 { 7 } else { 255 },
                    (state >> 33) as u32 % 64,
                ));
            }
            spots.sort_unstable();
            spots.dedup();
            let mut lows = Lows::default();
            spots.iter().rev().for_each(|&(at, slot)| lows.insert(0, Spot::new(at, slot)));
            for at in 0..260 {
                for slot in [0, 1, 31, 63, u32::MAX] {
                    let known = spots.iter().rposition(|&spot| spot <= (at, slot));
                    assert_eq!(lows.position(Spot::new(at, slot)), known.unwrap());
                }
            }
        }
    }
}
