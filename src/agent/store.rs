//! The agent as a store: each operation is done as the caller, on nodes and open files.
//!
//! Everything but reads, writes and waiting for locks is done at once on the calling thread.

use std::ffi::OsStr;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{
    Attr, Changes, Controlled, CopyRange, Created, Entry, HandleId, Lock, LockOwner, LockRequest,
    NewNode, NodeId, OpenHow, Opened, OpenedDirectory, ReadAt, Statfs, WriteAt,
};
use iofwd_mount::{Caller, DataReply, DirectoryReply, Reply, Store, XattrReply};

use crate::backend::posix::Directory;

use super::Agent;
use super::deeds::for_making;
use super::engine::Asker;

impl Store for Agent {
    fn lookup(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<Entry>) {
        reply.send(self.find(caller, parent, name));
    }

    fn forget(&self, node: NodeId, references: u64) {
        self.nodes.forget(node, references);
    }

    fn getattr(
        &self,
        _caller: &Caller,
        node: NodeId,
        handle: Option<HandleId>,
        reply: Reply<Attr>,
    ) {
        let node = self.nodes.get(node);
        reply.send(node.and_then(|node| {
            let open = handle.and_then(|handle| self.files.get(handle).ok());
            let attr = match open {
                Some(open) => open.file.attr(&node.inode),
                None => node.inode.attr(),
            };
            Ok(node.name(attr?))
        }));
    }

    fn setattr(&self, caller: &Caller, node: NodeId, changes: &Changes, reply: Reply<Attr>) {
        reply.send(self.change(caller, node, changes));
    }

    fn readlink(&self, caller: &Caller, node: NodeId, reply: DataReply) {
        match self.node_as(caller, node).and_then(|node| node.inode.readlink()) {
            Ok(target) => reply.data(&target),
            Err(errno) => reply.error(errno),
        }
    }

    fn mknod(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        reply.send(self.make(caller, parent, |parent| parent.mknod(name, new)));
    }

    fn mkdir(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        reply.send(self.make(caller, parent, |parent| parent.mkdir(name, new)));
    }

    fn unlink(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        reply.send(self.node_as(caller, parent).and_then(|parent| {
            let unlink = || parent.inode.unlink(name);
            self.part(caller, &parent, name, || self.keeping(&parent.inode, name, unlink))
        }));
    }

    fn rmdir(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        reply.send(self.node_as(caller, parent).and_then(|parent| parent.inode.rmdir(name)));
    }

    fn symlink(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        target: &OsStr,
        reply: Reply<Entry>,
    ) {
        reply.send(self.make(caller, parent, |parent| parent.symlink(name, target)));
    }

    fn rename(
        &self,
        caller: &Caller,
        from: (NodeId, &OsStr),
        to: (NodeId, &OsStr),
        flags: u32,
        reply: Reply<()>,
    ) {
        let parents = self
            .node_as(caller, from.0)
            .and_then(|from_parent| Ok((from_parent, self.nodes.get(to.0)?)));
        reply.send(parents.and_then(|(from_parent, to_parent)| {
            let act = || from_parent.inode.rename(from.1, &to_parent.inode, to.1, flags);
            self.part(caller, &to_parent, to.1, || {
                // With flags nothing loses its name.
                if flags == 0 { self.keeping(&to_parent.inode, to.1, act) } else { act() }
            })
        }));
    }

    fn link(
        &self,
        caller: &Caller,
        node: NodeId,
        parent: NodeId,
        name: &OsStr,
        reply: Reply<Entry>,
    ) {
        let node = self.nodes.get(node);
        reply.send(
            node.and_then(|node| {
                self.make(caller, parent, |parent| parent.link(&node.inode, name))
            }),
        );
    }

    fn open(&self, caller: &Caller, node: NodeId, how: OpenHow, reply: Reply<Opened>) {
        reply.send(self.node_as(caller, node).and_then(|node| self.open_file(node, how)));
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
        reply.send(self.create_file(caller, parent, name, how, new));
    }

    fn tmpfile(
        &self,
        caller: &Caller,
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        let parent = self.node_as(caller, parent);
        let made = parent.and_then(|parent| parent.inode.tmpfile(for_making(how), new));
        reply.send(made.map(|made| self.made(made)));
    }

