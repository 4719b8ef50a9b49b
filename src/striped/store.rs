//! The store: what concerns names goes to the server that has them, what concerns bytes is done here.

use std::ffi::OsStr;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{
    Attr, Changes, Controlled, CopyRange, Created, Entry, HandleId, Lock, LockOwner, LockRequest,
    NewNode, NodeId, OpenHow, Opened, OpenedDirectory, ReadAt, Statfs, WriteAt,
};
use iofwd_mount::{Caller, DataReply, DirectoryReply, Errno, Reply, Store, XattrReply};

use crate::control;
use crate::layout::{Server, Told};

use super::dressing::{Dressed, dressing, dressing_names, hiding, is_hidden};
use super::locks::owner;
use super::{Striped, wait};

impl Store for Striped {
    fn lookup(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<Entry>) {
        self.names.lookup(caller, parent, name, dressing(reply));
    }

    fn forget(&self, node: NodeId, references: u64) {
        self.names.forget(node, references);
    }

    fn getattr(&self, caller: &Caller, node: NodeId, handle: Option<HandleId>, reply: Reply<Attr>) {
        self.names.getattr(caller, node, handle, dressing(reply));
    }

    fn setattr(&self, caller: &Caller, node: NodeId, changes: &Changes, reply: Reply<Attr>) {
        if changes.size.is_some() {
            return reply.send(self.change(caller, node, changes).map(Dressed::dressed));
        }
        self.names.setattr(caller, node, changes, dressing(reply));
    }

    fn readlink(&self, caller: &Caller, node: NodeId, reply: DataReply) {
        self.names.readlink(caller, node, reply);
    }

    fn mknod(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        self.names.mknod(caller, parent, name, new, dressing(reply));
    }

    fn mkdir(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        self.names.mkdir(caller, parent, name, new, dressing(reply));
    }

    fn unlink(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        self.names.unlink(caller, parent, name, reply);
    }

    fn rmdir(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        self.names.rmdir(caller, parent, name, reply);
    }

    fn symlink(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        target: &OsStr,
        reply: Reply<Entry>,
    ) {
        self.names.symlink(caller, parent, name, target, dressing(reply));
    }

    fn rename(
        &self,
        caller: &Caller,
        from: (NodeId, &OsStr),
        to: (NodeId, &OsStr),
        flags: u32,
        reply: Reply<()>,
    ) {
        self.names.rename(caller, from, to, flags, reply);
    }

    fn link(
        &self,
        caller: &Caller,
        node: NodeId,
        parent: NodeId,
        name: &OsStr,
        reply: Reply<Entry>,
    ) {
        self.names.link(caller, node, parent, name, dressing(reply));
    }

    fn open(&self, caller: &Caller, node: NodeId, how: OpenHow, reply: Reply<Opened>) {
        self.open_file(caller, node, how, reply);
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
        self.create_file(caller, (parent, name), how, new, reply);
    }

    fn tmpfile(
        &self,
        caller: &Caller,
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        self.open_nameless(caller, parent, how, new, reply);
    }

