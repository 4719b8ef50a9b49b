//! The bytes of a large write, kept where they were read from the kernel. Whoever has to hold on to
//! them after the call need not copy them: the thread that read them goes on with other memory.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

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
        Arc::new(Memory { bytes, spares: Arc::clone(self) })
    }
}

/// Memory for one request.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) bytes: Vec<u8>,
    pub(crate) spares: Arc<Spares>,
}

impl Drop for Memory {
    fn drop(&mut self) {
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
        })
    })
}

/// Memory that is not given back to the system: new memory costs more than copying into it.
const SPARE_MOST: usize = 16;

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
}