    fn read(&self, caller: &Caller, at: ReadAt, reply: DataReply) {
        let asker = Asker { key: caller.request, job: self.callers.job(caller), once: None };
        match self.files.get(at.handle) {
            Ok(open) => {
                self.ask_again_if_in_doubt(&open);
                self.engine.read(asker, open, at.offset, at.size, reply);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn write(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>) {
        self.write_once(caller, at, data, None, reply);
    }

    fn flush(
        &self,
        _caller: &Caller,
        node: NodeId,
        handle: HandleId,
        owner: LockOwner,
        reply: Reply<()>,
    ) {
        self.locks.release(node, owner);
        reply.send(self.flush_file(handle));
    }

    fn release(&self, _node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.files.remove(handle);
        // Nobody waits for the answer, but whoever waits for a `flock` of this file does.
        reply.send(Ok(()));
        self.locks.released();
    }

    fn fsync(
        &self,
        _caller: &Caller,
        _node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        reply.send(self.files.get(handle).and_then(|open| {
            let synced = open.file.sync(data_only);
            open.late_error().and(synced)
        }));
    }

    fn opendir(&self, caller: &Caller, node: NodeId, flags: i32, reply: Reply<OpenedDirectory>) {
        let opened =
            self.node_as(caller, node).and_then(|node| Directory::open(&node.inode, flags));
        reply.send(opened.map(|directory| OpenedDirectory {
            handle: self.directories.insert(directory.into()),
        }));
    }

    fn readdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        offset: u64,
        mut reply: DirectoryReply,
    ) {
        match self.list(caller, handle, offset, &mut reply, node) {
            Ok(()) => reply.send(),
            Err(errno) => reply.error(errno),
        }
    }

    fn releasedir(&self, _node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.directories.remove(handle);
        reply.send(Ok(()));
    }

    fn fsyncdir(
        &self,
        _caller: &Caller,
        _node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        reply.send(self.directories.get(handle).and_then(|directory| {
            directory.lock().unwrap_or_else(PoisonError::into_inner).sync(data_only)
        }));
    }

    fn statfs(&self, _caller: &Caller, node: NodeId, reply: Reply<Statfs>) {
        reply.send(self.nodes.get(node).and_then(|node| node.inode.statfs()));
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
        let node = self.node_as(caller, node);
        reply.send(node.and_then(|node| node.inode.setxattr(name, value, flags)));
    }

    fn getxattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: XattrReply) {
        let value = self.node_as(caller, node).and_then(|node| node.inode.getxattr(name));
        reply.send(value.as_deref().map_err(|errno| *errno));
    }

    fn listxattr(&self, caller: &Caller, node: NodeId, reply: XattrReply) {
        let names = self.node_as(caller, node).and_then(|node| node.inode.listxattr());
        reply.send(names.as_deref().map_err(|errno| *errno));
    }

    fn removexattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: Reply<()>) {
        reply.send(self.node_as(caller, node).and_then(|node| node.inode.removexattr(name)));
    }

    fn access(&self, caller: &Caller, node: NodeId, mask: i32, reply: Reply<()>) {
        reply.send(self.node_as(caller, node).and_then(|node| node.inode.access(mask)));
    }

    fn getlk(&self, _caller: &Caller, request: &LockRequest, reply: Reply<Lock>) {
        let open = self.files.get(request.handle);
        reply.send(open.and_then(|open| self.locks.conflict(request, &open)));
    }

    fn setlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<()>) {
        match self.files.get(request.handle) {
            Ok(open) => self.locks.set(caller.request, request, open, reply),
            Err(errno) => reply.send(Err(errno)),
        }
    }

    fn fallocate(
        &self,
        caller: &Caller,
        handle: HandleId,
        range: (u64, u64),
        mode: i32,
        reply: Reply<()>,
    ) {
        self.act_as(caller);
        let open = self.files.get(handle);
        reply.send(open.and_then(|open| open.file.allocate(mode, range.0, range.1)));
    }

    fn lseek(
        &self,
        _caller: &Caller,
        handle: HandleId,
        offset: i64,
        whence: i32,
        reply: Reply<i64>,
    ) {
        reply.send(self.files.get(handle).and_then(|open| open.file.seek(offset, whence)));
    }

    fn copy_file_range(&self, caller: &Caller, copy: &CopyRange, reply: Reply<u64>) {
        self.act_as(caller);
        let files = self
            .files
            .get(copy.source)
            .and_then(|source| Ok((source, self.files.get(copy.target)?)));
        reply.send(files.and_then(|(source, target)| {
            target.written.store(true, Ordering::Relaxed);
            let (from, to) = (copy.source_offset, copy.target_offset);
            source.file.copy_to(from, &target.file, to, copy.length)
        }));
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
        self.act_as(caller);
        reply.send(self.control_handle(caller, handle, command, argument, room));
    }

    fn interrupt(&self, request: RequestKey) {
        self.locks.interrupt(request);
        self.engine.interrupt(request);
    }
}
