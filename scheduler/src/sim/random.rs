//! Random numbers from a seed: the same on every machine and in every version of the compiler.

/// A generator of the SplitMix64 family (Steele, Lea, Flood 2014): a counter, thoroughly stirred.
///
/// Its only state is the counter, so every process and server of a simulation has its own.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator number `stream` of those that belong to `seed`.
    pub const fn new(seed: u64, stream: u64) -> Random {
        // The counter starts at a stirred value: neighbouring streams must not overlap.
        Random(stir(seed ^ stir(stream.wrapping_add(STEP))))
    }

    /// The next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        stir(self.0)
    }

    /// A number below `bound`; zero if there is none.
    pub const fn below(&mut self, bound: u64) -> u64 {
        // The high half of a product is even up to bound / 2^64, far below what a simulation can see.
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }
}

const fn stir(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Odd, and close to 2^64 divided by the golden ratio: the counter visits every value before it repeats.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_numbers_and_a_stream_changes_them() {
        let draw = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(2, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0)[1..], draw(1, 1)[..2]);
    }

    #[test]
    fn numbers_stay_below_their_bound_and_fill_it() {
        let mut random = Random::new(7, 7);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[random.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }
}