    fn read(&self, caller: &Caller, at: ReadAt, reply: DataReply) {
        let found = self.handle(at.handle).and_then(|open| {
            open.check_readable()?;
            open.file(|| self.file(open.node))
        });
        match found {
            Ok(file) => {
                self.common.engine.read(self.asker(caller), file, at.offset, at.size, reply)
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn write(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>) {
        self.write_file(caller, at, data, reply);
    }

    fn flush(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        whose: LockOwner,
        reply: Reply<()>,
    ) {
        let late = self.handle_as_it_was(handle).and_then(|open| open.late_error());
        let reply = Reply::call(move |flushed| reply.send(late.and(flushed)));
        self.names.flush(caller, node, handle, owner(whose), reply);
    }

    fn release(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.close(node, handle, reply);
    }

    fn fsync(
        &self,
        caller: &Caller,
        _node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        let open = self.handle(handle);
        reply.send(open.and_then(|open| self.sync(caller, &open, data_only)));
    }

    fn opendir(&self, caller: &Caller, node: NodeId, flags: i32, reply: Reply<OpenedDirectory>) {
        self.names.opendir(caller, node, flags, reply);
    }

    fn readdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        offset: u64,
        reply: DirectoryReply,
    ) {
        self.names.readdir(caller, node, handle, offset, dressing_names(reply));
    }

    fn releasedir(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.names.releasedir(node, handle, reply);
    }

    fn fsyncdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        self.names.fsyncdir(caller, node, handle, data_only, reply);
    }

    fn statfs(&self, caller: &Caller, node: NodeId, reply: Reply<Statfs>) {
        let names = wait(|reply| self.names.statfs(caller, node, reply));
        reply.send(names.and_then(|names| self.data.statfs(names)));
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
        if is_hidden(name) {
            return reply.send(Err(Errno::EPERM));
        }
        self.names.setxattr(caller, node, name, value, flags, reply);
    }

    fn getxattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: XattrReply) {
        if is_hidden(name) {
            return reply.send(Err(Errno::from_raw(libc::ENODATA)));
        }
        self.names.getxattr(caller, node, name, reply);
    }

    fn listxattr(&self, caller: &Caller, node: NodeId, reply: XattrReply) {
        self.names.listxattr(caller, node, hiding(reply));
    }

    fn removexattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: Reply<()>) {
        if is_hidden(name) {
            return reply.send(Err(Errno::from_raw(libc::ENODATA)));
        }
        self.names.removexattr(caller, node, name, reply);
    }

    fn access(&self, caller: &Caller, node: NodeId, mask: i32, reply: Reply<()>) {
        self.names.access(caller, node, mask, reply);
    }

    fn getlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<Lock>) {
        let theirs = LockRequest { owner: owner(request.owner), ..*request };
        self.names.getlk(caller, &theirs, reply);
    }

    fn setlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<()>) {
        self.lock(caller, request, reply);
    }

    fn fallocate(
        &self,
        caller: &Caller,
        handle: HandleId,
        range: (u64, u64),
        mode: i32,
        reply: Reply<()>,
    ) {
        let open = self.handle(handle);
        reply.send(open.and_then(|open| self.allocate(caller, &open, range, mode)));
    }

    fn lseek(
        &self,
        _caller: &Caller,
        handle: HandleId,
        offset: i64,
        whence: i32,
        reply: Reply<i64>,
    ) {
        let file = self.handle(handle).and_then(|open| open.file(|| self.file(open.node)));
        reply.send(file.and_then(|file| file.seek(offset, whence)));
    }

    fn copy_file_range(&self, _caller: &Caller, _copy: &CopyRange, reply: Reply<u64>) {
        // The kernel then reads and writes: the bytes have to pass through here in any case.
        reply.send(Err(Errno::from_raw(libc::EOPNOTSUPP)));
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
        match command {
            control::STATUS => reply.send(control::text(&self.report().to_text(), room)),
            control::FLUSH => {
                let settled = self.settle();
                let report = settled.and_then(|()| control::text(&self.report().to_text(), room));
                reply.send(report);
            }
            control::SNAPSHOT => {
                reply.send(self.common.lookout.page(argument, room, || self.snapshot()));
            }
            control::LAYOUT => reply.send(self.tell_layout(handle, argument, room)),
            _ => self.names.ioctl(caller, handle, command, argument, room, reply),
        }
    }

    fn interrupt(&self, request: RequestKey) {
        self.common.engine.interrupt(request);
        self.names.interrupt(request);
    }
}

impl Striped {
    /// Tell somebody where the bytes of an open file are.
    fn tell_layout(
        &self,
        handle: HandleId,
        argument: &[u8],
        room: usize,
    ) -> Result<Controlled, Errno> {
        let open = self.handle(handle).map_err(|_| Errno::ENOTTY)?;
        let file = open.file(|| self.file(open.node))?;
        let known = crate::agent::engine::Target::layout(&*file);
        let queues = (0..self.wish.of).map(Server::Numbered).collect();
        let told = Told { description: known.description.clone(), cost: known.cost, queues };
        control::layout_page(&told, argument, room)
    }
}
