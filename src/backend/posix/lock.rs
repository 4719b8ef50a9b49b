//! Locks at the backing: real ones, seen by everybody who uses the same file system.
//!
//! A `flock` belongs to an open file, and an open file of the mount is one of the backing: it is
//! taken there. A `fcntl` lock belongs to a process, so each process that locks a file gets an open
//! file description of its own, on which its locks are kept; closing it releases them.

use std::os::fd::OwnedFd;

use iofwd_mount::Errno;
use iofwd_mount::store::{Lock, LockKind};

use super::file::File;
use super::identity::Identity;
use super::inode::Inode;
use super::system;

/// The `fcntl` locks of one process on one file.
#[derive(Debug)]
pub struct RangeLocks {
    fd: OwnedFd,
}

impl RangeLocks {
    /// No locks yet. The file is opened for reading and writing where that is possible, because
    /// the kernel has checked already that the caller's descriptor allows the lock.
    pub fn new(inode: &Inode, file: &File) -> Result<RangeLocks, Errno> {
        Identity::assume_agent();
        let named = inode.descriptor()?;
        let fd = system::reopen(&*named, libc::O_RDWR | libc::O_NONBLOCK)
            .or_else(|_| system::reopen(&*named, libc::O_RDONLY | libc::O_NONBLOCK))
            .or_else(|_| system::reopen(&*named, libc::O_WRONLY | libc::O_NONBLOCK))
            // Permissions changed since: share the description of the caller's own file.
            .or_else(|_| {
                std::os::fd::AsFd::as_fd(file).try_clone_to_owned().map_err(Errno::from)
            })?;
        Ok(RangeLocks { fd })
    }

    /// Take or release a range; `EAGAIN` if somebody else is in the way.
    pub fn set(&self, lock: &Lock) -> Result<(), Errno> {
        system::ofd_lock(&self.fd, libc::F_OFD_SETLK, &mut raw(lock))
            .map_err(|errno| if errno.raw() == libc::EACCES { Errno::EAGAIN } else { errno })
    }

    /// The first lock in the way of this one; of kind `Unlock` if there is none.
    pub fn conflict(&self, lock: &Lock) -> Result<Lock, Errno> {
        let mut found = raw(lock);
        system::ofd_lock(&self.fd, libc::F_OFD_GETLK, &mut found)?;
        let kind = match i32::from(found.l_type) {
            libc::F_RDLCK => LockKind::Read,
            libc::F_WRLCK => LockKind::Write,
            _ => return Ok(Lock { kind: LockKind::Unlock, ..*lock }),
        };
        let start = found.l_start as u64;
        let end = if found.l_len == 0 { WHOLE } else { start + found.l_len as u64 - 1 };
        Ok(Lock { start, end, kind, pid: u32::try_from(found.l_pid).unwrap_or(0) })
    }
}

impl File {
    /// Take or release a `flock`; `EAGAIN` if somebody else is in the way.
    pub fn lock(&self, kind: LockKind) -> Result<(), Errno> {
        let operation = match kind {
            LockKind::Read => libc::LOCK_SH | libc::LOCK_NB,
            LockKind::Write => libc::LOCK_EX | libc::LOCK_NB,
            LockKind::Unlock => libc::LOCK_UN,
        };
        system::flock(self, operation)
    }
}

fn raw(lock: &Lock) -> libc::flock {
    let kind = match lock.kind {
        LockKind::Read => libc::F_RDLCK,
        LockKind::Write => libc::F_WRLCK,
        LockKind::Unlock => libc::F_UNLCK,
    };
    let length = if lock.end >= WHOLE { 0 } else { (lock.end - lock.start + 1) as i64 };
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: lock.start as i64,
        l_len: length,
        l_pid: 0,
    }
}

/// The last byte a file can have: a lock that ends here covers whatever is appended.
const WHOLE: u64 = i64::MAX as u64;
