//! The client as a store: each operation is asked of the agent, and its answer handed on.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::reply::{Answer as Answerable, Dirent};
use iofwd_mount::store::{
    Attr, Changes, Controlled, CopyRange, Created, Entry, HandleId, Lock, LockOwner, LockRequest,
    NewNode, NodeId, OpenHow, Opened, OpenedDirectory, ReadAt, Statfs, WriteAt,
};
use iofwd_mount::{Caller, DataReply, DirectoryReply, Errno, Reply, Store, XattrReply};

use crate::control;
use crate::report::Report;
use crate::wire::answer::{Value, take_name};
use crate::wire::call::{Call, LockCall};
use crate::wire::frame::PAYLOAD_MOST;

use super::Client;
use super::pending::{Answered, Ask};

/// The value that a reply wants, out of what the agent may answer.
trait Expected: Answerable + Sized + 'static {
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! expected {
    ($($type:ty: $pattern:pat => $value:expr),+ $(,)?) => {
        $(impl Expected for $type {
            fn from_value(value: Value) -> Option<Self> {
                if let $pattern = value { Some($value) } else { None }
            }
        })+
    };
}

expected! {
    (): Value::Nothing => (),
    Entry: Value::Entry(entry) => entry,
    Attr: Value::Attr(attr) => attr,
    Opened: Value::Opened(opened) => opened,
    OpenedDirectory: Value::OpenedDirectory(opened) => opened,
    Created: Value::Created(created) => created,
    u32: Value::Written(count) => count,
    u64: Value::Copied(count) => count,
    i64: Value::Position(position) => position,
    Statfs: Value::Statfs(state) => state,
    Lock: Value::Lock(lock) => lock,
}

/// What the agent answered, if it is what was expected.
fn expect<T: Expected>(answered: &Answered) -> Result<T, Errno> {
    let (value, _) = answered.as_ref().map_err(|errno| *errno)?;
    T::from_value(*value).ok_or(Errno::EIO)
}

fn bytes(answered: &Answered) -> Result<&[u8], Errno> {
    match answered {
        Ok((Value::Data, bytes)) => Ok(bytes),
        Ok(_) => Err(Errno::EIO),
        Err(errno) => Err(*errno),
    }
}

impl Client {
    fn plain<T: Expected>(&self, caller: &Caller, call: Call<'_>, reply: Reply<T>) {
        self.ask(caller, Ask::of(call), move |answered| reply.send(expect(&answered)));
    }

    fn bytes(&self, caller: &Caller, call: Call<'_>, room: usize, reply: DataReply) {
        let ask = Ask { call, payload: &[], room };
        self.ask(caller, ask, move |answered| match bytes(&answered) {
            Ok(bytes) => reply.data(bytes),
            Err(errno) => reply.error(errno),
        });
    }

    fn xattr(&self, caller: &Caller, call: Call<'_>, reply: XattrReply) {
        let ask = Ask { call, payload: &[], room: XATTR_MOST };
        self.ask(caller, ask, move |answered| reply.send(bytes(&answered)));
    }
}

fn lock_call(request: &LockRequest) -> LockCall {
    LockCall {
        node: request.node,
        handle: request.handle,
        owner: request.owner.key,
        lock: request.lock,
        whole_file: request.whole_file,
        wait: request.wait,
    }
}

/// Hand a list of names on to the kernel.
fn list(answered: &Answered, mut reply: DirectoryReply) {
    let mut rest: &[u8] = match answered {
        Ok((Value::Names, names)) => names,
        Ok(_) => return reply.error(Errno::EIO),
        Err(errno) => return reply.error(*errno),
    };
    loop {
        match take_name(rest) {
            Ok(None) => return reply.send(),
            Ok(Some((listed, next))) if reply.fits(listed.name) => {
                let (inode, offset, kind) = (listed.inode, listed.offset, listed.kind);
                let dirent = Dirent { inode, offset, kind, name: listed.name };
                reply.push(&dirent, listed.entry.as_ref());
                rest = next;
            }
            Ok(Some(_)) | Err(_) => return reply.error(Errno::EIO),
        }
    }
}

impl Store for Client {
    fn lookup(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<Entry>) {
        self.plain(caller, Call::Lookup { parent, name: name.as_bytes() }, reply);
    }

