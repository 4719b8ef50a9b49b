//! Requests: the header that each one has, the fixed arguments of each operation, and the names
//! and bytes that follow them. Nothing is trusted: what does not fit is no request.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use zerocopy::{FromBytes, Immutable, KnownLayout};

use super::Opcode;

/// The header of every request.
#[repr(C)]
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) opcode: u32,
    pub(crate) unique: u64,
    pub(crate) node: u64,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) pid: u32,
    pub(crate) extensions: u32,
}

/// A request as it was read: its header, and what is left to take apart.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) header: Header,
    /// The fixed arguments, where they lie apart from the rest.
    arguments: Option<&'a [u8]>,
    rest: &'a [u8],
}

impl<'a> Question<'a> {
    /// Take the header off; `None` if the bytes are too few to be a request.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Question<'a>> {
        let (header, rest) = Header::read_from_prefix(bytes).ok()?;
        (header.length as usize == bytes.len()).then_some(Question {
            header,
            arguments: None,
            rest,
        })
    }

    /// A request whose parts lie in different places.
    pub(crate) fn in_parts(header: Header, arguments: &'a [u8], rest: &'a [u8]) -> Question<'a> {
        Question { header, arguments: Some(arguments), rest }
    }

    /// Whether the kernel only gives up what it knew: nobody waits for that.
    pub(crate) fn is_forgetting(&self) -> bool {
        let opcode = Opcode::from_raw(self.header.opcode);
        matches!(opcode, Some(Opcode::Forget | Opcode::BatchForget))
    }

    /// Take the fixed arguments of an operation off.
    pub(crate) fn take<T: FromBytes + KnownLayout + Immutable>(&mut self) -> Option<T> {
        let from = self.arguments.as_mut().unwrap_or(&mut self.rest);
        let (value, rest) = T::read_from_prefix(from).ok()?;
        *from = rest;
        Some(value)
    }

    /// Take a name off, up to its terminating zero.
    pub(crate) fn name(&mut self) -> Option<&'a OsStr> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Some(OsStr::from_bytes(name))
    }

    /// Take so many bytes off.
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }
    )*};
}

arguments! {
    /// FORGET.
    Forget { count: u64 }
    /// One item of BATCH_FORGET.
    ForgetOne { node: u64, count: u64 }
    /// BATCH_FORGET.
    BatchForget { count: u32, _unused: u32 }
    /// GETATTR.
    Getattr { flags: u32, _unused: u32, handle: u64 }
    /// STATX.
    Statx { flags: u32, _unused: u32, handle: u64, statx_flags: u32, mask: u32 }
    /// SETATTR.
    Setattr {
        valid: u32, _padding: u32, handle: u64, size: u64, lock_owner: u64,
        atime: i64, mtime: i64, ctime: i64, atime_nanos: u32, mtime_nanos: u32, ctime_nanos: u32,
        mode: u32, _unused4: u32, uid: u32, gid: u32, _unused5: u32,
    }
    /// MKNOD.
    Mknod { mode: u32, device: u32, umask: u32, _padding: u32 }
    /// MKDIR.
    Mkdir { mode: u32, umask: u32 }
    /// RENAME.
    Rename { parent: u64 }
    /// RENAME2.
    Rename2 { parent: u64, flags: u32, _padding: u32 }
    /// LINK.
    Link { node: u64 }
    /// OPEN and OPENDIR.
    Open { flags: u32, open_flags: u32 }
    /// CREATE and TMPFILE.
    Create { flags: u32, mode: u32, umask: u32, open_flags: u32 }
    /// READ, READDIR and READDIRPLUS.
    Read {
        handle: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32,
        _padding: u32,
    }
    /// WRITE.
    Write {
        handle: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64, flags: u32,
        _padding: u32,
    }
    /// RELEASE and RELEASEDIR.
    Release { handle: u64, flags: u32, release_flags: u32, lock_owner: u64 }
    /// FLUSH.
    Flush { handle: u64, _unused: u32, _padding: u32, lock_owner: u64 }
    /// FSYNC and FSYNCDIR.
    Fsync { handle: u64, flags: u32, _padding: u32 }
    /// SETXATTR, in its short form: the long one is not negotiated.
    Setxattr { size: u32, flags: u32 }
    /// GETXATTR and LISTXATTR.
    Getxattr { size: u32, _padding: u32 }
    /// ACCESS.
    Access { mask: u32, _padding: u32 }
    /// GETLK, SETLK and SETLKW.
    Lk {
        handle: u64, owner: u64, start: u64, end: u64, kind: u32, pid: u32, flags: u32,
        _padding: u32,
    }
    /// INTERRUPT.
    Interrupt { unique: u64 }
    /// IOCTL.
    Ioctl { handle: u64, flags: u32, command: u32, argument: u64, in_size: u32, out_size: u32 }
    /// FALLOCATE.
    Fallocate { handle: u64, offset: u64, length: u64, mode: u32, _padding: u32 }
    /// LSEEK.
    Lseek { handle: u64, offset: u64, whence: u32, _padding: u32 }
    /// COPY_FILE_RANGE, in both of its forms.
    CopyFileRange {
        source: u64, source_offset: u64, target_node: u64, target: u64, target_offset: u64,
        length: u64, flags: u64,
    }
}

