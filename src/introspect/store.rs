//! The store around the other one: ours is answered, the rest passes through.

use std::ffi::OsStr;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::reply::Dirent;
use iofwd_mount::store::{
    Attr, Changes, Controlled, CopyRange, Created, Entry, HandleId, Lock, LockOwner, LockRequest,
    NewNode, NodeId, OpenHow, Opened, OpenedDirectory, ReadAt, Statfs, WriteAt,
};
use iofwd_mount::{Caller, DataReply, DirectoryReply, Errno, Reply, Store, XattrReply};

use super::texts::is_own;
use super::{Introspected, NAME, Own};

impl Store for Introspected {
    fn lookup(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<Entry>) {
        let own = match (Own::of(parent), parent) {
            (None, NodeId::ROOT) if name == NAME => {
                return reply.send(self.entry(caller, Own::Directory));
            }
            (None, _) => return self.inner.lookup(caller, parent, name, reply),
            (Some(own), _) => own,
        };
        reply.send(self.find(caller, own, name));
    }

    fn forget(&self, node: NodeId, references: u64) {
        match Own::of(node) {
            Some(Own::Layout(NodeId::ROOT) | Own::Directory | Own::Status) => {}
            Some(Own::Layout(real)) => self.inner.forget(real, references),
            None => self.inner.forget(node, references),
        }
    }

    fn getattr(&self, caller: &Caller, node: NodeId, handle: Option<HandleId>, reply: Reply<Attr>) {
        match Own::of(node) {
            Some(own) => reply.send(self.attr(caller, own)),
            None => self.inner.getattr(caller, node, handle, reply),
        }
    }

    fn setattr(&self, caller: &Caller, node: NodeId, changes: &Changes, reply: Reply<Attr>) {
        if Own::of(node).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.setattr(caller, node, changes, reply);
    }

    fn readlink(&self, caller: &Caller, node: NodeId, reply: DataReply) {
        if Own::of(node).is_some() {
            return reply.error(REFUSED);
        }
        self.inner.readlink(caller, node, reply);
    }

    fn mknod(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        if Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.mknod(caller, parent, name, new, reply);
    }

    fn mkdir(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        new: NewNode,
        reply: Reply<Entry>,
    ) {
        if Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.mkdir(caller, parent, name, new, reply);
    }

    fn unlink(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        if Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.unlink(caller, parent, name, reply);
    }

    fn rmdir(&self, caller: &Caller, parent: NodeId, name: &OsStr, reply: Reply<()>) {
        if Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.rmdir(caller, parent, name, reply);
    }

    fn symlink(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        target: &OsStr,
        reply: Reply<Entry>,
    ) {
        if Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.symlink(caller, parent, name, target, reply);
    }

    fn rename(
        &self,
        caller: &Caller,
        from: (NodeId, &OsStr),
        to: (NodeId, &OsStr),
        flags: u32,
        reply: Reply<()>,
    ) {
        if Own::of(from.0).is_some() || Own::of(to.0).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.rename(caller, from, to, flags, reply);
    }

    fn link(
        &self,
        caller: &Caller,
        node: NodeId,
        parent: NodeId,
        name: &OsStr,
        reply: Reply<Entry>,
    ) {
        if Own::of(node).is_some() || Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.link(caller, node, parent, name, reply);
    }

    fn open(&self, caller: &Caller, node: NodeId, how: OpenHow, reply: Reply<Opened>) {
        match Own::of(node) {
            Some(own) => reply.send(self.open(caller, own, how)),
            None => self.inner.open(caller, node, how, reply),
        }
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
        if Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.create(caller, parent, name, how, new, reply);
    }

    fn tmpfile(
        &self,
        caller: &Caller,
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        if Own::of(parent).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.tmpfile(caller, parent, how, new, reply);
    }

    fn read(&self, caller: &Caller, at: ReadAt, reply: DataReply) {
        if !is_own(at.handle) {
            return self.inner.read(caller, at, reply);
        }
        match self.open.get(&at.handle) {
            Some(text) => reply.data(text.part(at.offset, at.size)),
            None => reply.error(Errno::EBADF),
        }
    }