    fn forget(&self, node: NodeId, references: u64) {
        if let Some(connection) = self.connections.first() {
            connection.forget(node, references);
        }
    }

    fn getattr(&self, caller: &Caller, node: NodeId, handle: Option<HandleId>, reply: Reply<Attr>) {
        self.plain(caller, Call::Getattr { node, handle }, reply);
    }

    fn setattr(&self, caller: &Caller, node: NodeId, changes: &Changes, reply: Reply<Attr>) {
        self.plain(caller, Call::Setattr { node, changes: *changes }, reply);
    }

    fn readlink(&self, caller: &Caller, node: NodeId, reply: DataReply) {
        self.bytes(caller, Call::Readlink { node }, LINK_MOST, reply);
    }

    fn mknod(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        self.plain(caller, Call::Mknod { parent, name: name.as_bytes(), new }, reply);
    }

    fn mkdir(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        self.plain(caller, Call::Mkdir { parent, name: name.as_bytes(), new }, reply);
    }

    fn unlink(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        self.plain(caller, Call::Unlink { parent, name: name.as_bytes() }, reply);
    }

    fn rmdir(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        self.plain(caller, Call::Rmdir { parent, name: name.as_bytes() }, reply);
    }

    fn symlink(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        target: &OsStr,
        reply: Reply<Entry>,
    ) {
        let (name, target) = (name.as_bytes(), target.as_bytes());
        self.plain(caller, Call::Symlink { parent, name, target }, reply);
    }

    fn rename(
        &self,
        caller: &Caller,
        from: (NodeId, &OsStr),
        to: (NodeId, &OsStr),
        flags: u32,
        reply: Reply<()>,
    ) {
        let (name, to_name) = (from.1.as_bytes(), to.1.as_bytes());
        self.plain(caller, Call::Rename { from: from.0, name, to: to.0, to_name, flags }, reply);
    }

    fn link(
        &self,
        caller: &Caller,
        node: NodeId,
        parent: NodeId,
        name: &OsStr,
        reply: Reply<Entry>,
    ) {
        self.plain(caller, Call::Link { node, parent, name: name.as_bytes() }, reply);
    }

    fn open(&self, caller: &Caller, node: NodeId, how: OpenHow, reply: Reply<Opened>) {
        self.plain(caller, Call::Open { node, how }, reply);
    }

    fn create(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        self.plain(caller, Call::Create { parent, name: name.as_bytes(), how, new }, reply);
    }

    fn tmpfile(
        &self,
        caller: &Caller,
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        self.plain(caller, Call::Tmpfile { parent, how, new }, reply);
    }

    fn read(&self, caller: &Caller, at: ReadAt, reply: DataReply) {
        self.bytes(caller, Call::Read(at), at.size as usize, reply);
    }

    fn write(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>) {
        let ask = Ask { call: Call::Write(at), payload: data, room: 0 };
        self.ask(caller, ask, move |answered| reply.send(expect(&answered)));
    }

    fn flush(
        &self,
        _caller: &Caller,
        node: NodeId,
        handle: HandleId,
        owner: LockOwner,
        reply: Reply<()>,
    ) {
        // A process that becomes another program closes files on its way, when nothing can be
        // learned about it; and whoever it is may close them.
        self.unasked(Call::Flush { node, handle, owner: owner.key }, reply);
    }

    fn release(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.unasked(Call::Release { node, handle }, reply);
    }

    fn fsync(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        self.plain(caller, Call::Fsync { node, handle, data_only }, reply);
    }

    fn opendir(&self, caller: &Caller, node: NodeId, flags: i32, reply: Reply<OpenedDirectory>) {
        self.plain(caller, Call::Opendir { node, flags }, reply);
    }

