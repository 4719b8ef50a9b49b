//! One of every message.

use iofwd::wire::answer::{Answer, Listed, Value};
use iofwd::wire::call::{Call, LockCall, Request};
use iofwd::wire::greeting::{Enter, Hello, Offer, Purpose, Reception, Welcome};
use iofwd_mount::store::{
    Attr, Changes, CopyRange, Created, Entry, HandleId, Lock, LockKind, NewNode, NodeId, OpenHow,
    Opened, OpenedDirectory, ReadAt, SetTime, Statfs, Timestamp, WriteAt,
};

use super::stripes;

const NODE: NodeId = NodeId(7);
const HANDLE: HandleId = HandleId(9);
const HOW: OpenHow = OpenHow { flags: 0x8002, readable: true };
const NEW: NewNode = NewNode { mode: 0o100_644, umask: 0o22, device: 0 };
const LOCK: Lock = Lock { start: 1, end: 300, kind: LockKind::Write, pid: 42 };
const LOCK_CALL: LockCall =
    LockCall { node: NODE, handle: HANDLE, owner: 77, lock: LOCK, whole_file: false, wait: true };

fn attr() -> Attr {
    Attr {
        node: NODE,
        inode: 1234,
        size: 1 << 33,
        blocks: 8,
        atime: Timestamp { secs: -1, nanos: 1 },
        mtime: Timestamp { secs: 1_700_000_000, nanos: 999_999_999 },
        ctime: Timestamp { secs: 3, nanos: 0 },
        btime: Some(Timestamp { secs: 4, nanos: 5 }),
        mode: 0o100_600,
        links: 2,
        uid: 1000,
        gid: 100,
        device: (8, 1),
        block_size: 4096,
    }
}

fn changes() -> Changes {
    Changes {
        handle: Some(HANDLE),
        mode: Some(0o600),
        uid: None,
        gid: Some(5),
        size: Some(4096),
        atime: Some(SetTime::Now),
        mtime: Some(SetTime::To(Timestamp { secs: 9, nanos: 8 })),
    }
}

/// Calls, by name.
pub(crate) fn calls() -> Vec<(&'static str, Call<'static>)> {
    let (node, parent, handle, name) = (NODE, NodeId(3), HANDLE, &b"name"[..]);
    let write = WriteAt { node, handle, offset: 70_000, append: true, late: false };
    let copy =
        CopyRange { source: handle, source_offset: 1, target: handle, target_offset: 2, length: 3 };
    let mut calls = vec![
        ("ping", Call::Ping),
        ("introduce", Call::Introduce { slot: 1, uid: 1000, gid: 100, job: 4711 }),
        ("cancel", Call::Cancel { id: 500 }),
        ("forget", Call::Forget { node, references: 2 }),
        ("lookup", Call::Lookup { parent, name }),
        ("getattr", Call::Getattr { node, handle: Some(handle) }),
        ("setattr", Call::Setattr { node, changes: changes() }),
        ("readlink", Call::Readlink { node }),
        ("mknod", Call::Mknod { parent, name, new: NEW }),
        ("mkdir", Call::Mkdir { parent, name, new: NEW }),
        ("unlink", Call::Unlink { parent, name }),
        ("rmdir", Call::Rmdir { parent, name }),
        ("symlink", Call::Symlink { parent, name, target: b"../there" }),
        ("rename", Call::Rename { from: parent, name, to: node, to_name: b"new", flags: 2 }),
        ("link", Call::Link { node, parent, name }),
        ("open", Call::Open { node, how: HOW }),
        ("create", Call::Create { parent, name, how: HOW, new: NEW }),
        ("tmpfile", Call::Tmpfile { parent, how: HOW, new: NEW }),
        ("read", Call::Read(ReadAt { node, handle, offset: 1 << 40, size: 1 << 20 })),
        ("write", Call::Write(write)),
        ("flush", Call::Flush { node, handle, owner: 77 }),
        ("release", Call::Release { node, handle }),
        ("fsync", Call::Fsync { node, handle, data_only: true }),
        ("opendir", Call::Opendir { node, flags: 0 }),
        ("readdir", Call::Readdir { node, handle, offset: 3, room: 4096, attributes: true }),
        ("releasedir", Call::Releasedir { node, handle }),
        ("fsyncdir", Call::Fsyncdir { node, handle, data_only: false }),
        ("statfs", Call::Statfs { node }),
        ("setxattr", Call::Setxattr { node, name: b"user.x", flags: 1 }),
        ("getxattr", Call::Getxattr { node, name: b"user.x" }),
        ("listxattr", Call::Listxattr { node }),
        ("removexattr", Call::Removexattr { node, name: b"user.x" }),
        ("access", Call::Access { node, mask: 4 }),
        ("getlk", Call::Getlk(LOCK_CALL)),
        ("setlk", Call::Setlk(LOCK_CALL)),
        ("fallocate", Call::Fallocate { handle, offset: 1, length: 2, mode: 3 }),
        ("lseek", Call::Lseek { handle, offset: -1, whence: 3 }),
        ("copy_file_range", Call::CopyFileRange(copy)),
        ("ioctl", Call::Ioctl { handle, command: 0x8008_6601, room: 8 }),
        ("control", Call::Control { command: 1 }),
        ("adopt", Call::Adopt { node, references: 3, parent, name }),
        ("reopen", Call::Reopen { node, handle, lost: true }),
        ("reclaim", Call::Reclaim(LOCK_CALL)),
        ("restored", Call::Restored),
        ("leave", Call::Leave),
    ];
    calls.extend(stripes::objects().into_iter().map(|(name, call)| (name, Call::Object(call))));
    calls.extend(stripes::files().into_iter().map(|(name, call)| (name, Call::File(call))));
    calls
}

