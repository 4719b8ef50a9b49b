//! Room for payloads, on pages of its own: what was read can go to the backing as it lies.

use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that begin at a page.
#[derive(Debug, Default)]
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
    pool: Option<(Arc<Pool>, Size)>,
}

impl Buffer {
    /// All of it.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some((pool, size)) = &self.pool {
            let mut free = pool.free(*size).lock().unwrap_or_else(PoisonError::into_inner);
            if free.len() < size.kept_most() {
                free.push(std::mem::take(&mut self.memory));
            }
        }
    }
}

/// Buffers that are not in use: new memory costs more than copying into it.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pages: Mutex<Vec<Vec<u8>>>,
    large: Mutex<Vec<Vec<u8>>>,
}

/// Sizes of buffers that are used again.
#[derive(Clone, Copy, Debug)]
enum Size {
    /// A page at most, as most requests of applications that read or write little.
    Page,
    Large,
}

impl Size {
    fn of(length: usize) -> Option<Size> {
        match length {
            0..=PAGE => Some(Size::Page),
            LARGE.. => Some(Size::Large),
            _ => None,
        }
    }

    /// So many are kept for the next ones.
    fn kept_most(self) -> usize {
        match self {
            Size::Page => 64,
            Size::Large => 16,
        }
    }
}

impl Pool {
    /// A copy of these bytes.
    pub(super) fn copy(self: &Arc<Pool>, bytes: &[u8]) -> Buffer {
        if bytes.len() < LARGE {
            // Nobody needs it on a page of its own.
            return Buffer { memory: bytes.to_vec(), start: 0, length: bytes.len(), pool: None };
        }
        let mut buffer = self.buffer(bytes.len());
        buffer.room().copy_from_slice(bytes);
        buffer
    }

    /// A buffer of that length.
    pub(super) fn buffer(self: &Arc<Pool>, length: usize) -> Buffer {
        if length == 0 {
            return Buffer::default();
        }
        let size = Size::of(length);
        let used = size
            .and_then(|size| self.free(size).lock().unwrap_or_else(PoisonError::into_inner).pop())
            .filter(|memory| memory.len() >= length + PAGE);
        // Whoever gets one of a page next may need all of it.
        let memory = used.unwrap_or_else(|| vec![0; length.max(PAGE) + PAGE]);
        let start = memory.as_ptr().align_offset(PAGE);
        let pool = size.map(|size| (Arc::clone(self), size));
        Buffer { memory, start, length, pool }
    }

    fn free(&self, size: Size) -> &Mutex<Vec<Vec<u8>>> {
        match size {
            Size::Page => &self.pages,
            Size::Large => &self.large,
        }
    }
}

const PAGE: usize = 4096;
/// Buffers from this size on are kept for the next one.
const LARGE: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_at_a_page_and_are_used_again() {
        let pool = Arc::new(Pool::default());
        let mut large = pool.buffer(1 << 20);
        assert_eq!((large.len(), large.as_ptr() as usize % PAGE), (1 << 20, 0));
        large.room()[0] = 7;
        let place = large.as_ptr();
        drop(large);
        assert_eq!(pool.buffer(1 << 20).as_ptr(), place);
        let small = pool.buffer(100);
        let place = small.as_ptr();
        drop(small);
        assert_eq!((pool.buffer(PAGE).as_ptr(), pool.buffer(PAGE).len()), (place, PAGE));
        assert_eq!(
            (&*pool.copy(b"small"), &*pool.copy(&[7; LARGE])),
            (&b"small"[..], &[7; LARGE][..])
        );
        assert_eq!(pool.buffer(100).as_ptr() as usize % PAGE, 0);
        assert!(pool.buffer(0).is_empty());
    }
}
