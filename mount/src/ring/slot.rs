//! A slot: room for one request, which the kernel fills, and for its answer, which it takes from
//! the same place.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io::IoSlice;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use zerocopy::{FromBytes, IntoBytes};

use crate::device::Connection;
use crate::errno::Errno;
use crate::protocol::answer;
use crate::protocol::question::{Header, Question};

use super::abi::{ARGUMENTS_AT, ARGUMENTS_ROOM, HEADERS, TERMS_AT, Terms};
use super::mail::Mailbox;

/// Room for one request and its answer.
///
/// It is in turn the kernel's (while it waits for a request), the thread's that was handed one, and
/// then of whoever holds the promise to answer it: there is one such promise for each request, so
/// nobody else writes.
#[derive(Debug)]
pub(crate) struct Slot {
    memory: Memory,
    /// Which of its thread's slots this is.
    index: usize,
    state: AtomicU8,
    /// How long the payload of the request is: an answer must not be written over it while it is read.
    asked: AtomicUsize,
    /// An answer that could not be put in place yet.
    aside: Mutex<Vec<u8>>,
    mail: Arc<Mailbox>,
    pub(crate) connection: Arc<Connection>,
}

/// The request is being taken apart by the thread that it came to.
const SERVED: u8 = 0;
/// That thread went on; whoever answers has to call it.
const LEFT: u8 = 1;
/// It is answered.
const ANSWERED: u8 = 2;

impl Slot {
    pub(super) fn new(
        payload: usize,
        index: usize,
        mail: &Arc<Mailbox>,
        connection: &Arc<Connection>,
    ) -> Slot {
        Slot {
            memory: Memory::new(payload),
            index,
            state: AtomicU8::new(SERVED),
            asked: AtomicUsize::new(0),
            aside: Mutex::default(),
            mail: Arc::clone(mail),
            connection: Arc::clone(connection),
        }
    }

    /// Header and payload, for the kernel.
    pub(super) fn places(&self) -> [libc::iovec; 2] {
        let (header, payload) = (self.memory.header(), self.memory.payload());
        [
            libc::iovec { iov_base: header.cast(), iov_len: HEADERS },
            libc::iovec { iov_base: payload.cast(), iov_len: self.memory.payload },
        ]
    }

