//! Errors that come too late for the call that caused them: kept until everybody who wrote knows.

use std::sync::atomic::{AtomicU64, Ordering};

use iofwd_mount::Errno;

/// The last late error of a file, numbered. Each open file reports each number once.
#[derive(Debug, Default)]
pub(crate) struct Latch(AtomicU64);

/// The last number that an open file has reported.
#[derive(Debug)]
pub(crate) struct Seen(AtomicU64);

impl Latch {
    /// Keep an error.
    pub(crate) fn set(&self, errno: Errno) {
        let next = |now: u64| Some(((now >> 32) + 1) << 32 | u64::from(errno.raw() as u32));
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }

    /// A file opened now has nothing to report yet.
    pub(crate) fn opened(&self) -> Seen {
        Seen(AtomicU64::new(self.0.load(Ordering::Acquire)))
    }

    /// The error that this open file has not reported yet, if there is one.
    pub(crate) fn check(&self, seen: &Seen) -> Result<(), Errno> {
        let now = self.0.load(Ordering::Acquire);
        if seen.0.swap(now, Ordering::AcqRel) == now {
            return Ok(());
        }
        Err(Errno::from_raw(now as u32 as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_was_open_reports_an_error_once() {
        let latch = Latch::default();
        let (first, second) = (latch.opened(), latch.opened());
        assert_eq!(latch.check(&first), Ok(()));
        latch.set(Errno::EIO);
        assert_eq!(latch.check(&first), Err(Errno::EIO));
        assert_eq!(latch.check(&first), Ok(()));
        assert_eq!(latch.check(&second), Err(Errno::EIO));
        assert_eq!(latch.check(&latch.opened()), Ok(()), "opened afterwards");
        latch.set(Errno::EIO);
        assert_eq!(latch.check(&first), Err(Errno::EIO), "the same error, but a new one");
    }
}