    fn readdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        offset: u64,
        reply: DirectoryReply,
    ) {
        let (room, attributes) = (reply.room(), reply.wants_attributes());
        let call = Call::Readdir { node, handle, offset, room: room as u32, attributes };
        // Ours is never longer than the kernel's form, but for the smallest rooms.
        let ask = Ask { call, payload: &[], room: (room * 2).min(PAYLOAD_MOST) };
        self.ask(caller, ask, move |answered| list(&answered, reply));
    }

    fn releasedir(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.unasked(Call::Releasedir { node, handle }, reply);
    }

    fn fsyncdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        self.plain(caller, Call::Fsyncdir { node, handle, data_only }, reply);
    }

    fn statfs(&self, caller: &Caller, node: NodeId, reply: Reply<Statfs>) {
        self.plain(caller, Call::Statfs { node }, reply);
    }

    fn setxattr(
        &self,
        caller: &Caller,
        node: NodeId,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        reply: Reply<()>,
    ) {
        let call = Call::Setxattr { node, name: name.as_bytes(), flags };
        let ask = Ask { call, payload: value, room: 0 };
        self.ask(caller, ask, move |answered| reply.send(expect(&answered)));
    }

    fn getxattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: XattrReply) {
        self.xattr(caller, Call::Getxattr { node, name: name.as_bytes() }, reply);
    }

    fn listxattr(&self, caller: &Caller, node: NodeId, reply: XattrReply) {
        self.xattr(caller, Call::Listxattr { node }, reply);
    }

    fn removexattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: Reply<()>) {
        self.plain(caller, Call::Removexattr { node, name: name.as_bytes() }, reply);
    }

    fn access(&self, caller: &Caller, node: NodeId, mask: i32, reply: Reply<()>) {
        self.plain(caller, Call::Access { node, mask }, reply);
    }

    fn getlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<Lock>) {
        self.plain(caller, Call::Getlk(lock_call(request)), reply);
    }

    fn setlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<()>) {
        self.plain(caller, Call::Setlk(lock_call(request)), reply);
    }

    fn fallocate(
        &self,
        caller: &Caller,
        handle: HandleId,
        range: (u64, u64),
        mode: i32,
        reply: Reply<()>,
    ) {
        let (offset, length) = range;
        self.plain(caller, Call::Fallocate { handle, offset, length, mode }, reply);
    }

    fn lseek(
        &self,
        caller: &Caller,
        handle: HandleId,
        offset: i64,
        whence: i32,
        reply: Reply<i64>,
    ) {
        self.plain(caller, Call::Lseek { handle, offset, whence }, reply);
    }

    fn copy_file_range(&self, caller: &Caller, copy: &CopyRange, reply: Reply<u64>) {
        self.plain(caller, Call::CopyFileRange(*copy), reply);
    }

    fn ioctl(
        &self,
        caller: &Caller,
        handle: HandleId,
        command: u32,
        argument: &[u8],
        room: usize,
        reply: Reply<Controlled>,
    ) {
        if matches!(command, control::STATUS | control::FLUSH) {
            return self.control(caller, command, room, reply);
        }
        let call = Call::Ioctl { handle, command, room: room as u32 };
        let ask = Ask { call, payload: argument, room };
        self.ask(caller, ask, move |answered| {
            reply.send(match answered {
                Ok((Value::Controlled(result), data)) => {
                    Ok(Controlled { result, data: data.to_vec() })
                }
                Ok(_) => Err(Errno::EIO),
                Err(errno) => Err(errno),
            });
        });
    }

    fn interrupt(&self, request: RequestKey) {
        let _ = self.connections.iter().any(|connection| connection.cancel(request));
    }
}

impl Client {
    /// What the kernel does by itself, on nobody's behalf.
    fn unasked(&self, call: Call<'_>, reply: Reply<()>) {
        let then = Box::new(move |answered: Answered| reply.send(expect(&answered)));
        self.ask_as(&super::Who::client(), RequestKey(0), Ask::of(call), then);
    }

    /// A control operation of ours: the agent is asked, and this side adds what it knows.
    fn control(&self, caller: &Caller, command: u32, room: usize, reply: Reply<Controlled>) {
        let ask = Ask { call: Call::Control { command }, payload: &[], room: control::ANSWER };
        let mut report = self.own();
        self.ask(caller, ask, move |answered| {
            let report = bytes(&answered).map(|text| {
                report.extend(&Report::from_text(&String::from_utf8_lossy(text)));
                report
            });
            reply.send(report.and_then(|report| control::text(&report.to_text(), room)));
        });
    }
}

/// The longest target of a symbolic link.
const LINK_MOST: usize = 4096;
/// The longest value, or list of names, of extended attributes.
const XATTR_MOST: usize = 64 << 10;
