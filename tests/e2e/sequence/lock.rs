//! Locks on open files, tried for and never waited for. Those on ranges belong to the open file, so
//! that one process can play several.

use nix::errno::Errno;
use proptest::prelude::*;
use proptest::sample::select;
use std::os::fd::{AsRawFd, OwnedFd};

use super::operation::Slot;

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum LockStep {
    Whole { slot: Slot, how: i32 },
    Range { slot: Slot, kind: i16, start: i64, length: i64 },
    Ask { slot: Slot, kind: i16, start: i64, length: i64 },
}

impl LockStep {
    pub(crate) fn slot(&self) -> Slot {
        match *self {
            Self::Whole { slot, .. } | Self::Range { slot, .. } | Self::Ask { slot, .. } => slot,
        }
    }

    /// Tries it, and says what came of it.
    pub(crate) fn apply(&self, file: &OwnedFd) -> Result<String, Errno> {
        match *self {
            Self::Whole { how, .. } => whole(file, how),
            Self::Range { kind, start, length, .. } => {
                range(file, libc::F_OFD_SETLK, kind, start, length).map(|_| "locked".into())
            }
            Self::Ask { kind, start, length, .. } => {
                let found = range(file, libc::F_OFD_GETLK, kind, start, length)?;
                Ok(match i32::from(found.l_type) {
                    libc::F_UNLCK => "free".into(),
                    other => format!("held: {other} {}+{}", found.l_start, found.l_len),
                })
            }
        }
    }
}

pub(crate) fn locks() -> impl Strategy<Value = LockStep> {
    let slot = || 0..super::operation::SLOTS;
    let how = select(&[libc::LOCK_SH, libc::LOCK_EX, libc::LOCK_EX, libc::LOCK_UN][..]);
    let kind = || select(&[libc::F_RDLCK as i16, libc::F_WRLCK as i16, libc::F_UNLCK as i16][..]);
    let asked = select(&[libc::F_RDLCK as i16, libc::F_WRLCK as i16][..]);
    prop_oneof![
        2 => (slot(), how).prop_map(|(slot, how)| LockStep::Whole { slot, how }),
        3 => (slot(), kind(), place(), place())
            .prop_map(|(slot, kind, start, length)| LockStep::Range { slot, kind, start, length }),
        1 => (slot(), asked, place(), place())
            .prop_map(|(slot, kind, start, length)| LockStep::Ask { slot, kind, start, length }),
    ]
}

/// Few of them, so that locks meet; a length of zero is all that follows.
fn place() -> impl Strategy<Value = i64> {
    select(&[0, 10, 20, 4096][..])
}

/// Lets go of all locks of an open file. The kernel tells a FUSE server of a close only after the
/// close has returned, so that what a close lets go is free a little later, and who is to find
/// it free at once lets go by hand.
pub(crate) fn let_go(file: &OwnedFd) {
    // A file without locks is fine.
    let _ = whole(file, libc::LOCK_UN);
    let _ = range(file, libc::F_OFD_SETLK, libc::F_UNLCK as i16, 0, 0);
}

fn whole(file: &OwnedFd, how: i32) -> Result<String, Errno> {
    // SAFETY: no memory is involved.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) })?;
    Ok("locked".into())
}

fn range(
    file: &OwnedFd,
    command: i32,
    kind: i16,
    start: i64,
    length: i64,
) -> Result<libc::flock, Errno> {
    let whence = libc::SEEK_SET as i16;
    let mut lock =
        libc::flock { l_type: kind, l_whence: whence, l_start: start, l_len: length, l_pid: 0 };
    // SAFETY: the structure outlives the call.
    Errno::result(unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) })?;
    Ok(lock)
}