    fn write(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>) {
        if is_own(at.handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.write(caller, at, data, reply);
    }

    fn flush(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        owner: LockOwner,
        reply: Reply<()>,
    ) {
        if is_own(handle) {
            return reply.send(Ok(()));
        }
        self.inner.flush(caller, node, handle, owner, reply);
    }

    fn release(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        if is_own(handle) {
            self.open.remove(&handle);
            return reply.send(Ok(()));
        }
        self.inner.release(node, handle, reply);
    }

    fn fsync(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        if Own::of(node).is_some() || is_own(handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.fsync(caller, node, handle, data_only, reply);
    }

    fn opendir(&self, caller: &Caller, node: NodeId, flags: i32, reply: Reply<OpenedDirectory>) {
        if Own::of(node).is_some() {
            return reply.send(Ok(OpenedDirectory { handle: self.numbers.next() }));
        }
        self.inner.opendir(caller, node, flags, reply);
    }

    fn readdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        offset: u64,
        reply: DirectoryReply,
    ) {
        match Own::of(node) {
            Some(own) => list(own, offset, reply),
            None => self.inner.readdir(caller, node, handle, offset, reply),
        }
    }

    fn releasedir(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        if is_own(handle) {
            return reply.send(Ok(()));
        }
        self.inner.releasedir(node, handle, reply);
    }

    fn fsyncdir(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        reply: Reply<()>,
    ) {
        if Own::of(node).is_some() || is_own(handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.fsyncdir(caller, node, handle, data_only, reply);
    }

    fn statfs(&self, caller: &Caller, node: NodeId, reply: Reply<Statfs>) {
        let node = if Own::of(node).is_some() { NodeId::ROOT } else { node };
        self.inner.statfs(caller, node, reply);
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
        if Own::of(node).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.setxattr(caller, node, name, value, flags, reply);
    }

    fn getxattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: XattrReply) {
        if Own::of(node).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.getxattr(caller, node, name, reply);
    }

    fn listxattr(&self, caller: &Caller, node: NodeId, reply: XattrReply) {
        if Own::of(node).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.listxattr(caller, node, reply);
    }

    fn removexattr(&self, caller: &Caller, node: NodeId, name: &OsStr, reply: Reply<()>) {
        if Own::of(node).is_some() {
            return reply.send(Err(REFUSED));
        }
        self.inner.removexattr(caller, node, name, reply);
    }

    fn access(&self, caller: &Caller, node: NodeId, mask: i32, reply: Reply<()>) {
        match Own::of(node) {
            None => self.inner.access(caller, node, mask, reply),
            Some(_) if mask & libc::W_OK != 0 => reply.send(Err(REFUSED)),
            Some(Own::Layout(real)) => self.inner.access(caller, real, mask, reply),
            Some(Own::Directory | Own::Status) => reply.send(Ok(())),
        }
    }

    fn getlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<Lock>) {
        if is_own(request.handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.getlk(caller, request, reply);
    }

    fn setlk(&self, caller: &Caller, request: &LockRequest, reply: Reply<()>) {
        if is_own(request.handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.setlk(caller, request, reply);
    }

    fn fallocate(
        &self,
        caller: &Caller,
        handle: HandleId,
        range: (u64, u64),
        mode: i32,
        reply: Reply<()>,
    ) {
        if is_own(handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.fallocate(caller, handle, range, mode, reply);
    }

    fn lseek(
        &self,
        caller: &Caller,
        handle: HandleId,
        offset: i64,
        whence: i32,
        reply: Reply<i64>,
    ) {
        if is_own(handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.lseek(caller, handle, offset, whence, reply);
    }

    fn copy_file_range(&self, caller: &Caller, copy: &CopyRange, reply: Reply<u64>) {
        if is_own(copy.source) || is_own(copy.target) {
            return reply.send(Err(REFUSED));
        }
        self.inner.copy_file_range(caller, copy, reply);
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
        if is_own(handle) {
            return reply.send(Err(REFUSED));
        }
        self.inner.ioctl(caller, handle, command, argument, room, reply);
    }

    fn interrupt(&self, request: RequestKey) {
        self.inner.interrupt(request);
    }

    fn hands_on(&self) -> bool {
        self.inner.hands_on()
    }
}

/// The names in a directory of ours. Those below `layout` are those of the tree, and are not repeated.
fn list(own: Own, offset: u64, mut reply: DirectoryReply) {
    let names: &[(&str, u8)] = match own {
        Own::Directory => &[("status", libc::DT_REG), ("layout", libc::DT_DIR)],
        Own::Status | Own::Layout(_) => &[],
    };
    let dots = [(".", libc::DT_DIR), ("..", libc::DT_DIR)];
    let all = dots.iter().chain(names);
    for ((name, kind), next) in all.zip(1..).skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
        if !reply.fits(name.as_bytes()) {
            break;
        }
        let inode = own.node().0;
        reply.push(&Dirent { inode, offset: next, kind: *kind, name: name.as_bytes() }, None);
    }
    reply.send();
}

/// Nothing of ours can be changed.
const REFUSED: Errno = Errno::EPERM;
