//! The directory behind, by inode: what takes more than one system call to answer.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use fuser::{FileAttr, FileHandle, INodeNo, TimeOrNow};
use nix::errno::Errno;
use nix::fcntl::{self, AtFlags, OFlag};
use nix::sys::stat::{self, FchmodatFlags, FileStat, Mode, UtimensatFlags};
use nix::unistd::{self, Gid, Uid};

use crate::attribute;
use crate::node::Nodes;
use crate::passthrough::file;

/// The directory behind.
pub(crate) struct Tree {
    pub(crate) nodes: Nodes,
    /// `/proc/self/fd`, the way to open or change what an `O_PATH` descriptor names.
    descriptors: OwnedFd,
}

/// What `setattr` is to change.
pub(crate) struct Change {
    pub(crate) mode: Option<u32>,
    pub(crate) owner: Option<u32>,
    pub(crate) group: Option<u32>,
    pub(crate) size: Option<u64>,
    pub(crate) atime: Option<TimeOrNow>,
    pub(crate) mtime: Option<TimeOrNow>,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Result<Self, Errno> {
        let open = |path: &Path| {
            let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            fcntl::open(path, flags, Mode::empty())
        };
        let descriptors = open(Path::new("/proc/self/fd"))?;
        Ok(Self { nodes: Nodes::new(open(root)?), descriptors })
    }

    /// Finds a name and counts a reference to it. A known file needs one system call.
    pub(crate) fn find(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr, Errno> {
        let parent = self.nodes.get(parent)?;
        let found = attribute::of(&stat::fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW)?);
        if self.nodes.reference(found.ino) {
            return Ok(found);
        }
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = fcntl::openat(parent, name, flags, Mode::empty())?;
        // The name may mean another file by now; what was opened is what counts.
        let opened = attribute::of(&stat::fstat(&fd)?);
        self.nodes.insert(opened.ino, fd);
        Ok(opened)
    }

    /// Opens a file by its inode, with the flags of the caller's open.
    pub(crate) fn open(&self, inode: INodeNo, flags: i32) -> Result<OwnedFd, Errno> {
        let flags = OFlag::from_bits_retain(flags).difference(OFlag::O_NOFOLLOW | OFlag::O_CREAT);
        let fd = self.nodes.get(inode)?;
        fcntl::openat(&self.descriptors, &*number(fd), through(flags), Mode::empty())
    }

    /// Creates a file and opens it, with the flags of the caller's open.
    pub(crate) fn create(
        &self,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        flags: i32,
    ) -> Result<(OwnedFd, FileAttr), Errno> {
        let flags = through(OFlag::from_bits_retain(flags)) | OFlag::O_CREAT;
        let mode = Mode::from_bits_truncate(mode);
        let fd = fcntl::openat(self.nodes.get(parent)?, name, flags, mode)?;
        let created = attribute::of(&stat::fstat(&fd)?);
        if !self.nodes.reference(created.ino) {
            // By its descriptor: the name may mean another file by now.
            let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
            let node =
                fcntl::openat(&self.descriptors, &*number(fd.as_fd()), flags, Mode::empty())?;
            self.nodes.insert(created.ino, node);
        }
        Ok((fd, created))
    }

    /// Gives a file one more name.
    pub(crate) fn link(&self, inode: INodeNo, parent: INodeNo, name: &OsStr) -> Result<(), Errno> {
        let (fd, parent) = (self.nodes.get(inode)?, self.nodes.get(parent)?);
        let follow = AtFlags::AT_SYMLINK_FOLLOW;
        unistd::linkat(&self.descriptors, &*number(fd), parent, name, follow)
    }

    pub(crate) fn stat(&self, inode: INodeNo, fh: Option<FileHandle>) -> Result<FileStat, Errno> {
        match fh {
            Some(fh) => stat::fstat(file(fh)),
            None => stat::fstat(self.nodes.get(inode)?),
        }
    }

    pub(crate) fn set(
        &self,
        inode: INodeNo,
        fh: Option<FileHandle>,
        change: &Change,
    ) -> Result<(), Errno> {
        let fd = self.nodes.get(inode)?;
        let name = number(fd);
        if let Some(mode) = change.mode {
            let mode = Mode::from_bits_truncate(mode);
            stat::fchmodat(&self.descriptors, &*name, mode, FchmodatFlags::FollowSymlink)?;
        }
        if change.owner.is_some() || change.group.is_some() {
            let (owner, group) = (change.owner.map(Uid::from), change.group.map(Gid::from));
            unistd::fchownat(fd, "", owner, group, AtFlags::AT_EMPTY_PATH)?;
        }
        if let Some(size) = change.size {
            self.truncate(inode, fh, size)?;
        }
        if change.atime.is_some() || change.mtime.is_some() {
            let (atime, mtime) = (attribute::to_set(change.atime), attribute::to_set(change.mtime));
            let follow = UtimensatFlags::FollowSymlink;
            stat::utimensat(&self.descriptors, &*name, &atime, &mtime, follow)?;
        }
        Ok(())
    }

    fn truncate(&self, inode: INodeNo, fh: Option<FileHandle>, size: u64) -> Result<(), Errno> {
        match fh {
            Some(fh) => unistd::ftruncate(file(fh), size.cast_signed()),
            None => unistd::ftruncate(self.open(inode, libc::O_WRONLY)?, size.cast_signed()),
        }
    }
}

/// Flags for the file behind: the kernel places appends, and it has made the check for direct
/// I/O, whose alignment our buffers do not have.
fn through(flags: OFlag) -> OFlag {
    flags.difference(OFlag::O_APPEND | OFlag::O_DIRECT) | OFlag::O_CLOEXEC
}

/// The name of a descriptor in `/proc/self/fd`.
fn number(fd: BorrowedFd<'_>) -> String {
    fd.as_raw_fd().to_string()
}
