//! What a mounted tree needs from the other side: the trait and its types.
//!
//! Every method gets a reply that may be answered at once or later from any thread; a method must
//! not block on anything that takes longer than a system call on the backing does. A reply that is
//! dropped answers `EIO`, so that no caller hangs.

use std::ffi::OsStr;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, RequestKey};
use crate::reply::{DataReply, DirectoryReply, Reply, XattrReply};

/// Identity of a file, directory or other node as long as the kernel remembers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct NodeId(pub u64);

impl NodeId {
    /// The root of the tree.
    pub const ROOT: NodeId = NodeId(1);
}

/// Identity of an open file or directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct HandleId(pub u64);

/// Who holds a lock: a process, or an open file description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockOwner {
    /// The client it belongs to; 0 is the mount of the same process.
    pub client: u64,
    /// What the kernel of that client calls it.
    pub key: u64,
}

/// How a file is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct OpenHow {
    /// The flags of `open`.
    pub flags: i32,
    /// The kernel caches pages of the file and fills them: it reads, whatever the application may.
    pub readable: bool,
}

/// Seconds and nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Timestamp {
    /// Whole seconds; negative before the epoch.
    pub secs: i64,
    /// The rest, below a thousand million.
    pub nanos: u32,
}

impl Timestamp {
    /// Whole seconds from `earlier` to this one.
    pub fn seconds_since(self, earlier: Timestamp) -> i64 {
        self.secs.saturating_sub(earlier.secs)
    }
}

/// The attributes of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Attr {
    /// The node.
    pub node: NodeId,
    /// The inode number that applications see.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Allocated blocks of 512 bytes.
    pub blocks: u64,
    /// Time of last access.
    pub atime: Timestamp,
    /// Time of last change of the data.
    pub mtime: Timestamp,
    /// Time of last change of the attributes.
    pub ctime: Timestamp,
    /// Time of creation, where the backing knows it.
    pub btime: Option<Timestamp>,
    /// Type and permissions, as in `st_mode`.
    pub mode: u32,
    /// Number of names.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Major and minor device number of a device node.
    pub device: (u32, u32),
    /// Preferred size of reads and writes.
    pub block_size: u32,
}

/// A node that was found or made. The kernel now counts one more reference to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Entry {
    /// Its attributes, identity included.
    pub attr: Attr,
}

/// An open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Opened {
    /// The handle to name it by.
    pub handle: HandleId,
    /// The attributes at the time of opening: decide whether cached pages are still good.
    pub attr: Attr,
}

/// An open directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct OpenedDirectory {
    /// The handle to name it by.
    pub handle: HandleId,
}

/// A file that was made and opened in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Created {
    /// The new file.
    pub entry: Entry,
    /// The handle to name it by.
    pub handle: HandleId,
}

/// What to create: type and permissions as asked for, and the caller's mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct NewNode {
    /// Type and permissions, before the mask.
    pub mode: u32,
    /// The caller's file creation mask; a default ACL of the directory takes its place.
    pub umask: u32,
    /// Device number, for device nodes.
    pub device: u32,
}

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub enum SetTime {
    /// This time.
    To(Timestamp),
    /// The time of the backing's clock.
    Now,
}

/// Attributes to change; those that are `None` stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Changes {
    /// An open file to act through.
    pub handle: Option<HandleId>,
    /// Permissions.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size.
    pub size: Option<u64>,
    /// Time of last access.
    pub atime: Option<SetTime>,
    /// Time of last change of the data.
    pub mtime: Option<SetTime>,
}

/// Where a read goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct ReadAt {
    /// The file.
    pub node: NodeId,
    /// Through this handle.
    pub handle: HandleId,
    /// From this offset.
    pub offset: u64,
    /// At most so many bytes; fewer only at the end of the file.
    pub size: u32,
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct WriteAt {
    /// The file.
    pub node: NodeId,
    /// Through this handle.
    pub handle: HandleId,
    /// To this offset.
    pub offset: u64,
    /// At the end of the file, wherever that is by then.
    pub append: bool,
    /// The kernel writes pages back long after the application's call; nobody waits for the answer.
    pub late: bool,
}

/// Kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub enum LockKind {
    /// Shared.
    Read,
    /// Exclusive.
    Write,
    /// None: release.
    Unlock,
}

/// A range of bytes and how it is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Lock {
    /// First byte.
    pub start: u64,
    /// Last byte, itself included.
    pub end: u64,
    /// How.
    pub kind: LockKind,
    /// Process that holds it, for those who ask; 0 when not known.
    pub pid: u32,
}

/// A request for a lock.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest {
    /// The file.
    pub node: NodeId,
    /// Through this handle.
    pub handle: HandleId,
    /// For this owner.
    pub owner: LockOwner,
    /// The lock.
    pub lock: Lock,
    /// `flock` rather than `fcntl`: belongs to the open file, covers all of it.
    pub whole_file: bool,
    /// Wait until it is granted.
    pub wait: bool,
}

/// A range of one file to copy to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct CopyRange {
    /// From this open file,
    pub source: HandleId,
    /// from this offset,
    pub source_offset: u64,
    /// to this open file,
    pub target: HandleId,
    /// at this offset,
    pub target_offset: u64,
    /// so many bytes.
    pub length: u64,
}

/// The state of the file system that holds a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Statfs {
    /// Blocks in all, in units of `fragment`.
    pub blocks: u64,
    /// Free blocks.
    pub free: u64,
    /// Free blocks for ordinary users.
    pub available: u64,
    /// Inodes in all.
    pub files: u64,
    /// Free inodes.
    pub files_free: u64,
    /// Preferred size of reads and writes.
    pub block_size: u32,
    /// The longest name.
    pub name_max: u32,
    /// The unit of the block counts.
    pub fragment: u32,
}

