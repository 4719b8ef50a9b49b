//! Which bytes of a file are where: arithmetic of stripes that are dealt out in turn.

/// Stripes of one size over so many servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Bytes of a stripe; not zero.
    pub(crate) unit: u64,
    /// How many servers there are; not zero.
    pub(crate) count: u64,
}

impl Geometry {
    /// How many of the first `size` bytes of a file are on the server whose turn is `turn`.
    pub(crate) fn share(self, turn: u64, size: u64) -> u64 {
        let row = self.unit.saturating_mul(self.count);
        let (rows, rest) = (size / row, size % row);
        rows * self.unit + rest.saturating_sub(turn * self.unit).min(self.unit)
    }

    /// The byte of the file at this offset of the object of that server.
    pub(crate) fn file_offset(self, turn: u64, local: u64) -> u64 {
        let stripe = (local / self.unit).saturating_mul(self.count).saturating_add(turn);
        stripe.saturating_mul(self.unit).saturating_add(local % self.unit)
    }

    /// Whose turn it is at a byte of the file.
    pub(crate) fn turn(self, offset: u64) -> u64 {
        offset / self.unit % self.count
    }

    /// The first byte of the next stripe.
    pub(crate) fn next_stripe(self, offset: u64) -> u64 {
        (offset / self.unit + 1).saturating_mul(self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_counted_once_and_found_again() {
        for (unit, count) in [(1, 1), (4, 3), (7, 2), (64, 4)] {
            let geometry = Geometry { unit, count };
            let mut shares = vec![0; count as usize];
            for offset in 0..1_000 {
                for (turn, share) in shares.iter().enumerate() {
                    assert_eq!(geometry.share(turn as u64, offset), *share);
                }
                let turn = geometry.turn(offset);
                let local = shares[turn as usize];
                assert_eq!(geometry.file_offset(turn, local), offset);
                shares[turn as usize] += 1;
            }
        }
    }

    #[test]
    fn the_largest_file_is_no_trouble() {
        let geometry = Geometry { unit: 1 << 32, count: 1_024 };
        assert!(geometry.share(1_023, i64::MAX as u64) <= i64::MAX as u64);
        let one = Geometry { unit: u64::MAX, count: 3 };
        assert_eq!(one.share(0, 5), 5);
        assert_eq!(one.share(1, 5), 0);
    }
}
