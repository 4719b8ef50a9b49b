//! What stands at every place of every file, so that a wrong byte is found and its origin named.
//!
//! Each word of eight bytes holds its own address (pass, file, place), stirred with the seed. The
//! stirring can be undone: a word in the wrong place says where it belongs.

/// The bytes of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    key: u64,
}

/// Where bytes stand: which time the file is written, which file of the run, the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pass: u64,
    pub(super) file: u64,
    pub(super) offset: u64,
}

/// What was found where something else should stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// The first wrong byte.
    pub(super) offset: u64,
    pub(super) expected: u8,
    pub(super) found: u8,
    /// The whole word that was found around it.
    pub(super) word: u64,
    /// How many bytes were wrong in all.
    pub(super) bytes: u64,
}

impl Content {
    pub(super) const fn new(seed: u64) -> Content {
        Content { key: stir(seed) }
    }

    /// Writes what belongs at the place. It must begin and end at a multiple of eight.
    pub(super) fn fill(&self, buffer: &mut [u8], place: Place) {
        for (tag, chunk) in (tag(place)..).zip(buffer.chunks_exact_mut(WORD)) {
            chunk.copy_from_slice(&self.word(tag).to_le_bytes());
        }
    }

    /// The first wrong byte and their number; nothing if all are right.
    pub(super) fn check(&self, buffer: &[u8], place: Place) -> Option<Mismatch> {
        let mut first: Option<Mismatch> = None;
        let tag = tag(place);
        for (index, chunk) in (0_u64..).zip(buffer.chunks_exact(WORD)) {
            let found = u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes"));
            let expected = self.word(tag + index);
            if found != expected {
                let offset = place.offset + index * WORD as u64;
                let mismatch = Mismatch::between(offset, expected, found);
                match &mut first {
                    None => first = Some(mismatch),
                    Some(first) => first.bytes += mismatch.bytes,
                }
            }
        }
        first
    }

    /// Where a word belongs. Of words that were never written, one in millions seems to belong.
    pub(super) const fn origin(&self, word: u64) -> Place {
        let tag = unstir(word) ^ self.key;
        Place {
            pass: tag >> (FILE_BITS + WORD_BITS),
            file: (tag >> WORD_BITS) & ((1 << FILE_BITS) - 1),
            offset: (tag & ((1 << WORD_BITS) - 1)) * WORD as u64,
        }
    }

    const fn word(&self, tag: u64) -> u64 {
        stir(tag ^ self.key)
    }
}

impl Mismatch {
    fn between(offset: u64, expected: u64, found: u64) -> Mismatch {
        let (right, wrong) = (expected.to_le_bytes(), found.to_le_bytes());
        let differ = |index: &usize| right[*index] != wrong[*index];
        let first = (0..WORD).find(differ).expect("the words differ");
        Mismatch {
            offset: offset + first as u64,
            expected: right[first],
            found: wrong[first],
            word: found,
            bytes: (0..WORD).filter(differ).count() as u64,
        }
    }
}

const fn tag(place: Place) -> u64 {
    let word = place.offset / GRAIN;
    place.pass << (FILE_BITS + WORD_BITS) | place.file << WORD_BITS | word
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): one to one, and every bit matters.
pub(super) const fn stir(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(FIRST);
    bits = (bits ^ (bits >> 27)).wrapping_mul(SECOND);
    bits ^ (bits >> 31)
}

const fn unstir(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 31) ^ (bits >> 62)).wrapping_mul(inverse(SECOND));
    bits = (bits ^ (bits >> 27) ^ (bits >> 54)).wrapping_mul(inverse(FIRST));
    bits ^ (bits >> 30) ^ (bits >> 60)
}

/// What undoes a multiplication by an odd number: each of Newton's steps doubles the right bits.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;
const WORD: usize = 8;
const FILE_BITS: u32 = 16;
const WORD_BITS: u32 = 40;

/// Requests must begin and end at a multiple of this.
pub(super) const GRAIN: u64 = WORD as u64;
/// As many times a file can be written and every pass still be told from the others.
pub(super) const PASSES: u64 = (1 << (64 - FILE_BITS - WORD_BITS)) - 1;
/// As many files can be told from each other.
pub(super) const FILES: u64 = 1 << FILE_BITS;
/// As long can a file be.
pub(super) const FILE_BYTES: u64 = 1 << (WORD_BITS + 3);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_says_where_it_belongs(seed: u64, pass in 0..=PASSES, file in 0..FILES, at in 0..FILE_BYTES / 8) {
            let (content, place) = (Content::new(seed), Place { pass, file, offset: at * 8 });
            let mut word = [0; 8];
            content.fill(&mut word, place);
            prop_assert_eq!(content.origin(u64::from_le_bytes(word)), place);
            prop_assert_eq!(content.check(&word, place), None);
        }

        #[test]
        fn every_flipped_bit_is_found(seed: u64, at in 0_usize..4096, bit in 0..8) {
            let (content, place) = (Content::new(seed), Place { pass: 1, file: 2, offset: 8192 });
            let mut buffer = [0; 4096];
            content.fill(&mut buffer, place);
            buffer[at] ^= 1_u8 << bit;
            let found = content.check(&buffer, place).expect("it is wrong");
            prop_assert_eq!((found.offset, found.bytes), (8192 + at as u64, 1));
            prop_assert_eq!(found.expected ^ found.found, 1_u8 << bit);
        }
    }

    #[test]
    fn stale_misplaced_and_missing_bytes_are_told_apart() {
        let content = Content::new(7);
        let place = Place { pass: 2, file: 0, offset: 4096 };
        let mut buffer = [0; 64];
        for other in [
            Place { pass: 1, ..place },
            Place { file: 3, ..place },
            Place { offset: 1 << 30, ..place },
        ] {
            content.fill(&mut buffer, other);
            let found = content.check(&buffer, place).expect("it is wrong");
            assert_eq!(content.origin(found.word), other);
        }
        let found = content.check(&[0; 64], place).expect("it is wrong");
        assert_eq!((found.offset, found.word), (4096, 0));
        assert!(found.bytes > 56, "nearly all of the 64 bytes differ: {}", found.bytes);
    }
}