    /// The request that the kernel has put here; `None` if it is none.
    ///
    /// # Safety
    /// The kernel has handed the slot over and not got it back.
    pub(super) unsafe fn question(&self) -> Option<Question<'_>> {
        let terms = self.terms();
        let length = (terms.payload as usize).min(self.memory.payload);
        self.asked.store(length, Ordering::Relaxed);
        self.state.store(SERVED, Ordering::Relaxed);
        // SAFETY: the memory is that long and initialised; the kernel writes no more, and answers
        // are written elsewhere (`aside`) as long as there is a payload to be read.
        let (header, arguments, payload) = unsafe {
            (
                std::slice::from_raw_parts(self.memory.header(), size_of::<Header>()),
                std::slice::from_raw_parts(self.memory.header().add(ARGUMENTS_AT), ARGUMENTS_ROOM),
                std::slice::from_raw_parts(self.memory.payload(), length),
            )
        };
        Some(Question::in_parts(Header::read_from_bytes(header).ok()?, arguments, payload))
    }

    /// Answer with a value: a fixed part and bytes behind it.
    pub(crate) fn answer(&self, unique: u64, fixed: &[u8], tail: &[IoSlice<'_>]) {
        let length = fixed.len() + tail.iter().map(|part| part.len()).sum::<usize>();
        if length > self.memory.payload {
            tracing::error!(unique, length, "an answer does not fit");
            return self.refuse(unique, Errno::EIO);
        }
        let parts = std::iter::once(fixed).chain(tail.iter().map(|part| &**part));
        if self.asked.load(Ordering::Relaxed) == 0 {
            let mut at = 0;
            for part in parts {
                // SAFETY: all parts together fit, nobody reads a payload, and who answers is alone.
                unsafe {
                    let to = self.memory.payload().add(at);
                    std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                }
                at += part.len();
            }
        } else {
            let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
            aside.clear();
            parts.for_each(|part| aside.extend_from_slice(part));
        }
        self.finish(unique, 0, length);
    }

    /// Answer with an error.
    pub(crate) fn refuse(&self, unique: u64, errno: Errno) {
        self.finish(unique, -errno.raw(), 0);
    }

    /// Answer with bytes that `fill` puts in place; given back if they must lie elsewhere first.
    pub(crate) fn fill<F>(&self, unique: u64, size: usize, fill: F) -> Result<(), F>
    where
        F: FnOnce(&mut [u8]) -> Result<usize, Errno>,
    {
        if self.asked.load(Ordering::Relaxed) != 0 || size > self.memory.payload {
            return Err(fill);
        }
        // SAFETY: it is that long and initialised, nobody reads it, and who answers is alone.
        let room = unsafe { std::slice::from_raw_parts_mut(self.memory.payload(), size) };
        match fill(room) {
            Ok(count) => self.finish(unique, 0, count.min(size)),
            Err(errno) => self.refuse(unique, errno),
        }
        Ok(())
    }

    fn finish(&self, unique: u64, error: i32, length: usize) {
        let total = (size_of::<answer::Header>() + length) as u32;
        self.put_header(&answer::Header { length: total, error, unique });
        let terms = Terms { payload: length as u32, ..self.terms() };
        // SAFETY: the place is inside of the memory, and who answers is alone.
        unsafe { self.put(TERMS_AT, terms.as_bytes()) };
        if self.state.swap(ANSWERED, Ordering::AcqRel) == LEFT {
            self.mail.post(self.index);
        }
    }

    fn put_header(&self, header: &answer::Header) {
        // SAFETY: the place is inside of the memory; the header of the request was copied out.
        unsafe { self.put(0, header.as_bytes()) };
    }

    unsafe fn put(&self, at: usize, bytes: &[u8]) {
        // SAFETY: the caller says that it fits and that nobody else looks.
        unsafe {
            let to = self.memory.header().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    /// The thread goes on. Whether the request is answered; if not, a letter will come.
    pub(super) fn leave(&self) -> bool {
        self.state.compare_exchange(SERVED, LEFT, Ordering::AcqRel, Ordering::Acquire).is_err()
    }

    /// Put the answer in place, nobody reads the request any more. Answers what to commit.
    pub(super) fn settle(&self) -> u64 {
        let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        if !aside.is_empty() {
            // SAFETY: it was made to fit, the thread has left the request, and it is answered.
            unsafe {
                let to = self.memory.payload();
                std::ptr::copy_nonoverlapping(aside.as_ptr(), to, aside.len());
            }
            aside.clear();
        }
        self.terms().commit
    }

    fn terms(&self) -> Terms {
        // SAFETY: the place is inside of the memory and initialised; no reference is kept.
        unsafe { self.memory.header().add(TERMS_AT).cast::<Terms>().read() }
    }
}

/// Memory that the kernel writes to: headers on a page, the payload on the next ones, so that the
/// bytes of a write can go to the backing as they lie.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    payload: usize,
}

// SAFETY: it is plain memory; `Slot` sees to it that one writes at a time.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(payload: usize) -> Memory {
        let layout = Memory::layout(payload);
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Memory { start, payload }
    }

    fn header(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn payload(&self) -> *mut u8 {
        // SAFETY: the memory has a page more than the payload.
        unsafe { self.start.as_ptr().add(PAGE) }
    }

    fn layout(payload: usize) -> Layout {
        Layout::from_size_align(PAGE + payload, PAGE).expect("the largest request is some MiB")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), Memory::layout(self.payload)) };
    }
}

const PAGE: usize = 4096;
const _: () = assert!(HEADERS <= PAGE);
