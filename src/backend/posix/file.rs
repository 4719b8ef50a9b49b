//! An open file: read, write, make durable, and the rest that needs it open.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use iofwd_mount::Errno;
use iofwd_mount::store::{Attr, Controlled};

use super::attributes;
use super::direct::Direct;
use super::identity::Identity;
use super::inode::Inode;
use super::system;

/// An open file of the backing.
#[derive(Debug)]
pub struct File {
    fd: OwnedFd,
    /// Opened for appending only, because the file allows nothing else.
    append_only: bool,
    /// For data that are to go around the cache.
    direct: OnceLock<Direct>,
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl File {
    pub(super) fn new(fd: OwnedFd, flags: i32) -> File {
        let append_only = File::backing_flags(flags) & libc::O_APPEND != 0;
        File { fd, append_only, direct: OnceLock::new() }
    }

    /// Open a node as the identity this thread acts under, with the flags of `open`.
    ///
    /// With `readable` a file that is opened for writing can be read through it too: the kernel
    /// fills pages that it caches.
    pub fn open(inode: &Inode, flags: i32, readable: bool) -> Result<File, Errno> {
        let named = inode.descriptor()?;
        if flags & FMODE_EXEC != 0 {
            // A program may be run by those who may not read it.
            system::access(&*named, libc::X_OK)?;
            Identity::assume_agent();
        }
        let wanted = File::backing_flags(flags);
        let fd = match system::reopen(&*named, wanted) {
            Err(errno) if errno == Errno::EPERM && flags & libc::O_APPEND != 0 => {
                let fd = system::reopen(&*named, wanted | libc::O_APPEND)?;
                return Ok(File { fd, append_only: true, direct: OnceLock::new() });
            }
            result => result?,
        };
        if readable && wanted & libc::O_ACCMODE == libc::O_WRONLY {
            // The caller may write; that it can be read too is the kernel's business alone.
            Identity::assume_agent();
            let both = (wanted & !libc::O_ACCMODE & !libc::O_TRUNC) | libc::O_RDWR;
            let fd = system::reopen(&*named, both).unwrap_or(fd);
            return Ok(File { fd, append_only: false, direct: OnceLock::new() });
        }
        Ok(File { fd, append_only: false, direct: OnceLock::new() })
    }

    /// Open once more what was open so before: nothing is cut off, and nobody's rights are asked for,
    /// because they were when it was opened first.
    pub fn open_again(inode: &Inode, flags: i32, readable: bool) -> Result<File, Errno> {
        let flags = flags & !(libc::O_TRUNC | FMODE_EXEC);
        Identity::as_agent(|| File::open(inode, flags, readable))
    }

    /// Bytes in it.
    pub fn size(&self) -> Result<u64, Errno> {
        Ok(system::statx(self, c"")?.stx_size)
    }

    /// Cut it off, or add zeros.
    pub fn set_size(&self, size: u64) -> Result<(), Errno> {
        system::ftruncate(self, position(size)?)
    }

    /// The flags the backing is opened with. Whether a write appends is decided write by write,
    /// because an application may change its mind; what bypasses the cache of this node need not
    /// bypass that of the backing, whose demands on alignment are its own.
    pub(super) fn backing_flags(flags: i32) -> i32 {
        let ours = libc::O_CREAT
            | libc::O_EXCL
            | libc::O_NOCTTY
            | libc::O_APPEND
            | libc::O_DIRECT
            | libc::O_NOFOLLOW
            | libc::O_TMPFILE & !libc::O_DIRECTORY
            | FMODE_EXEC;
        (flags & !ours) | libc::O_CLOEXEC
    }

    /// The attributes; the node number is not filled in.
    pub fn attr(&self, inode: &Inode) -> Result<Attr, Errno> {
        Ok(attributes::convert(&system::statx(self, c"")?, inode.home()))
    }

    /// From now on have reads and writes of whole pages go around the cache of this node. Answers whether
    /// they do: not every file system can.
    pub fn go_around_cache(&self) -> bool {
        if self.direct.get().is_none()
            && !self.append_only
            && let Some(direct) = Direct::open(&self.fd)
        {
            // Whoever was faster has opened the same.
            let _ = self.direct.set(direct);
        }
        self.direct.get().is_some()
    }

    /// Read from an offset on into the buffers, one after the other; short only at the end.
    pub fn read(&self, into: &mut [IoSliceMut<'_>], offset: u64) -> Result<usize, Errno> {
        let at = position(offset)?;
        let direct = self.direct.get().and_then(|direct| direct.read(into, at));
        direct.unwrap_or_else(|| system::preadv(self, into, at))
    }

    /// Write the buffers, one after the other, from an offset on, or at the end of the file.
    pub fn write(&self, from: &[IoSlice<'_>], offset: u64, append: bool) -> Result<usize, Errno> {
        let at = position(offset)?;
        match (append, self.append_only) {
            (true, false) => system::pwritev2(self, from, at, RWF_APPEND),
            (false, true) => system::pwritev2(self, from, at, RWF_NOAPPEND),
            (true, true) => system::pwritev2(self, from, at, 0),
            (false, false) => {
                let direct = self.direct.get().and_then(|direct| direct.write(from, at));
                direct.unwrap_or_else(|| system::pwritev2(self, from, at, 0))
            }
        }
    }

    /// Make data (and attributes, unless `data_only`) durable.
    pub fn sync(&self, data_only: bool) -> Result<(), Errno> {
        system::fsync(self, data_only)
    }

    /// What closing a descriptor of it would report: some file systems write back only then.
    pub fn flush(&self) -> Result<(), Errno> {
        let copy = self.fd.try_clone()?;
        Ok(nix::unistd::close(copy)?)
    }

    /// Allocate, punch, zero, collapse, insert.
    pub fn allocate(&self, mode: i32, offset: u64, length: u64) -> Result<(), Errno> {
        system::fallocate(self, mode, position(offset)?, position(length)?)
    }

    /// Find data or a hole.
    pub fn seek(&self, offset: i64, whence: i32) -> Result<i64, Errno> {
        system::lseek(self, offset, whence)
    }

    /// Copy a range to another file.
    pub fn copy_to(&self, from: u64, target: &File, to: u64, length: u64) -> Result<u64, Errno> {
        // Like any read or write, a copy may be short; the caller asks again.
        let length = length.min(COPY_MOST) as usize;
        let copied =
            system::copy_file_range((self, position(from)?), (target, position(to)?), length)?;
        Ok(copied as u64)
    }
}

/// Flags and extended flags of a file or directory, where the file system has them.
pub(super) fn control(
    fd: &impl AsFd,
    command: u32,
    argument: &[u8],
    room: usize,
) -> Result<Controlled, Errno> {
    let size = match command {
        FS_IOC_GETFLAGS | FS_IOC_SETFLAGS => size_of::<libc::c_long>(),
        FS_IOC_FSGETXATTR | FS_IOC_FSSETXATTR => FSXATTR_SIZE,
        _ => return Err(Errno::ENOTTY),
    };
    let mut data = vec![0u8; size];
    if argument.len() > size || room > size {
        return Err(Errno::EINVAL);
    }
    data[..argument.len()].copy_from_slice(argument);
    let result = system::ioctl(fd, command, &mut data)?;
    data.truncate(room);
    Ok(Controlled { result, data })
}

impl File {
    /// A control operation.
    pub fn control(&self, command: u32, argument: &[u8], room: usize) -> Result<Controlled, Errno> {
        control(self, command, argument, room)
    }
}

fn position(offset: u64) -> Result<i64, Errno> {
    i64::try_from(offset).map_err(|_| Errno::EINVAL)
}

/// The kernel opens to execute; not a flag an application can give.
const FMODE_EXEC: i32 = 0x20;
const RWF_APPEND: i32 = 0x10;
const RWF_NOAPPEND: i32 = 0x20;
/// One request copies no more, lest it hold its thread for long.
const COPY_MOST: u64 = 64 << 20;

const FS_IOC_GETFLAGS: u32 = 0x8008_6601;
const FS_IOC_SETFLAGS: u32 = 0x4008_6602;
const FS_IOC_FSGETXATTR: u32 = 0x801c_581f;
const FS_IOC_FSSETXATTR: u32 = 0x401c_5820;
const FSXATTR_SIZE: usize = 28;
