//! The client as a store: each operation is asked of the agent, and its answer handed on.

mod answers;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{
    Attr, Changes, Controlled, CopyRange, Created, Entry, HandleId, Lock, LockKind, LockOwner,
    LockRequest, NewNode, NodeId, OpenHow, Opened, OpenedDirectory, ReadAt, Statfs, WriteAt,
};
use iofwd_mount::{Caller, DataReply, DirectoryReply, Errno, Reply, Store, XattrReply};

use crate::control;
use crate::report::Report;
use crate::wire::answer::Value;
use crate::wire::call::Call;
use crate::wire::frame::PAYLOAD_MOST;

use super::Client;
use super::pending::{Answered, Ask};
use answers::{VOUCHER_MOST, bytes, expect, list, lock_call};

impl Store for Client {
    fn lookup(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<Entry>) {
        let call = Call::Lookup { parent, name: name.as_bytes() };
        self.entry(caller, (parent, name), call, reply);
    }

    fn forget(&self, node: NodeId, references: u64) {
        self.holdings.forgotten(node, references);
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
        let call = Call::Mknod { parent, name: name.as_bytes(), new };
        self.entry(caller, (parent, name), call, reply);
    }

    fn mkdir(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        let call = Call::Mkdir { parent, name: name.as_bytes(), new };
        self.entry(caller, (parent, name), call, reply);
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
        let call = Call::Symlink { parent, name: name.as_bytes(), target: target.as_bytes() };
        self.entry(caller, (parent, name), call, reply);
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
        let call = Call::Link { node, parent, name: name.as_bytes() };
        self.entry(caller, (parent, name), call, reply);
    }

    fn open(&self, caller: &Caller, node: NodeId, how: OpenHow, reply: Reply<Opened>) {
        let reply = self.opening(caller, how, reply, |opened| (opened.handle, opened.attr));
        self.opened(caller, node, Call::Open { node, how }, |opened| opened.handle, reply);
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
        let reply =
            self.opening(caller, how, reply, |created| (created.handle, created.entry.attr));
        let call = Call::Create { parent, name: name.as_bytes(), how, new };
        self.made(caller, (parent, name), call, reply);
    }

    fn tmpfile(
        &self,
        caller: &Caller,
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        let nowhere = (parent, OsStr::new(""));
        self.made(caller, nowhere, Call::Tmpfile { parent, how, new }, reply);
    }

    fn read(&self, caller: &Caller, at: ReadAt, reply: DataReply) {
        if let Some(reply) = self.read_elsewhere(caller, at, reply) {
            self.read_own(caller, at, reply);
        }
    }

    fn write(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>) {
        if let Some(reply) = self.write_elsewhere(caller, at, data, reply) {
            self.write_own(caller, at, data, reply);
        }
    }

    fn flush(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        owner: LockOwner,
        reply: Reply<()>,
    ) {
        // A process that becomes another program closes files on its way, when nothing can be
        // learned about it; and whoever it is may close them.
        self.holdings.flushing(node, owner.key);
        let reply = self.everywhere(handle, reply, |other, node, handle, reply| {
            other.flush(caller, node, handle, owner, reply);
        });
        let call = Call::Flush { node, handle, owner: owner.key };
        self.unasked(caller.pid, call, || {}, reply);
    }

    fn release(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.close_elsewhere(handle);
        self.holdings.closing(handle);
        let holdings = Arc::clone(&self.holdings);
        let done = move || holdings.closed(handle);
        self.unasked(0, Call::Release { node, handle }, done, reply);
    }

    fn fsync(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        let reply = self.everywhere(handle, reply, |other, node, handle, reply| {
            other.fsync(caller, node, handle, data_only, reply);
        });
        self.plain(caller, Call::Fsync { node, handle, data_only }, reply);
    }

    fn opendir(&self, caller: &Caller, node: NodeId, flags: i32, reply: Reply<OpenedDirectory>) {
        self.opened(caller, node, Call::Opendir { node, flags }, |opened| opened.handle, reply);
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
        // Ours is hardly longer than the kernel's form, but for the smallest rooms and vouchers.
        let ask = Ask { call, payload: &[], room: (room * 2 + VOUCHER_MOST).min(PAYLOAD_MOST) };
        let holdings = Arc::clone(&self.holdings);
        self.ask(caller, ask, move |answered| list(&holdings, node, &answered, reply));
    }

    fn releasedir(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        let holdings = Arc::clone(&self.holdings);
        let done = move || holdings.closed(handle);
        self.unasked(0, Call::Releasedir { node, handle }, done, reply);
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
        let call = lock_call(request);
        let is_release = request.lock.kind == LockKind::Unlock;
        if is_release {
            self.holdings.locked(&call);
        }
        let holdings = Arc::clone(&self.holdings);
        self.ask(caller, Ask::of(Call::Setlk(call)), move |answered| {
            let granted = expect::<()>(&answered);
            if granted.is_ok() && !is_release {
                holdings.locked(&call);
            }
            reply.send(granted);
        });
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
        self.others().for_each(|other| other.interrupt(request));
    }

    fn hands_on(&self) -> bool {
        true
    }
}

impl Client {
    /// Have the client's own agent read.
    pub(super) fn read_own(&self, caller: &Caller, at: ReadAt, reply: DataReply) {
        self.bytes(caller, Call::Read(at), at.size as usize, reply);
    }

    /// Have the client's own agent write.
    pub(super) fn write_own(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>) {
        let ask = Ask { call: Call::Write(at), payload: data, room: 0 };
        self.ask(caller, ask, move |answered| reply.send(expect(&answered)));
    }

    /// What the kernel does by itself, on nobody's behalf.
    fn unasked(
        &self,
        thread: u32,
        call: Call<'_>,
        done: impl FnOnce() + Send + 'static,
        reply: Reply<()>,
    ) {
        let then = Box::new(move |answered: Answered| {
            done();
            reply.send(expect(&answered));
        });
        let asker = (RequestKey(0), thread);
        self.ask_in_company(&super::Who::client(), asker, Ask::of(call), then);
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