/// The answer to a control operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controlled {
    /// What the call returns.
    pub result: i32,
    /// What it writes back.
    pub data: Vec<u8>,
}

/// The other side of a mount: every operation of a POSIX file system.
///
/// Names are bytes without a slash. A node stays valid until the kernel has forgotten it as often
/// as it was told of it by an [`Entry`]; the root always is.
pub trait Store: Send + Sync + 'static {
    /// Find a name in a directory.
    fn lookup(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<Entry>);
    /// The kernel gives up so many of its references. Not answered.
    fn forget(&self, node: NodeId, references: u64);
    /// Read attributes, through the handle where there is one.
    fn getattr(&self, caller: &Caller, node: NodeId, handle: Option<HandleId>, reply: Reply<Attr>);
    /// Change attributes.
    fn setattr(&self, caller: &Caller, node: NodeId, changes: &Changes, reply: Reply<Attr>);
    /// Read the target of a symbolic link.
    fn readlink(&self, caller: &Caller, node: NodeId, reply: DataReply);
    /// Make a file, fifo, socket or device node.
    fn mknod(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    );
    /// Make a directory.
    fn mkdir(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    );
    /// Remove a name that is not a directory.
    fn unlink(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>);
    /// Remove an empty directory.
    fn rmdir(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>);
    /// Make a symbolic link.
    fn symlink(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        target: &OsStr,
        reply: Reply<Entry>,
    );
    /// Rename, with the flags of `renameat2`.
    fn rename(
        &self,
        caller: &Caller,
        from: (NodeId, &OsStr),
        to: (NodeId, &OsStr),
        flags: u32,
        reply: Reply<()>,
    );
    /// Give a node another name.
    fn link(
        &self,
        caller: &Caller,
        node: NodeId,
        parent: NodeId,
        name: &OsStr,
        reply: Reply<Entry>,
    );
    /// Open a file.
    fn open(&self, caller: &Caller, node: NodeId, how: OpenHow, reply: Reply<Opened>);
    /// Make and open a file; open it if it is there and `O_EXCL` is not set.
    fn create(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    );
    /// Make and open a file without a name.
    fn tmpfile(
        &self,
        caller: &Caller,
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    );
    /// Read data.
    fn read(&self, caller: &Caller, at: ReadAt, reply: DataReply);
    /// Write data. The bytes are valid until the method returns.
    fn write(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>);
    /// One of possibly several descriptors of the handle is closed: report what went wrong so far,
    /// and release the `fcntl` locks of that owner.
    fn flush(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        owner: LockOwner,
        reply: Reply<()>,
    );
    /// The last descriptor of the handle is gone.
    fn release(&self, node: NodeId, handle: HandleId, reply: Reply<()>);
    /// Make data (and attributes, unless `data_only`) durable.
    fn fsync(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    );
    /// Open a directory.
    fn opendir(&self, caller: &Caller, node: NodeId, flags: i32, reply: Reply<OpenedDirectory>);
    /// List a directory from an offset on, until the reply is full.
    fn readdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        offset: u64,
        reply: DirectoryReply,
    );
    /// The directory handle is gone.
    fn releasedir(&self, node: NodeId, handle: HandleId, reply: Reply<()>);
    /// Make a directory durable.
    fn fsyncdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    );
    /// The state of the file system that holds the node.
    fn statfs(&self, caller: &Caller, node: NodeId, reply: Reply<Statfs>);
    /// Set an extended attribute, with the flags of `setxattr`.
    fn setxattr(
        &self,
        caller: &Caller,
        node: NodeId,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        reply: Reply<()>,
    );
    /// Read an extended attribute.
    fn getxattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: XattrReply);
    /// List the names of extended attributes.
    fn listxattr(&self, caller: &Caller, node: NodeId, reply: XattrReply);
    /// Remove an extended attribute.
    fn removexattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: Reply<()>);
    /// Whether the caller may access the node so, as `access` asks.
    fn access(&self, caller: &Caller, node: NodeId, mask: i32, reply: Reply<()>);
    /// Tell which lock stands in the way of this one.
    fn getlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<Lock>);
    /// Take or release a lock; may wait, without holding up the calling thread.
    fn setlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<()>);
    /// Allocate, punch, zero, collapse, insert: the modes of `fallocate`.
    fn fallocate(
        &self,
        caller: &Caller,
        handle: HandleId,
        range: (u64, u64),
        mode: i32,
        reply: Reply<()>,
    );
    /// Find data or a hole.
    fn lseek(&self, caller: &Caller, handle: HandleId, offset: i64, whence: i32, reply: Reply<i64>);
    /// Copy between two open files without the bytes passing through the caller.
    fn copy_file_range(&self, caller: &Caller, copy: &CopyRange, reply: Reply<u64>);
    /// A control operation with its argument and room for so many bytes of answer.
    fn ioctl(
        &self,
        caller: &Caller,
        handle: HandleId,
        command: u32,
        argument: &[u8],
        room: usize,
        reply: Reply<Controlled>,
    );
    /// A signal reached the caller of that request: give up waiting, if it waits.
    fn interrupt(&self, request: RequestKey);
    /// Whether it hands requests on and does nothing itself that takes long. Then few threads bring
    /// them, and what they lead to may be kept back while others are at hand ([`company`]).
    ///
    /// [`company`]: crate::company
    fn hands_on(&self) -> bool {
        false
    }
}