/// Requests, by the name of their call.
pub(crate) fn requests() -> Vec<(&'static str, Request<'static>)> {
    let request = |(name, call)| (name, Request { id: 300, slot: 2, once: None, call });
    calls().into_iter().map(request).collect()
}

/// Answers, by the name of their value.
pub(crate) fn answers() -> Vec<(&'static str, Answer)> {
    let attr = attr();
    let entry = Entry { attr };
    let values = [
        ("nothing", Ok(Value::Nothing)),
        ("entry", Ok(Value::Entry(entry))),
        ("attr", Ok(Value::Attr(attr))),
        ("opened", Ok(Value::Opened(Opened { handle: HANDLE, attr }))),
        ("opened_directory", Ok(Value::OpenedDirectory(OpenedDirectory { handle: HANDLE }))),
        ("created", Ok(Value::Created(Created { entry, handle: HANDLE }))),
        ("written", Ok(Value::Written(4096))),
        ("copied", Ok(Value::Copied(1 << 35))),
        ("position", Ok(Value::Position(-2))),
        ("statfs", Ok(Value::Statfs(Statfs { blocks: 10, free: 5, ..Statfs::default() }))),
        ("lock", Ok(Value::Lock(LOCK))),
        ("controlled", Ok(Value::Controlled(-1))),
        ("data", Ok(Value::Data)),
        ("names", Ok(Value::Names)),
        ("standing", Ok(Value::Standing(stripes::standing()))),
        ("error", Err(2)),
    ];
    values.map(|(name, result)| (name, Answer { id: 300, result })).to_vec()
}

/// A name of a directory with its attributes.
pub(crate) fn listed() -> Listed<'static> {
    let entry = Some(Entry { attr: attr() });
    Listed { inode: 1234, offset: 5, kind: 8, name: b"name", entry, voucher: &[1, 2] }
}

fn purposes() -> [(&'static str, Purpose); 4] {
    let mount = Purpose::Mount {
        export: "scratch".into(),
        subtree: b"a/b".to_vec(),
        client: "node1:/mnt".into(),
    };
    let resume = Purpose::Resume {
        token: [7; 32],
        export: "scratch".into(),
        subtree: b"a/b".to_vec(),
        client: "node1:/mnt".into(),
    };
    [
        ("mount", mount),
        ("join", Purpose::Join { session: 3, token: [7; 32] }),
        ("control", Purpose::Control { words: vec!["set".into(), "policy=fifo".into()] }),
        ("resume", resume),
    ]
}

/// First messages, by what is wanted.
pub(crate) fn hellos() -> Vec<(&'static str, Hello)> {
    let hello = |(name, purpose)| (name, Hello::new(&purpose, [5; 32]));
    purposes().into_iter().map(hello).collect()
}

/// The agent's answers to them.
pub(crate) fn receptions() -> Vec<(&'static str, Reception)> {
    let offer = Offer { version: 2, nonce: [8; 32], proof: Some([9; 32]) };
    let welcome =
        Welcome { session: 3, token: [7; 32], grant: 1 << 24, idle_ms: 30_000, grace_ms: 10_000 };
    vec![
        ("offer", Reception::Offer(offer)),
        ("refused", Reception::Refused("no".into())),
        ("welcome", Reception::Welcome(welcome)),
        ("told", Reception::Told("status".into())),
        ("unknown", Reception::Unknown),
    ]
}

/// The client's second message.
pub(crate) fn enter() -> Enter {
    Enter { proof: Some([6; 32]) }
}
