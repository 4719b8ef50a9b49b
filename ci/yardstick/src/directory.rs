//! Reading a directory with the kernel's own call, whose offsets are the ones FUSE hands on: the
//! C library's directory streams would add a buffer and a lock to each open directory.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use fuser::FileType;
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

/// One name in a directory.
pub(crate) struct Entry<'a> {
    pub(crate) inode: u64,
    /// Where reading goes on after this entry.
    pub(crate) next: u64,
    pub(crate) kind: FileType,
    pub(crate) name: &'a OsStr,
}

/// Calls `take` for the entries from `offset` on, until it says that it is full.
pub(crate) fn read(
    fd: BorrowedFd<'_>,
    offset: u64,
    mut take: impl FnMut(Entry<'_>) -> bool,
) -> Result<(), Errno> {
    lseek(fd, offset.cast_signed(), Whence::SeekSet)?;
    let mut buffer = vec![0u8; BUFFER];
    loop {
        let filled = fill(fd, &mut buffer)?;
        if filled == 0 {
            return Ok(());
        }
        let mut rest = &buffer[..filled];
        while let Some((entry, after)) = split(rest) {
            if take(entry) {
                return Ok(());
            }
            rest = after;
        }
    }
}

fn fill(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the buffer is ours and writable for the length named.
    let filled = unsafe {
        libc::syscall(libc::SYS_getdents64, fd.as_raw_fd(), buffer.as_mut_ptr(), buffer.len())
    };
    Errno::result(filled).map(|n| usize::try_from(n).unwrap_or(0))
}

/// The first entry of what the kernel filled in, and the rest.
fn split(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let inode = u64::from_ne_bytes(*bytes.first_chunk()?);
    let next = u64::from_ne_bytes(*bytes.get(8..)?.first_chunk()?);
    let length = usize::from(u16::from_ne_bytes(*bytes.get(16..)?.first_chunk()?));
    let kind = kind(*bytes.get(18)?);
    let padded = bytes.get(NAME..length)?;
    let name = padded.split(|&byte| byte == 0).next()?;
    Some((Entry { inode, next, kind, name: OsStr::from_bytes(name) }, &bytes[length..]))
}

fn kind(code: u8) -> FileType {
    match code {
        libc::DT_DIR => FileType::Directory,
        libc::DT_LNK => FileType::Symlink,
        libc::DT_FIFO => FileType::NamedPipe,
        libc::DT_SOCK => FileType::Socket,
        libc::DT_CHR => FileType::CharDevice,
        libc::DT_BLK => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

/// One call's worth of entries; the kernel asks for 4 KiB at a time by default.
const BUFFER: usize = 8 * 1024;
/// Where the name stands in an entry: after inode, offset, length and type.
const NAME: usize = 19;
