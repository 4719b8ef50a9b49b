//! What is written from and read into.

use super::super::content::{Content, Place};

/// Memory that begins at a page, as O_DIRECT wants it, filled with something that is not zero:
/// zeros would be too easy for a device that compresses.
pub(super) struct Buffer {
    memory: Vec<u8>,
    first: usize,
    length: usize,
}

impl Buffer {
    pub(super) fn new(length: usize) -> Buffer {
        let mut memory = vec![0; length + PAGE];
        let first = memory.as_ptr().align_offset(PAGE);
        let whole = length - length % 8;
        let place = Place { pass: 0, file: 0, offset: 0 };
        Content::new(length as u64).fill(&mut memory[first..first + whole], place);
        Buffer { memory, first, length }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..self.first + self.length]
    }
}

const PAGE: usize = 4096;
