//! The operations: each is a system call on the directory behind, where one is enough, made on
//! the thread that read the request.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use nix::errno::Errno;
use nix::fcntl::{self, FallocateFlags, OFlag};
use nix::sys::stat::{self, Mode, SFlag};
use nix::sys::statvfs::fstatvfs;
use nix::sys::uio::{pread, pwrite};
use nix::unistd::{self, UnlinkatFlags, Whence};

use crate::tree::{Change, Tree};
use crate::{attribute, directory};

/// A directory, passed through.
pub(crate) struct Passthrough {
    tree: Tree,
    /// How long the kernel may remember names and attributes.
    ttl: Duration,
}

impl Passthrough {
    pub(crate) fn new(root: &Path, ttl: Duration) -> Result<Self, Errno> {
        Ok(Self { tree: Tree::new(root)?, ttl })
    }

    fn reply_found(&self, found: Result<FileAttr, Errno>, reply: ReplyEntry) {
        match found {
            Ok(found) => reply.entry(&self.ttl, &found, Generation(0)),
            Err(error) => reply.error(code(error)),
        }
    }
}

impl Filesystem for Passthrough {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for wanted in WANTED {
            // An older kernel goes without.
            let _ = config.add_capabilities(wanted);
        }
        let _ = config.set_max_write(MEBIBYTE);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.reply_found(self.tree.find(parent, name), reply);
    }

    fn forget(&self, _: &Request, inode: INodeNo, count: u64) {
        self.tree.nodes.forget(inode, count);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.tree.stat(inode, fh) {
            Ok(stat) => reply.attr(&self.ttl, &attribute::of(&stat)),
            Err(error) => reply.error(code(error)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        owner: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        fh: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Change { mode, owner, group, size, atime, mtime };
        match self.tree.set(inode, fh, &change).and_then(|()| self.tree.stat(inode, fh)) {
            Ok(stat) => reply.attr(&self.ttl, &attribute::of(&stat)),
            Err(error) => reply.error(code(error)),
        }
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        match self.tree.nodes.get(inode).and_then(|fd| fcntl::readlinkat(fd, "")) {
            Ok(target) => reply.data(target.as_encoded_bytes()),
            Err(error) => reply.error(code(error)),
        }
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let (kind, mode) = (SFlag::from_bits_truncate(mode), Mode::from_bits_truncate(mode));
        let made = self
            .tree
            .nodes
            .get(parent)
            .and_then(|parent| stat::mknodat(parent, name, kind, mode, u64::from(rdev)));
        self.reply_found(made.and_then(|()| self.tree.find(parent, name)), reply);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let mode = Mode::from_bits_truncate(mode);
        let made = self.tree.nodes.get(parent).and_then(|parent| stat::mkdirat(parent, name, mode));
        self.reply_found(made.and_then(|()| self.tree.find(parent, name)), reply);
    }

    fn symlink(&self, _: &Request, parent: INodeNo, name: &OsStr, to: &Path, reply: ReplyEntry) {
        let made =
            self.tree.nodes.get(parent).and_then(|parent| unistd::symlinkat(to, parent, name));
        self.reply_found(made.and_then(|()| self.tree.find(parent, name)), reply);
    }

    fn link(&self, _: &Request, inode: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self.tree.link(inode, parent, name);
        self.reply_found(linked.and_then(|()| self.tree.find(parent, name)), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let flag = UnlinkatFlags::NoRemoveDir;
        answer(self.tree.nodes.get(parent).and_then(|fd| unistd::unlinkat(fd, name, flag)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let flag = UnlinkatFlags::RemoveDir;
        answer(self.tree.nodes.get(parent).and_then(|fd| unistd::unlinkat(fd, name, flag)), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let rename = || {
            let (from, to) = (self.tree.nodes.get(parent)?, self.tree.nodes.get(newparent)?);
            let flags = fcntl::RenameFlags::from_bits_retain(flags.bits());
            fcntl::renameat2(from, name, to, newname, flags)
        };
        answer(rename(), reply);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        match self.tree.create(parent, name, mode, flags) {
            Ok((fd, attr)) => {
                let handle = FileHandle(fd.into_raw_fd() as u64);
                reply.created(&self.ttl, &attr, Generation(0), handle, DIRECT);
            }
            Err(error) => reply.error(code(error)),
        }
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.tree.open(inode, flags.0) {
            Ok(fd) => reply.opened(FileHandle(fd.into_raw_fd() as u64), DIRECT),
            Err(error) => reply.error(code(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        BUFFER.with_borrow_mut(|buffer| {
            let buffer = &mut buffer[..size as usize];
            match pread(file(fh), buffer, offset.cast_signed()) {
                Ok(length) => reply.data(&buffer[..length]),
                Err(error) => reply.error(code(error)),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match pwrite(file(fh), data, offset.cast_signed()) {
            Ok(length) => reply.written(length as u32),
            Err(error) => reply.error(code(error)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, fh: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Closing a duplicate makes the file system behind report what a close would.
        answer(unistd::dup(file(fh)).and_then(unistd::close), reply);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        close(fh);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, fh: FileHandle, datasync: bool, reply: ReplyEmpty) {
        let fd = file(fh);
        answer(if datasync { unistd::fdatasync(fd) } else { unistd::fsync(fd) }, reply);
    }

    fn opendir(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let opened =
            self.tree.nodes.get(inode).and_then(|fd| fcntl::openat(fd, ".", flags, Mode::empty()));
        match opened {
            Ok(fd) => reply.opened(FileHandle(fd.into_raw_fd() as u64), FopenFlags::empty()),
            Err(error) => reply.error(code(error)),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let read = directory::read(file(fh), offset, |entry| {
            reply.add(INodeNo(entry.inode), entry.next, entry.kind, entry.name)
        });
        match read {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(code(error)),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        close(fh);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, fh: FileHandle, data: bool, reply: ReplyEmpty) {
        let fd = file(fh);
        answer(if data { unistd::fdatasync(fd) } else { unistd::fsync(fd) }, reply);
    }

    fn statfs(&self, _: &Request, inode: INodeNo, reply: ReplyStatfs) {
        match self.tree.nodes.get(inode).and_then(fstatvfs) {
            Ok(s) => reply.statfs(
                s.blocks(),
                s.blocks_free(),
                s.blocks_available(),
                s.files(),
                s.files_free(),
                s.block_size() as u32,
                s.name_max() as u32,
                s.fragment_size() as u32,
            ),
            Err(error) => reply.error(code(error)),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mode = FallocateFlags::from_bits_retain(mode);
        let (offset, length) = (offset.cast_signed(), length.cast_signed());
        answer(fcntl::fallocate(file(fh), mode, offset, length), reply);
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        // The kernel answers the other kinds of seek itself.
        let whence = if whence == libc::SEEK_DATA { Whence::SeekData } else { Whence::SeekHole };
        match unistd::lseek(file(fh), offset, whence) {
            Ok(offset) => reply.offset(offset),
            Err(error) => reply.error(code(error)),
        }
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        from: FileHandle,
        offset_in: u64,
        _: INodeNo,
        to: FileHandle,
        offset_out: u64,
        length: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let (mut read, mut written) = (offset_in.cast_signed(), offset_out.cast_signed());
        let (from, to) = (file(from), file(to));
        let length = length as usize;
        match fcntl::copy_file_range(from, Some(&mut read), to, Some(&mut written), length) {
            Ok(length) => reply.written(length as u32),
            Err(error) => reply.error(code(error)),
        }
    }
}

fn answer(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(code(error)),
    }
}

fn code(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error as i32)
}

/// The file that a handle means: handles are descriptor numbers.
pub(crate) fn file(handle: FileHandle) -> BorrowedFd<'static> {
    // SAFETY: the kernel names a handle only between our reply to its open and its release.
    unsafe { BorrowedFd::borrow_raw(handle.0 as RawFd) }
}

fn close(handle: FileHandle) {
    // SAFETY: `open`, `create` or `opendir` gave the descriptor up, and release comes once.
    drop(unsafe { OwnedFd::from_raw_fd(handle.0 as RawFd) });
}

/// What is asked of the kernel beyond fuser's choice.
const WANTED: [InitFlags; 4] = [
    InitFlags::FUSE_ATOMIC_O_TRUNC,
    InitFlags::FUSE_PARALLEL_DIROPS,
    InitFlags::FUSE_ASYNC_DIO,
    InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
];

/// How every file is opened: past the page cache, and written by several threads at once.
const DIRECT: FopenFlags =
    FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

const MEBIBYTE: u32 = 1 << 20;

thread_local! {
    /// What a read goes through; a loop serves one request at a time.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; MEBIBYTE as usize]);
}
