//! Answers: the fixed part of each, and how our values become it.

use zerocopy::{Immutable, IntoBytes};

use crate::cache::Timeouts;
use crate::store::{Attr, Lock, LockKind, Statfs, Timestamp};

macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, IntoBytes, Immutable)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }
    )*};
}

answers! {
    /// The header of every answer.
    Header { length: u32, error: i32, unique: u64 }
    /// Attributes.
    RawAttr {
        inode: u64, size: u64, blocks: u64, atime: i64, mtime: i64, ctime: i64,
        atime_nanos: u32, mtime_nanos: u32, ctime_nanos: u32,
        mode: u32, links: u32, uid: u32, gid: u32, device: u32, block_size: u32, flags: u32,
    }
    /// To LOOKUP and whatever makes a node.
    RawEntry {
        node: u64, generation: u64, entry_valid: u64, attr_valid: u64,
        entry_valid_nanos: u32, attr_valid_nanos: u32, attr: RawAttr,
    }
    /// To GETATTR and SETATTR.
    RawAttrOut { valid: u64, valid_nanos: u32, unused: u32, attr: RawAttr }
    /// To OPEN and OPENDIR.
    RawOpen { handle: u64, flags: u32, backing: u32 }
    /// To CREATE and TMPFILE.
    RawCreate { entry: RawEntry, open: RawOpen }
    /// To WRITE, and to COPY_FILE_RANGE in its short form.
    RawWrite { size: u32, padding: u32 }
    /// To STATFS.
    RawStatfs {
        blocks: u64, free: u64, available: u64, files: u64, files_free: u64,
        block_size: u32, name_max: u32, fragment: u32, padding: u32, spare: [u32; 6],
    }
    /// To GETXATTR and LISTXATTR, when only the size is asked for.
    RawXattrSize { size: u32, padding: u32 }
    /// To GETLK.
    RawLock { start: u64, end: u64, kind: u32, pid: u32 }
    /// To IOCTL.
    RawIoctl { result: i32, flags: u32, in_iovs: u32, out_iovs: u32 }
    /// To LSEEK, and to COPY_FILE_RANGE in its long form.
    RawOffset { offset: u64 }
    /// One entry of a READDIR.
    RawDirent { inode: u64, offset: u64, name_length: u32, kind: u32 }
    /// A time in a STATX.
    RawStatxTime { secs: i64, nanos: u32, reserved: i32 }
    /// To STATX.
    RawStatx {
        valid: u64, valid_nanos: u32, flags: u32, spare: [u64; 2],
        mask: u32, block_size: u32, attributes: u64, links: u32, uid: u32, gid: u32, mode: u16,
        spare0: u16, inode: u64, size: u64, blocks: u64, attributes_mask: u64,
        atime: RawStatxTime, btime: RawStatxTime, ctime: RawStatxTime, mtime: RawStatxTime,
        device_major: u32, device_minor: u32, dev_major: u32, dev_minor: u32, spare2: [u64; 14],
    }
}

impl RawAttr {
    pub(crate) fn new(attr: &Attr) -> RawAttr {
        RawAttr {
            inode: attr.inode,
            size: attr.size,
            blocks: attr.blocks,
            atime: attr.atime.secs,
            mtime: attr.mtime.secs,
            ctime: attr.ctime.secs,
            atime_nanos: attr.atime.nanos,
            mtime_nanos: attr.mtime.nanos,
            ctime_nanos: attr.ctime.nanos,
            mode: attr.mode,
            links: attr.links,
            uid: attr.uid,
            gid: attr.gid,
            device: encode_device(attr.device),
            block_size: attr.block_size,
            flags: 0,
        }
    }
}

impl RawAttrOut {
    pub(crate) fn new(attr: &Attr, timeouts: Timeouts) -> RawAttrOut {
        RawAttrOut {
            valid: timeouts.attr.as_secs(),
            valid_nanos: timeouts.attr.subsec_nanos(),
            unused: 0,
            attr: RawAttr::new(attr),
        }
    }
}

