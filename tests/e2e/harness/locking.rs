//! Locks that a test tries for: of a whole file, and of a range, exclusive, never waited for.

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;

/// A lock that belongs to the open file.
pub(crate) fn lock(file: &File) -> nix::Result<i32> {
    // SAFETY: no memory is involved.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })
}

/// A lock of this process, as most programs take them. Each mount is another machine to it.
pub(crate) fn lock_range(file: &File) -> nix::Result<i32> {
    let lock = libc::flock {
        l_type: libc::F_WRLCK as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: 10,
        l_len: 10,
        l_pid: 0,
    };
    // SAFETY: the structure outlives the call.
    Errno::result(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) })
}
