//! The error a store answers with: an errno, as the application will see it.

use std::fmt;
use std::io;

/// An error number of the operating system; never zero, never negative.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

impl Errno {
    /// No such file or directory.
    pub const ENOENT: Errno = Errno(libc::ENOENT);
    /// Input/output error: also what an unknown failure becomes.
    pub const EIO: Errno = Errno(libc::EIO);
    /// Bad file descriptor: a handle that is not open.
    pub const EBADF: Errno = Errno(libc::EBADF);
    /// Try again: a lock somebody else holds.
    pub const EAGAIN: Errno = Errno(libc::EAGAIN);
    /// Interrupted by a signal.
    pub const EINTR: Errno = Errno(libc::EINTR);
    /// Invalid argument.
    pub const EINVAL: Errno = Errno(libc::EINVAL);
    /// Operation not permitted.
    pub const EPERM: Errno = Errno(libc::EPERM);
    /// Not implemented: the kernel will not ask again.
    pub const ENOSYS: Errno = Errno(libc::ENOSYS);
    /// No such control operation.
    pub const ENOTTY: Errno = Errno(libc::ENOTTY);
    /// The node is not what it was: the kernel looks it up again.
    pub const ESTALE: Errno = Errno(libc::ESTALE);
    /// The file is a program that is running.
    pub const ETXTBSY: Errno = Errno(libc::ETXTBSY);
    /// The answer does not fit the space that was offered.
    pub const ERANGE: Errno = Errno(libc::ERANGE);

    /// From a raw number; what cannot be an errno becomes `EIO`.
    pub const fn from_raw(raw: i32) -> Errno {
        // The kernel refuses answers outside this range and would leave the caller hanging.
        if raw > 0 && raw < 512 { Errno(raw) } else { Errno::EIO }
    }

    /// The error of the last failed system call of this thread.
    pub fn last() -> Errno {
        Errno::from(io::Error::last_os_error())
    }

    /// The raw number, positive.
    pub const fn raw(self) -> i32 {
        self.0
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl From<nix::errno::Errno> for Errno {
    fn from(errno: nix::errno::Errno) -> Errno {
        Errno::from_raw(errno as i32)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", nix::errno::Errno::from_raw(self.0))
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", nix::errno::Errno::from_raw(self.0).desc())
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_would_refuse_becomes_eio() {
        for raw in [0, -5, 512, 100_000] {
            assert_eq!(Errno::from_raw(raw), Errno::EIO);
        }
        assert_eq!(Errno::from_raw(libc::EDQUOT).raw(), libc::EDQUOT);
    }
}