impl RawEntry {
    pub(crate) fn new(attr: &Attr, timeouts: Timeouts) -> RawEntry {
        RawEntry {
            node: attr.node.0,
            // Node numbers are never used twice, so that generations are not needed.
            generation: 0,
            entry_valid: timeouts.entry.as_secs(),
            attr_valid: timeouts.attr.as_secs(),
            entry_valid_nanos: timeouts.entry.subsec_nanos(),
            attr_valid_nanos: timeouts.attr.subsec_nanos(),
            attr: RawAttr::new(attr),
        }
    }
}

impl RawStatfs {
    pub(crate) fn new(statfs: &Statfs) -> RawStatfs {
        RawStatfs {
            blocks: statfs.blocks,
            free: statfs.free,
            available: statfs.available,
            files: statfs.files,
            files_free: statfs.files_free,
            block_size: statfs.block_size,
            name_max: statfs.name_max,
            fragment: statfs.fragment,
            padding: 0,
            spare: [0; 6],
        }
    }
}

impl RawLock {
    pub(crate) fn new(lock: &Lock) -> RawLock {
        let kind = match lock.kind {
            LockKind::Read => libc::F_RDLCK,
            LockKind::Write => libc::F_WRLCK,
            LockKind::Unlock => libc::F_UNLCK,
        };
        RawLock { start: lock.start, end: lock.end, kind: kind as u32, pid: lock.pid }
    }
}

impl RawStatxTime {
    fn new(time: Timestamp) -> RawStatxTime {
        RawStatxTime { secs: time.secs, nanos: time.nanos, reserved: 0 }
    }
}

impl RawStatx {
    pub(crate) fn new(attr: &Attr, timeouts: Timeouts) -> RawStatx {
        let btime_mask = if attr.btime.is_some() { libc::STATX_BTIME } else { 0 };
        RawStatx {
            valid: timeouts.attr.as_secs(),
            valid_nanos: timeouts.attr.subsec_nanos(),
            flags: 0,
            spare: [0; 2],
            mask: libc::STATX_BASIC_STATS | btime_mask,
            block_size: attr.block_size,
            attributes: 0,
            links: attr.links,
            uid: attr.uid,
            gid: attr.gid,
            mode: attr.mode as u16,
            spare0: 0,
            inode: attr.inode,
            size: attr.size,
            blocks: attr.blocks,
            attributes_mask: 0,
            atime: RawStatxTime::new(attr.atime),
            btime: RawStatxTime::new(attr.btime.unwrap_or_default()),
            ctime: RawStatxTime::new(attr.ctime),
            mtime: RawStatxTime::new(attr.mtime),
            device_major: attr.device.0,
            device_minor: attr.device.1,
            dev_major: 0,
            dev_minor: 0,
            spare2: [0; 14],
        }
    }
}

/// The kernel's 32-bit form of a device number.
fn encode_device((major, minor): (u32, u32)) -> u32 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// OPEN: the page cache is not used for this file.
pub(crate) const OPEN_DIRECT: u32 = 1 << 0;
/// OPEN: the pages that are cached from before are still good.
pub(crate) const OPEN_KEEP_CACHE: u32 = 1 << 1;
/// OPENDIR: the listing may be cached.
pub(crate) const OPEN_CACHE_DIR: u32 = 1 << 3;
/// OPEN: writes that do not go through the cache may run beside each other.
pub(crate) const OPEN_PARALLEL_WRITES: u32 = 1 << 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_kernel() {
        assert_eq!(size_of::<RawAttr>(), 88);
        assert_eq!(size_of::<RawEntry>(), 128);
        assert_eq!(size_of::<RawAttrOut>(), 104);
        assert_eq!(size_of::<RawStatfs>(), 80);
        assert_eq!(size_of::<RawStatx>(), 32 + 256);
        assert_eq!(size_of::<RawDirent>(), 24);
    }

    #[test]
    fn device_numbers_survive_the_short_form() {
        assert_eq!(encode_device((8, 1)), 0x801);
        assert_eq!(encode_device((259, 0x1234)), 0x34 | (259 << 8) | (0x1200 << 12));
    }
}
