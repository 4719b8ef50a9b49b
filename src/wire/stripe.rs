//! What agents ask of data servers beside the operations of a tree: of each server the stripes it
//! holds, and of the one that has the names how far a striped file goes and what was cut off it.
//!
//! The order of the variants is part of the protocol: new ones are added at the end.

use serde::{Deserialize, Serialize};

use iofwd_mount::store::{HandleId, NodeId};

/// Names the stripes of one file, on every server that has some. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId(pub [u8; 16]);

impl std::fmt::Display for ObjectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl ObjectId {
    /// From the text that it is shown as.
    pub fn parse(text: &str) -> Option<ObjectId> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(ObjectId(bytes))
    }
}

/// The extended attribute that the stripes of a file are kept in. Agents show it to nobody.
pub const ATTRIBUTE: &str = "user.iofwd.stripes";

/// Which of the changes that cut a file came last: what was written before must be written again.
pub type Epoch = u64;

/// What is asked of any data server. Offsets are those in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the arguments are those of the operation with that name")]
pub enum ObjectCall {
    /// Who are you? Answered with 16 bytes that stay the same.
    Identify,
    /// Short where the object ends; an object that is not there is empty.
    Read {
        object: ObjectId,
        offset: u64,
        length: u32,
    },
    /// The payload has the bytes. `ESTALE` if the object has seen a later epoch.
    Write {
        object: ObjectId,
        epoch: Epoch,
        offset: u64,
    },
    /// Nothing is left beyond this size; not done if the object has seen a later epoch.
    Cut {
        object: ObjectId,
        epoch: Epoch,
        size: u64,
    },
    /// Allocate, punch or zero, with the modes of `fallocate`.
    Allocate {
        object: ObjectId,
        epoch: Epoch,
        mode: i32,
        offset: u64,
        length: u64,
    },
    /// The next data, or the next hole.
    Seek {
        object: ObjectId,
        offset: u64,
        hole: bool,
    },
    Sync {
        object: ObjectId,
        data_only: bool,
    },
    /// Make everything durable.
    SyncAll,
    Remove {
        object: ObjectId,
    },
    /// Objects in the order of their names, those behind this one: [`ObjectRecord`]s.
    List {
        after: Option<ObjectId>,
    },
    Statfs,
    /// That agent is dead, and others act for its clients: what it sent is done when this is answered,
    /// and nothing of it is done later.
    Evict {
        agent: [u8; 16],
    },
}

/// What is asked of the server that has the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the arguments are those of the operation with that name")]
pub enum FileCall {
    /// These are the servers of this file system, in order: the payload has 16 bytes for each.
    /// `EXDEV` if it has others.
    Enrol,
    /// The stripes of a file, made as wished if it has none. Answered with [`Stripes`]; `ENODATA`
    /// if there are none and none are wished for.
    Stripes { node: NodeId, wish: Option<Wish> },
    /// Data up to `end` are at their servers. Refused if the file was cut meanwhile.
    Wrote { handle: HandleId, end: u64, epoch: Epoch, append: bool },
    /// Wait until it is this client's turn to append; the next `Wrote` with `append` ends it.
    Append { handle: HandleId },
    /// Set the size. If something is cut off, the answer says what the objects must lose.
    Truncate { node: NodeId, handle: Option<HandleId>, size: u64 },
    /// The objects have lost it.
    Trimmed { node: NodeId, epoch: Epoch },
    /// Files that are gone, and whose objects are not: [`Stripes`] one after the other.
    Orphans,
    /// The objects of a file that is gone are, too.
    Freed { object: ObjectId },
}

/// How a file is to be striped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Bytes on one server before the next one follows.
    pub unit: u64,
    /// Over how many servers,
    pub count: u32,
    /// of how many.
    pub of: u32,
}

/// How a file is striped, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripes {
    /// The name of its objects.
    pub object: ObjectId,
    /// Bytes on one server before the next one follows.
    pub unit: u64,
    /// The servers in the order of their turns, by their places in the list of all.
    pub servers: Vec<u32>,
    /// The epoch of the file.
    pub epoch: Epoch,
    /// Objects may still hold bytes beyond this size, which are not the file's any more.
    pub cut: Option<u64>,
}

/// How a striped file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Whether what was asked for was done.
    pub accepted: bool,
    /// Its size.
    pub size: u64,
    /// Its epoch; while something has to be cut off, that of the cut.
    pub epoch: Epoch,
    /// Objects may still hold bytes beyond this size: they must be trimmed first.
    pub cut: Option<u64>,
}

/// An object, as a server lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Its name.
    pub object: ObjectId,
    /// Its size.
    pub size: u64,
}

/// Put a value behind those that are there already.
pub fn append(value: &impl Serialize, values: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(value, values).unwrap_or_default()
}

/// All values of a payload, if there is nothing else in it.
pub fn take_all<'a, T: Deserialize<'a>>(mut payload: &'a [u8]) -> Option<Vec<T>> {
    let mut values = Vec::new();
    while !payload.is_empty() {
        let (value, rest) = postcard::take_from_bytes(payload).ok()?;
        values.push(value);
        payload = rest;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_by_its_text() {
        let object = ObjectId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 254, 255]);
        assert_eq!(object.to_string(), "000102030405060708090a0b0c0dfeff");
        assert_eq!(ObjectId::parse(&object.to_string()), Some(object));
        for wrong in ["", "00", "+00102030405060708090a0b0c0dfeff", &"é".repeat(16)] {
            assert_eq!(ObjectId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn values_are_taken_as_they_were_appended() {
        let record = |size| ObjectRecord { object: ObjectId([7; 16]), size };
        let bytes = append(&record(300), append(&record(1), Vec::new()));
        assert_eq!(take_all(&bytes), Some(vec![record(1), record(300)]));
        assert_eq!(take_all::<ObjectRecord>(&bytes[..bytes.len() - 1]), None);
    }
}
