//! Small sets of places, each in one piece of memory: for the many lanes with a few requests.
//!
//! They stand as they came. To put one in is to write it behind the others, which nothing waits for,
//! however cold the memory; whoever takes one out looks through all, and knows that some time ahead.

use super::ask;
use super::slab::piece;

/// Where a request begins in its server's object, and its slot: what it is sorted by.
///
/// In halves, so that there is nothing between two of them; the lower one first, as a number lies in
/// memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    low: u32,
    high: u32,
    pub(super) slot: u32,
}

impl Spot {
    pub(super) const fn new(at: u64, slot: u32) -> Spot {
        Spot { low: at as u32, high: (at >> 32) as u32, slot }
    }

    #[inline]
    pub(super) const fn at(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }

    /// Both as one number that sorts as they do.
    #[inline]
    pub(super) const fn key(self) -> u128 {
        (self.at() as u128) << 32 | self.slot as u128
    }
}

/// Boxes of some sizes, each found by its number.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    sizes: [Size; SIZES],
    live: usize,
    /// Where the lowest spot of one box is, unless any box has changed since that was looked for.
    lowest: Option<(u32, usize)>,
}

/// All boxes of one size.
#[derive(Debug, Default)]
struct Size {
    pieces: Vec<Box<[Piece; 1]>>,
    free: Vec<u32>,
    made: u32,
}

/// Spots from the beginning of a line of the cache on: a box of 16 lies on three.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Piece([Spot; PIECE]);

impl Boxes {
    /// Adds a spot to a box with `count` in it, if there is one; the box it is in then.
    pub(super) fn add(&mut self, number: u32, count: usize, spot: Spot) -> u32 {
        self.lowest = None;
        let number = match count {
            0 => self.make(0),
            _ if count == capacity(number) => self.move_to(number, size_of(number) + 1, count),
            _ => number,
        };
        self.places(number)[count] = spot;
        number
    }

    /// Takes the spot at a place out of a box with `count` in it; the box of the others, unless it
    /// was the last one.
    pub(super) fn remove(&mut self, number: u32, count: usize, place: usize) -> u32 {
        self.lowest = None;
        let spots = self.places(number);
        spots[place] = spots[count - 1];
        if count == 1 {
            self.free(number);
        } else if size_of(number) > 0 && count - 1 <= capacity(number) / 4 {
            return self.move_to(number, size_of(number) - 1, count - 1);
        }
        number
    }

    /// Where the lowest spot of a box with `count` in it is. Whoever asks asks again when it leaves.
    #[inline]
    pub(super) fn lowest(&mut self, number: u32, count: usize) -> usize {
        if let Some((known, place)) = self.lowest
            && known == number
        {
            return place;
        }
        let place = place_of_lowest(self.get(number, count));
        self.lowest = Some((number, place));
        place
    }

    /// Begins to load what is in a box with `count` in it.
    #[inline]
    pub(super) fn touch(&self, number: u32, count: usize) {
        let spots = self.get(number, count);
        spots.iter().step_by(LINE).chain(spots.last()).for_each(ask);
    }

    /// What is in a box with `count` in it.
    #[inline]
    pub(super) fn get(&self, number: u32, count: usize) -> &[Spot] {
        let (piece, place) = self.place(number);
        &piece[place..place + count]
    }

    #[inline]
    fn place(&self, number: u32) -> (&[Spot], usize) {
        let at = (number & NUMBERS) as usize * capacity(number);
        (&self.sizes[size_of(number)].pieces[at / PIECE][0].0, at % PIECE)
    }

    #[inline]
    fn places(&mut self, number: u32) -> &mut [Spot] {
        let at = (number & NUMBERS) as usize * capacity(number);
        &mut self.sizes[size_of(number)].pieces[at / PIECE][0].0[at % PIECE..][..capacity(number)]
    }

    /// Moves `count` spots to a box of another size.
    fn move_to(&mut self, from: u32, size: usize, count: usize) -> u32 {
        let mut spots = [Spot::default(); MOST];
        spots[..count].copy_from_slice(self.get(from, count));
        let to = self.make(size);
        self.places(to)[..count].copy_from_slice(&spots[..count]);
        self.free(from);
        to
    }

    fn make(&mut self, size: usize) -> u32 {
        self.live += 1;
        let boxes = &mut self.sizes[size];
        let place = boxes.free.pop().unwrap_or_else(|| {
            boxes.made += 1;
            boxes.made - 1
        });
        assert!(place <= NUMBERS, "fewer than 2^29 boxes fit in memory");
        let number = (size as u32) << NUMBER_BITS | place;
        if place as usize * capacity(number) / PIECE == boxes.pieces.len() {
            boxes.pieces.push(piece(Piece([Spot::default(); PIECE])));
        }
        number
    }

    /// Gives a box up.
    pub(super) fn free(&mut self, number: u32) {
        self.sizes[size_of(number)].free.push(number & NUMBERS);
        self.live -= 1;
        if self.live == 0 {
            self.sizes.iter_mut().for_each(Size::give_back);
        }
    }
}

impl Size {
    /// Gives the memory of a past peak back.
    fn give_back(&mut self) {
        self.pieces.truncate(1);
        self.free = Vec::new();
        self.made = 0;
    }
}

/// Where the lowest of some spots is; the first if there is none.
#[inline]
fn place_of_lowest(spots: &[Spot]) -> usize {
    let (mut lowest, mut least) = (0, u128::MAX);
    for (place, spot) in spots.iter().enumerate() {
        let key = spot.key();
        (lowest, least) = if key < least { (place, key) } else { (lowest, least) };
    }
    lowest
}

#[inline]
const fn size_of(number: u32) -> usize {
    (number >> NUMBER_BITS) as usize
}

#[inline]
const fn capacity(number: u32) -> usize {
    1 << size_of(number)
}

/// Sizes of boxes: 1, 2, 4 and so on up to 64 spots.
const SIZES: usize = 7;
/// The most that a box holds: to move half of them costs little.
pub(super) const MOST: usize = 1 << (SIZES - 1);
/// Bits of a number that tell boxes of one size apart.
const NUMBER_BITS: u32 = 29;
pub(super) const NUMBERS: u32 = (1 << NUMBER_BITS) - 1;
/// Numbers from here on are none of boxes.
pub(super) const NO_BOX: u32 = (SIZES as u32) << NUMBER_BITS;
/// Spots in one piece of memory.
const PIECE: usize = 1_024;
/// Spots to a line of the cache.
const LINE: usize = 5;
