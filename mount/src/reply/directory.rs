//! The promise to answer with a piece of a directory.

use zerocopy::IntoBytes;

use crate::errno::Errno;
use crate::line::Line;
use crate::protocol::answer::{RawDirent, RawEntry};
use crate::store::{Attr, Entry};

use super::Pending;

/// One name of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirent<'a> {
    /// The inode number.
    pub inode: u64,
    /// Where the listing goes on after this name.
    pub offset: u64,
    /// Type, as in `d_type`.
    pub kind: u8,
    /// The name.
    pub name: &'a [u8],
}

/// The promise to answer with a piece of a directory.
#[derive(Debug)]
pub struct DirectoryReply {
    to: Destination,
    filled: usize,
    room: usize,
    attributes: bool,
}

enum Destination {
    Kernel(Pending, Vec<u8>),
    Collect(Box<dyn Collect>),
}

impl std::fmt::Debug for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::Kernel(pending, _) => write!(f, "Kernel({pending:?})"),
            Destination::Collect(_) => f.write_str("Collect"),
        }
    }
}

/// Takes the names of a directory in place of the kernel.
pub trait Collect: Send {
    /// A name; with attributes somebody now counts a reference to the node.
    fn push(&mut self, dirent: &Dirent<'_>, entry: Option<&Entry>);
    /// That was all, or it failed.
    fn finish(self: Box<Self>, result: Result<(), Errno>);
}

impl DirectoryReply {
    pub(crate) fn new(line: &Line, unique: u64, room: u32, attributes: bool) -> DirectoryReply {
        let room = room as usize;
        let to = Destination::Kernel(Pending::new(line, unique), Vec::with_capacity(room));
        DirectoryReply { to, filled: 0, room, attributes }
    }

    /// A reply that hands the names to somebody else than the kernel: as many as would fit in so
    /// many bytes of the kernel's form.
    pub fn collect(room: usize, attributes: bool, collect: Box<dyn Collect>) -> DirectoryReply {
        DirectoryReply { to: Destination::Collect(collect), filled: 0, room, attributes }
    }

    /// Whether each name should come with its attributes, as if it had been looked up.
    pub fn wants_attributes(&self) -> bool {
        self.attributes
    }

    /// How many bytes of the kernel's form the answer may have.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Whether a name of that length still fits: ask before looking its attributes up.
    pub fn fits(&self, name: &[u8]) -> bool {
        self.filled + self.size_of(name) <= self.room
    }

    /// Add a name. With attributes the kernel counts a reference to the node, as after a lookup;
    /// without it asks when it needs them.
    pub fn push(&mut self, dirent: &Dirent<'_>, entry: Option<&Entry>) {
        self.filled += self.size_of(dirent.name);
        match &mut self.to {
            Destination::Kernel(pending, bytes) => {
                if self.attributes {
                    let timeouts = pending.line.connection().timeouts;
                    let attr = entry.map_or(Attr::default(), |entry| entry.attr);
                    bytes.extend_from_slice(RawEntry::new(&attr, timeouts).as_bytes());
                }
                bytes.extend_from_slice(RawDirent::new(dirent).as_bytes());
                bytes.extend_from_slice(dirent.name);
                bytes.resize(bytes.len().next_multiple_of(8), 0);
            }
            Destination::Collect(collect) => collect.push(dirent, entry),
        }
    }

    /// Answer with what was added; with nothing, at the end of the directory.
    pub fn send(self) {
        match self.to {
            Destination::Kernel(pending, bytes) => pending.answer(&bytes, &[]),
            Destination::Collect(collect) => collect.finish(Ok(())),
        }
    }

    /// Answer with an error.
    pub fn error(self, errno: Errno) {
        match self.to {
            Destination::Kernel(pending, _) => pending.refuse(errno),
            Destination::Collect(collect) => collect.finish(Err(errno)),
        }
    }

    fn size_of(&self, name: &[u8]) -> usize {
        let entry = if self.attributes { size_of::<RawEntry>() } else { 0 };
        entry + (size_of::<RawDirent>() + name.len()).next_multiple_of(8)
    }
}

impl RawDirent {
    fn new(dirent: &Dirent<'_>) -> RawDirent {
        RawDirent {
            inode: dirent.inode,
            offset: dirent.offset,
            name_length: dirent.name.len() as u32,
            kind: u32::from(dirent.kind),
        }
    }
}
