//! The bytes of a large write, kept where they were read from the kernel. Whoever has to hold on to
//! them after the call need not copy them: the thread that read them goes on with other memory.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::libc;

/// Memory for requests, and what is left of it when nobody uses it any more.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    free: Mutex<Vec<Vec<u8>>>,
}

impl Spares {
    /// Memory of that size, as its last user left it.
    pub(crate) fn memory(self: &Arc<Spares>, size: usize) -> Arc<Memory> {
        let used = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = used.filter(|bytes| bytes.len() == size).unwrap_or_else(|| vec![0; size]);
        Arc::new(Memory { bytes, spares: Arc::clone(self), is_lost: AtomicBool::new(false) })
    }
}

/// Memory for one request.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) bytes: Vec<u8>,
    pub(crate) spares: Arc<Spares>,
    /// Its pages are somebody else's by now.
    is_lost: AtomicBool,
}

impl Memory {
    /// Whether nobody may write there any more.
    pub(crate) fn is_lost(&mut self) -> bool {
        *self.is_lost.get_mut()
    }

    /// Leave the pages to whoever refers to them still; there will be new ones.
    fn let_go(&mut self) {
        let start = self.bytes.as_ptr().align_offset(PAGE);
        let length = self.bytes.len().saturating_sub(start) / PAGE * PAGE;
        let Some(pages) = self.bytes.get_mut(start..start + length) else { return };
        // SAFETY: these are whole pages of memory that is ours alone and comes from the allocator, which
        // is private and backed by no file: they read as zeros afterwards, which are bytes too.
        let result =
            unsafe { libc::madvise(pages.as_mut_ptr().cast(), length, libc::MADV_DONTNEED) };
        if result != 0 {
            // Better never used again than written to.
            std::mem::forget(std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.is_lost() {
            self.let_go();
        }
        let mut free = self.spares.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < SPARE_MOST {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// Bytes that stay as long as this is held.
#[derive(Debug)]
pub struct Kept {
    memory: Arc<Memory>,
    start: usize,
    length: usize,
    is_lent: AtomicBool,
}

impl Kept {
    /// The system may refer to the pages, and not copy the bytes, until they are taken back.
    pub fn lend(&self) {
        self.is_lent.store(true, Ordering::Release);
    }

    /// Whoever they were for has read all of them. Where this is never called, the pages are not
    /// used again.
    pub fn take_back(&self) {
        self.is_lent.store(false, Ordering::Release);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if *self.is_lent.get_mut() {
            self.memory.is_lost.store(true, Ordering::Release);
        }
    }
}

impl std::ops::Deref for Kept {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory.bytes[self.start..self.start + self.length]
    }
}

thread_local! {
    /// What the request lies in that this thread serves.
    static SERVED: RefCell<Option<Arc<Memory>>> = const { RefCell::new(None) };
}

/// Serve a request that lies in that memory; it may be kept meanwhile if it is large.
pub(crate) fn offer<T>(memory: &Arc<Memory>, length: usize, serve: impl FnOnce() -> T) -> T {
    if length < memory.bytes.len() / 2 {
        return serve();
    }
    SERVED.set(Some(Arc::clone(memory)));
    let served = serve();
    SERVED.set(None);
    served
}

/// Keep bytes of the request that this thread serves. `None` if they are not, or are too few to be
/// worth the memory around them: then they have to be copied.
pub fn keep(bytes: &[u8]) -> Option<Kept> {
    SERVED.with_borrow(|served| {
        let memory = served.as_ref().filter(|memory| bytes.len() >= memory.bytes.len() / 2)?;
        let start = bytes.as_ptr().addr().checked_sub(memory.bytes.as_ptr().addr())?;
        let end = start.checked_add(bytes.len())?;
        (end <= memory.bytes.len()).then(|| Kept {
            memory: Arc::clone(memory),
            start,
            length: bytes.len(),
            is_lent: AtomicBool::new(false),
        })
    })
}

/// Memory that is not given back to the system: new memory costs more than copying into it.
const SPARE_MOST: usize = 16;
const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_being_served_and_large_is_kept() {
        let memory = Arc::new(Spares::default()).memory(1000);
        let all = &memory.bytes[..];
        assert!(keep(all).is_none(), "nothing is served");
        let kept = offer(&memory, 900, || {
            assert!(keep(&[7; 900]).is_none(), "bytes of somebody else");
            assert!(keep(&all[..100]).is_none(), "too few");
            keep(&all[50..950])
        });
        assert_eq!(kept.expect("kept").as_ptr(), all[50..].as_ptr());
        assert!(keep(all).is_none(), "it is over");
        assert!(offer(&memory, 100, || keep(all)).is_none(), "a small request");
    }

    #[test]
    fn memory_is_used_again_when_nobody_keeps_it() {
        let spares = Arc::new(Spares::default());
        let memory = spares.memory(1000);
        let place = memory.bytes.as_ptr();
        let kept = offer(&memory, 900, || keep(&memory.bytes)).expect("kept");
        drop(memory);
        assert_ne!(spares.memory(1000).bytes.as_ptr(), place);
        drop(kept);
        assert_eq!(spares.memory(1000).bytes.as_ptr(), place);
    }

    /// What memory has that is used again after it was kept, and maybe lent.
    fn used_again(is_lent: bool, is_taken_back: bool) -> Vec<u8> {
        let spares = Arc::new(Spares::default());
        let mut memory = spares.memory(8 * PAGE);
        Arc::get_mut(&mut memory).expect("new").bytes.fill(7);
        let kept = offer(&memory, 8 * PAGE, || keep(&memory.bytes)).expect("kept");
        drop(memory);
        if is_lent {
            kept.lend();
        }
        if is_taken_back {
            kept.take_back();
        }
        drop(kept);
        spares.memory(8 * PAGE).bytes.clone()
    }

    #[test]
    fn pages_that_were_lent_are_used_again_only_if_they_were_taken_back() {
        assert!(used_again(false, false).iter().all(|byte| *byte == 7));
        assert!(used_again(true, true).iter().all(|byte| *byte == 7));
        let zeros = used_again(true, false).iter().filter(|byte| **byte == 0).count();
        assert!(zeros >= 7 * PAGE, "there are {zeros} new bytes");
    }
}