/// What SETATTR means to change.
pub(crate) mod valid {
    pub(crate) const MODE: u32 = 1 << 0;
    pub(crate) const UID: u32 = 1 << 1;
    pub(crate) const GID: u32 = 1 << 2;
    pub(crate) const SIZE: u32 = 1 << 3;
    pub(crate) const ATIME: u32 = 1 << 4;
    pub(crate) const MTIME: u32 = 1 << 5;
    pub(crate) const HANDLE: u32 = 1 << 6;
    pub(crate) const ATIME_NOW: u32 = 1 << 7;
    pub(crate) const MTIME_NOW: u32 = 1 << 8;
}

/// GETATTR and STATX: the handle is meant.
pub(crate) const GETATTR_HANDLE: u32 = 1 << 0;
/// WRITE: pages written back late, not the application's call.
pub(crate) const WRITE_CACHE: u32 = 1 << 0;
/// Locks: `flock`, not `fcntl`.
pub(crate) const LK_FLOCK: u32 = 1 << 0;
/// FSYNC: data only.
pub(crate) const FSYNC_DATA: u32 = 1 << 0;
/// Bytes in front of the payload of a WRITE.
pub(crate) const WRITE_PREFIX: usize = size_of::<Header>() + size_of::<Write>();

#[cfg(test)]
mod tests {
    use super::*;

    fn request(opcode: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((40 + body.len() as u32).to_ne_bytes());
        bytes.extend(opcode.to_ne_bytes());
        bytes.extend(7u64.to_ne_bytes());
        bytes.extend(1u64.to_ne_bytes());
        bytes.extend([0; 16]);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_request_is_taken_apart_in_order() {
        let mut body = Vec::new();
        body.extend(9u64.to_ne_bytes());
        body.extend(b"old\0new\0tail");
        let bytes = request(12, &body);
        let mut question = Question::parse(&bytes).expect("a header");
        assert_eq!(question.header.unique, 7);
        assert_eq!(question.take::<Rename>().map(|rename| rename.parent), Some(9));
        assert_eq!(question.name(), Some(OsStr::new("old")));
        assert_eq!(question.name(), Some(OsStr::new("new")));
        assert_eq!(question.bytes(5), None, "more than there is");
        assert_eq!(question.bytes(4), Some(&b"tail"[..]));
    }

    #[test]
    fn no_cut_of_a_request_is_mistaken_for_one() {
        let bytes = request(12, b"12345678old\0new\0");
        for cut in 0..bytes.len() {
            assert!(Question::parse(&bytes[..cut]).is_none());
        }
        let mut question = Question::parse(&bytes).expect("whole");
        assert!(question.take::<Setattr>().is_none(), "arguments longer than the request");
    }

    #[test]
    fn the_payload_of_a_write_follows_eighty_bytes() {
        assert_eq!(WRITE_PREFIX, 80);
    }
}
