//! Attributes: read, change, extended ones, access, the state of the file system.

use std::ffi::OsStr;

use iofwd_mount::Errno;
use iofwd_mount::store::{Attr, Changes, SetTime, Statfs, Timestamp};

use super::file::File;
use super::home::{self, Home};
use super::inode::Inode;
use super::system;

impl Inode {
    /// Read the attributes; the node number is not filled in.
    pub fn attr(&self) -> Result<Attr, Errno> {
        Ok(convert(&system::statx(&*self.descriptor()?, c"")?, self.home()))
    }

    /// Change attributes, through an open file where there is one.
    pub fn change(&self, changes: &Changes, file: Option<&File>) -> Result<(), Errno> {
        let fd = self.descriptor()?;
        if changes.uid.is_some() || changes.gid.is_some() {
            system::chown(&*fd, changes.uid.unwrap_or(KEEP), changes.gid.unwrap_or(KEEP))?;
        }
        if let Some(mode) = changes.mode {
            system::chmod(&*fd, mode & 0o7777)?;
        }
        if let Some(size) = changes.size {
            let size = i64::try_from(size).map_err(|_| Errno::from_raw(libc::EFBIG))?;
            match file {
                Some(file) => system::ftruncate(file, size)?,
                None => system::truncate(&*fd, size)?,
            }
        }
        if changes.atime.is_some() || changes.mtime.is_some() {
            system::utimens(&*fd, &[timespec(changes.atime), timespec(changes.mtime)])?;
        }
        Ok(())
    }

    /// Read the target of a symbolic link.
    pub fn readlink(&self) -> Result<Vec<u8>, Errno> {
        system::readlink(&*self.descriptor()?)
    }

    /// Whether the identity this thread acts under may access the node.
    pub fn access(&self, mask: i32) -> Result<(), Errno> {
        system::access(&*self.descriptor()?, mask)
    }

    /// Set an extended attribute.
    pub fn setxattr(&self, name: &OsStr, value: &[u8], flags: i32) -> Result<(), Errno> {
        system::setxattr(&*self.descriptor()?, &system::c_string(name)?, value, flags)
    }

    /// Read an extended attribute.
    pub fn getxattr(&self, name: &OsStr) -> Result<Vec<u8>, Errno> {
        system::getxattr(&*self.descriptor()?, &system::c_string(name)?)
    }

    /// The names of the extended attributes, each with a zero byte behind it.
    pub fn listxattr(&self) -> Result<Vec<u8>, Errno> {
        system::listxattr(&*self.descriptor()?)
    }

    /// Remove an extended attribute.
    pub fn removexattr(&self, name: &OsStr) -> Result<(), Errno> {
        system::removexattr(&*self.descriptor()?, &system::c_string(name)?)
    }

    /// The state of the file system that holds the node.
    pub fn statfs(&self) -> Result<Statfs, Errno> {
        let stat = system::statvfs(&*self.descriptor()?)?;
        Ok(Statfs {
            blocks: stat.f_blocks,
            free: stat.f_bfree,
            available: stat.f_bavail,
            files: stat.f_files,
            files_free: stat.f_ffree,
            block_size: stat.f_bsize as u32,
            name_max: stat.f_namemax as u32,
            fragment: stat.f_frsize as u32,
        })
    }
}

/// The kernel's attributes as ours. Below a mount point inside the tree the device is another, and
/// its numbers are set apart from those of `home`.
pub(super) fn convert(stat: &libc::statx, home: Home) -> Attr {
    let time = |time: &libc::statx_timestamp| Timestamp { secs: time.tv_sec, nanos: time.tv_nsec };
    Attr {
        inode: stat.stx_ino ^ apart(stat, home),
        size: stat.stx_size,
        blocks: stat.stx_blocks,
        atime: time(&stat.stx_atime),
        mtime: time(&stat.stx_mtime),
        ctime: time(&stat.stx_ctime),
        btime: super::inode::birth_of(stat),
        mode: u32::from(stat.stx_mode),
        links: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        device: (stat.stx_rdev_major, stat.stx_rdev_minor),
        block_size: stat.stx_blksize,
        ..Attr::default()
    }
}

fn apart(stat: &libc::statx, home: Home) -> u64 {
    let spread = |(major, minor): (u32, u32)| {
        (u64::from(major) << 32 | u64::from(minor)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    if home.is_home_of(stat) { 0 } else { spread(home::device_of(stat)) & !0xffff_ffff }
}

fn timespec(time: Option<SetTime>) -> libc::timespec {
    let special = |tv_nsec| libc::timespec { tv_sec: 0, tv_nsec };
    match time {
        None => special(libc::UTIME_OMIT),
        Some(SetTime::Now) => special(libc::UTIME_NOW),
        Some(SetTime::To(time)) => {
            libc::timespec { tv_sec: time.secs, tv_nsec: i64::from(time.nanos) }
        }
    }
}

/// Leaves an owner as it is.
const KEEP: u32 = u32::MAX;
