//! The way back to the kernel, by which a request came.

use std::cell::RefCell;
use std::io::IoSlice;
use std::sync::Arc;

use crate::device::{Connection, Device};
use crate::errno::Errno;
use crate::ring::Slot;

/// Where a request came from, and its answer goes.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// Read from the device.
    Device(Arc<Device>),
    /// Handed over in a slot of a ring.
    Slot(Arc<Slot>),
}

impl Line {
    pub(crate) fn connection(&self) -> &Connection {
        match self {
            Line::Device(device) => &device.connection,
            Line::Slot(slot) => &slot.connection,
        }
    }

    /// Answer with a value: a fixed part and bytes behind it.
    pub(crate) fn answer(&self, unique: u64, fixed: &[u8], tail: &[IoSlice<'_>]) {
        match self {
            Line::Device(device) => device.answer(unique, fixed, tail),
            Line::Slot(slot) => slot.answer(unique, fixed, tail),
        }
    }

    /// Answer with an error.
    pub(crate) fn refuse(&self, unique: u64, errno: Errno) {
        match self {
            Line::Device(device) => device.refuse(unique, errno),
            Line::Slot(slot) => slot.refuse(unique, errno),
        }
    }

    /// Answer with up to `size` bytes that `fill` provides, in the place they are taken from if
    /// there is one.
    pub(crate) fn fill(
        &self,
        unique: u64,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, Errno>,
    ) {
        let fill = match self {
            Line::Slot(slot) => match slot.fill(unique, size, fill) {
                Ok(()) => return,
                Err(fill) => fill,
            },
            Line::Device(_) => fill,
        };
        with_scratch(size, |buffer| match fill(buffer) {
            Ok(count) => self.answer(unique, &[], &[IoSlice::new(&buffer[..count])]),
            Err(errno) => self.refuse(unique, errno),
        });
    }
}

/// A buffer of this thread, for bytes that are answered before it is used again.
///
/// It begins at a page: the kernel takes answers page by page, and a page of a file that lies across
/// two of memory costs it twice as much.
pub(crate) fn with_scratch<T>(size: usize, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < size + PAGE {
            *buffer = vec![0; size.next_power_of_two() + PAGE];
        }
        let start = buffer.as_ptr().align_offset(PAGE);
        use_it(&mut buffer[start..start + size])
    })
}

const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_begins_at_a_page() {
        for size in [1, 4096, 4097, 1 << 20, 100] {
            with_scratch(size, |buffer| {
                assert_eq!((buffer.len(), buffer.as_ptr() as usize % PAGE), (size, 0));
            });
        }
    }
}
