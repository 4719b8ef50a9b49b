//! What a scheduler sees: one read or write of one file, for one data server.

use crate::time::Time;

/// Identity of one request; unique for as long as the scheduler knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Identity of a file: the same for every handle and name of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// Identity of the job (application) a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// A data server: a dense number, an index into the table of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u32);

impl ServerId {
    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Read or write. Only these two are scheduled; metadata goes straight through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Bytes come from the server.
    Read,
    /// Bytes go to the server.
    Write,
}

/// A range of bytes: where it starts and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Extent {
    /// The range of `length` bytes from `offset` on.
    pub const fn new(offset: u64, length: u64) -> Extent {
        Extent { offset, length }
    }

    /// Offset of the first byte behind the range.
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// Whether the two ranges have a byte in common.
    pub const fn overlaps(self, other: Extent) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }

    /// Whether every byte of this range lies in `other` too.
    pub const fn is_within(self, other: Extent) -> bool {
        other.offset <= self.offset && self.end() <= other.end()
    }

    /// Whether `other` begins exactly where this range ends.
    pub const fn touches(self, other: Extent) -> bool {
        self.end() == other.offset
    }
}

/// One read or write of one file, wholly on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Identity, chosen by whoever submits it.
    pub id: RequestId,
    /// The file.
    pub file: FileId,
    /// The job it belongs to.
    pub job: JobId,
    /// The server that holds these bytes.
    pub server: ServerId,
    /// Read or write.
    pub operation: Operation,
    /// The bytes, as offsets in the file: hazards are judged here.
    pub extent: Extent,
    /// Offset of the first byte in the server's object: aggregation is judged here.
    pub local: u64,
    /// When it arrived.
    pub arrived: Time,
}

impl Request {
    /// Number of bytes.
    pub const fn length(&self) -> u64 {
        self.extent.length
    }

    /// The bytes, as offsets in the server's object.
    pub const fn local_extent(&self) -> Extent {
        Extent::new(self.local, self.extent.length)
    }

    /// Whether the order of the two matters: same file, a byte in common, and one of them a write.
    pub fn conflicts(&self, other: &Request) -> bool {
        self.file == other.file
            && (self.operation == Operation::Write || other.operation == Operation::Write)
            && self.extent.overlaps(other.extent)
    }
}
