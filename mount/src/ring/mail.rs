//! Where a thread hears of requests that others have answered for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Answers that wait to be handed to the kernel by the thread that was asked.
#[derive(Debug)]
pub(super) struct Mailbox {
    bell: EventFd,
    answered: Mutex<Vec<usize>>,
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Mailbox> {
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Mailbox { bell, answered: Mutex::default() })
    }

    /// The request in that slot is answered.
    pub(super) fn post(&self, slot: usize) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.push(slot);
        if answered.len() == 1 {
            // It fails only if the bell has been rung beyond all bounds, and then it rings.
            let _ = self.bell.write(1);
        }
    }

    /// Everything that came.
    pub(super) fn take(&self) -> Vec<usize> {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.bell.read();
        std::mem::take(&mut answered)
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.bell.as_fd().as_raw_fd()
    }
}
