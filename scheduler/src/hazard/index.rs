//! Extents by file, found by what overlaps them.
//!
//! One ordered set for all files. Within a file and operation extents are sorted by size class and
//! first byte, so all that overlap another begin in one short range of each class: no further before
//! it than the class is wide.

use crate::queue::{Sorted, triple};
use crate::request::{Extent, Operation};

/// The extents that may have to be waited for.
#[derive(Debug, Default)]
pub(super) struct Index {
    keys: Sorted,
}

/// The size classes of which a file has or had extents: one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes(u32);

impl Index {
    /// Enters the extent of a slot.
    pub(super) fn insert(&mut self, file: u32, operation: Operation, extent: Extent, slot: u32) {
        let group = group(file, operation, class(extent.length));
        self.keys.insert(triple(group, extent.offset, slot));
    }

    /// Takes the extent of a slot out.
    pub(super) fn remove(&mut self, file: u32, operation: Operation, extent: Extent, slot: u32) {
        let group = group(file, operation, class(extent.length));
        self.keys.remove(triple(group, extent.offset, slot));
    }

    /// Calls `near` with every slot, among those of these classes, whose extent may overlap: all
    /// that do are among them.
    pub(super) fn around(
        &self,
        file: u32,
        operation: Operation,
        classes: Classes,
        extent: Extent,
        mut near: impl FnMut(u32),
    ) {
        let mut left = classes.0;
        while left != 0 {
            let class = left.trailing_zeros();
            left &= left - 1;
            let group = group(file, operation, class);
            let from = extent.offset.saturating_sub(width(class));
            let range = triple(group, from, 0)..triple(group, extent.end(), 0);
            self.keys.within(range, |key| near(key as u32));
        }
    }
}

impl Classes {
    /// Takes note that an extent of this length is entered.
    pub(super) const fn add(&mut self, length: u64) {
        self.0 |= 1 << class(length);
    }
}

/// File, operation and class in one number: one comparison instead of three.
fn group(file: u32, operation: Operation, class: u32) -> u32 {
    assert!(file < FILES, "requests of more than {FILES} files at once");
    let write = u32::from(operation == Operation::Write);
    file << 6 | write << 5 | class
}

/// The class of a length: 0 up to 512 B, then one for each doubling, the last for all from 512 GiB on.
const fn class(length: u64) -> u32 {
    let bits = u64::BITS - length.saturating_sub(1).leading_zeros();
    let class = bits.saturating_sub(SMALLEST_BITS);
    if class < LAST { class } else { LAST }
}

/// The longest extent of a class.
const fn width(class: u32) -> u64 {
    if class == LAST { u64::MAX } else { 1 << (class + SMALLEST_BITS) }
}

const SMALLEST_BITS: u32 = 9;
const LAST: u32 = 31;
/// Most files with live requests, as the number shares a word with operation and class.
const FILES: u32 = 1 << 26;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_fits_its_class_and_not_the_one_before() {
        for length in
            [0, 1, 512, 513, 1_024, 4_096, 4_097, 1 << 38, 1 << 39, (1 << 39) + 1, u64::MAX]
        {
            let class = class(length);
            assert!(length <= width(class), "{length}");
            assert!(class == 0 || length > width(class - 1), "{length}");
        }
    }
}
