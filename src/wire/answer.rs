//! What an agent answers.
//!
//! The order of the variants is part of the protocol: new ones are added at the end.

use serde::{Deserialize, Serialize};

use iofwd_mount::store::{Attr, Created, Entry, Lock, Opened, OpenedDirectory, Statfs};

use super::frame::Malformed;
use super::stripe::Standing;

/// An answer, with the number of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The call's number.
    pub id: u64,
    /// A value, or the number of an error.
    pub result: Result<Value, i32>,
}

/// What a call is answered with. A node, and an open file, comes with a voucher in the payload, if
/// there was room for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// It is done.
    Nothing,
    /// A node was found or made; the client holds one more reference to it.
    Entry(Entry),
    /// Attributes.
    Attr(Attr),
    /// A file is open.
    Opened(Opened),
    /// A directory is open.
    OpenedDirectory(OpenedDirectory),
    /// A file was made and is open.
    Created(Created),
    /// So many bytes were written.
    Written(u32),
    /// So many bytes were copied.
    Copied(u64),
    /// Data or a hole is there.
    Position(i64),
    /// The state of a file system.
    Statfs(Statfs),
    /// The lock that is in the way.
    Lock(Lock),
    /// What a control operation returned; the payload has what it wrote back.
    Controlled(i32),
    /// The payload has the bytes.
    Data,
    /// The payload has [`Listed`] names, one after the other.
    Names,
    /// How a striped file stands.
    Standing(Standing),
}

/// One name of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed<'a> {
    /// The inode number.
    pub inode: u64,
    /// Where the listing goes on after this name.
    pub offset: u64,
    /// Type, as in `d_type`.
    pub kind: u8,
    /// The name.
    #[serde(with = "serde_bytes")]
    pub name: &'a [u8],
    /// With attributes, as if it had been looked up.
    pub entry: Option<Entry>,
    /// The voucher that goes with the attributes.
    #[serde(with = "serde_bytes")]
    pub voucher: &'a [u8],
}

impl Listed<'_> {
    /// Put it behind those that are there already.
    pub fn append(&self, names: Vec<u8>) -> Vec<u8> {
        postcard::to_extend(self, names).unwrap_or_default()
    }
}

/// The first name of a payload, and the rest of it; `None` at its end.
pub fn take_name(payload: &[u8]) -> Result<Option<(Listed<'_>, &[u8])>, Malformed> {
    if payload.is_empty() {
        return Ok(None);
    }
    let taken = postcard::take_from_bytes(payload);
    taken.map(Some).map_err(|_| Malformed("a list of names cannot be understood"))
}
