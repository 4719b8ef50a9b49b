//! Numbers that are random, and the same for the same seed.

/// A generator of them.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below a limit, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.roll() >> 16) as usize % limit
    }
}
