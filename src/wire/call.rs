//! What a client asks of an agent: the operations of a mounted tree, and a few about the
//! connection itself.
//!
//! The order of the variants is part of the protocol: new ones are added at the end.

use serde::{Deserialize, Serialize};

use iofwd_mount::store::{
    Changes, CopyRange, HandleId, Lock, NewNode, NodeId, OpenHow, ReadAt, WriteAt,
};

use super::stripe::{FileCall, ObjectCall};

/// A call with its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request<'a> {
    /// Names the call until it is answered; 0 for calls that are not.
    pub id: u64,
    /// Who asks: the slot of an [`Call::Introduce`] on the same connection.
    pub slot: u32,
    /// It is done once, however often it is sent.
    pub once: Option<Once>,
    /// What is asked.
    #[serde(borrow)]
    pub call: Call<'a>,
}

/// Where the agent keeps what came of a call until the client has heard of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Once {
    /// The place; a call that uses it again says that the answer to the one before has arrived.
    pub place: u16,
    /// It was sent before, and may have been done.
    pub again: bool,
}

/// A name of a directory, or of an extended attribute: bytes.
pub type Name<'a> = &'a [u8];

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the calls and their arguments are those of the mount's `Store`")]
pub enum Call<'a> {
    /// Is anybody there?
    Ping,
    /// From now on this slot means that user. The payload has the supplementary groups, four bytes
    /// each. Not answered.
    Introduce {
        slot: u32,
        uid: u32,
        gid: u32,
        job: u64,
    },
    /// Give up waiting for that call. Not answered itself.
    Cancel {
        id: u64,
    },
    /// Not answered.
    Forget {
        node: NodeId,
        references: u64,
    },
    Lookup {
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
    },
    Getattr {
        node: NodeId,
        handle: Option<HandleId>,
    },
    Setattr {
        node: NodeId,
        changes: Changes,
    },
    Readlink {
        node: NodeId,
    },
    Mknod {
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
        new: NewNode,
    },
    Mkdir {
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
        new: NewNode,
    },
    Unlink {
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
    },
    Rmdir {
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
    },
    Symlink {
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
        #[serde(with = "serde_bytes")]
        target: &'a [u8],
    },
    Rename {
        from: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
        to: NodeId,
        #[serde(with = "serde_bytes")]
        to_name: Name<'a>,
        flags: u32,
    },
    Link {
        node: NodeId,
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
    },
    Open {
        node: NodeId,
        how: OpenHow,
    },
    Create {
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
        how: OpenHow,
        new: NewNode,
    },
    Tmpfile {
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
    },
    Read(ReadAt),
    /// The payload has the bytes.
    Write(WriteAt),
    Flush {
        node: NodeId,
        handle: HandleId,
        owner: u64,
    },
    Release {
        node: NodeId,
        handle: HandleId,
    },
    Fsync {
        node: NodeId,
        handle: HandleId,
        data_only: bool,
    },
    Opendir {
        node: NodeId,
        flags: i32,
    },
    /// As many names as fit in the room of the kernel's form.
    Readdir {
        node: NodeId,
        handle: HandleId,
        offset: u64,
        room: u32,
        attributes: bool,
    },
    Releasedir {
        node: NodeId,
        handle: HandleId,
    },
    Fsyncdir {
        node: NodeId,
        handle: HandleId,
        data_only: bool,
    },
    Statfs {
        node: NodeId,
    },
    /// The payload has the value.
    Setxattr {
        node: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
        flags: i32,
    },
    Getxattr {
        node: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
    },
    Listxattr {
        node: NodeId,
    },
    Removexattr {
        node: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
    },
    Access {
        node: NodeId,
        mask: i32,
    },
    Getlk(LockCall),
    Setlk(LockCall),
    Fallocate {
        handle: HandleId,
        offset: u64,
        length: u64,
        mode: i32,
    },
    Lseek {
        handle: HandleId,
        offset: i64,
        whence: i32,
    },
    CopyFileRange(CopyRange),
    /// The payload has the argument.
    Ioctl {
        handle: HandleId,
        command: u32,
        room: u32,
    },
    /// One of our own control operations: answered with a text.
    Control {
        command: u32,
    },
    /// Of a data server: stripes. The payload has the bytes of a write.
    Object(ObjectCall),
    /// Of the data server that has the names: how a striped file stands.
    File(FileCall),
    /// The client knows this node so often; the payload has its voucher. Where that alone does not
    /// lead to it, it was last seen under that name. Not answered.
    Adopt {
        node: NodeId,
        references: u64,
        parent: NodeId,
        #[serde(with = "serde_bytes")]
        name: Name<'a>,
    },
    /// The client has this file, or directory, open; the payload has its voucher. With `lost` it
    /// can be closed and nothing else. Not answered.
    Reopen {
        node: NodeId,
        handle: HandleId,
        lost: bool,
    },
    /// The client holds this lock. Not answered.
    Reclaim(LockCall),
    /// What was not adopted or reopened since the connection began is not the client's any more.
    Restored,
    /// The client has no more to ask, and gives everything back.
    Leave,
}

/// A request for a lock; its owner is one of this client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the mount's `LockRequest`")]
pub struct LockCall {
    pub node: NodeId,
    pub handle: HandleId,
    pub owner: u64,
    pub lock: Lock,
    pub whole_file: bool,
    pub wait: bool,
}
