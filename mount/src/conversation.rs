//! One request after the other: what the kernel asks becomes a call of the store.
//!
//! No behaviour lives here. A handler takes the arguments off, and calls.

use crate::cache::Cache;
use crate::caller::{Caller, RequestKey};
use crate::errno::Errno;
use crate::line::Line;
use crate::protocol::Opcode;
use crate::protocol::question::{self as q, Question, valid};
use crate::reply::{Answer, DataReply, DirectoryReply, Form, Reply, XattrReply};
use crate::store::{
    Changes, CopyRange, HandleId, Lock, LockKind, LockOwner, LockRequest, NewNode, NodeId, OpenHow,
    ReadAt, SetTime, Store, Timestamp, WriteAt,
};

/// Answer one request: call the store, or refuse what cannot be understood.
pub(crate) fn serve(store: &dyn Store, line: &Line, question: Question<'_>) {
    let unique = question.header.unique;
    let Some(opcode) = Opcode::from_raw(question.header.opcode) else {
        return line.refuse(unique, Errno::ENOSYS);
    };
    if Exchange::new(store, line, question).serve(opcode).is_none() {
        tracing::error!(?opcode, "a request is shorter than its arguments");
        line.refuse(unique, Errno::EIO);
    }
}

/// One request while it is taken apart. Handlers return `None` when the bytes run out.
struct Exchange<'a> {
    store: &'a dyn Store,
    line: &'a Line,
    question: Question<'a>,
    caller: Caller,
    node: NodeId,
}

impl<'a> Exchange<'a> {
    fn new(store: &'a dyn Store, line: &'a Line, question: Question<'a>) -> Self {
        let header = &question.header;
        let caller = Caller {
            uid: header.uid,
            gid: header.gid,
            pid: header.pid,
            request: RequestKey(header.unique),
            introduced: None,
        };
        let node = NodeId(header.node);
        Exchange { store, line, question, caller, node }
    }

    fn serve(&mut self, opcode: Opcode) -> Option<()> {
        match opcode {
            Opcode::Lookup => self.lookup(),
            Opcode::Forget => self.forget(),
            Opcode::BatchForget => self.batch_forget(),
            Opcode::Getattr => self.getattr(),
            Opcode::Statx => self.statx(),
            Opcode::Setattr => self.setattr(),
            Opcode::Readlink => self.readlink(),
            Opcode::Symlink => self.symlink(),
            Opcode::Mknod => self.mknod(),
            Opcode::Mkdir => self.mkdir(),
            Opcode::Unlink => self.unlink(),
            Opcode::Rmdir => self.rmdir(),
            Opcode::Rename => self.rename(),
            Opcode::Rename2 => self.rename2(),
            Opcode::Link => self.link(),
            Opcode::Open => self.open(),
            Opcode::Create => self.create(),
            Opcode::Tmpfile => self.tmpfile(),
            Opcode::Read => self.read(),
            Opcode::Write => self.write(),
            Opcode::Flush => self.flush(),
            Opcode::Release => self.release(),
            Opcode::Fsync => self.fsync(),
            Opcode::Opendir => self.opendir(),
            Opcode::Readdir => self.readdir(false),
            Opcode::Readdirplus => self.readdir(true),
            Opcode::Releasedir => self.releasedir(),
            Opcode::Fsyncdir => self.fsyncdir(),
            Opcode::Statfs => self.statfs(),
            Opcode::Setxattr => self.setxattr(),
            Opcode::Getxattr => self.getxattr(),
            Opcode::Listxattr => self.listxattr(),
            Opcode::Removexattr => self.removexattr(),
            Opcode::Access => self.access(),
            Opcode::Getlk => self.getlk(),
            Opcode::Setlk => self.setlk(false),
            Opcode::SetlkWait => self.setlk(true),
            Opcode::Ioctl => self.ioctl(),
            Opcode::Fallocate => self.fallocate(),
            Opcode::Lseek => self.lseek(),
            Opcode::CopyFileRange => self.copy_file_range(Form::Other),
            Opcode::CopyFileRange64 => self.copy_file_range(Form::Usual),
            Opcode::Interrupt => self.interrupt(),
            Opcode::Destroy => self.destroy(),
        }
    }

    fn reply<T: Answer>(&self) -> Reply<T> {
        self.reply_as(Form::Usual)
    }

    fn reply_as<T: Answer>(&self, form: Form) -> Reply<T> {
        Reply::kernel(self.line, self.question.header.unique, form)
    }

    fn data_reply(&self) -> DataReply {
        DataReply::kernel(self.line, self.question.header.unique)
    }

    fn how(&self, flags: u32) -> OpenHow {
        let readable = self.line.connection().cache == Cache::Exclusive;
        OpenHow { flags: flags as i32, readable }
    }

    fn lookup(&mut self) -> Option<()> {
        let name = self.question.name()?;
        self.store.lookup(&self.caller, self.node, name, self.reply());
        Some(())
    }

    fn forget(&mut self) -> Option<()> {
        let count = self.question.take::<q::Forget>()?.count;
        self.forget_one(self.node, count);
        Some(())
    }

    fn batch_forget(&mut self) -> Option<()> {
        for _ in 0..self.question.take::<q::BatchForget>()?.count {
            let one = self.question.take::<q::ForgetOne>()?;
            self.forget_one(NodeId(one.node), one.count);
        }
        Some(())
    }

    fn forget_one(&self, node: NodeId, count: u64) {
        self.line.connection().freshness.forget(node);
        self.store.forget(node, count);
    }

    fn getattr(&mut self) -> Option<()> {
        let arguments = self.question.take::<q::Getattr>()?;
        let handle = handle_if(arguments.flags & q::GETATTR_HANDLE != 0, arguments.handle);
        self.store.getattr(&self.caller, self.node, handle, self.reply());
        Some(())
    }

    fn statx(&mut self) -> Option<()> {
        let arguments = self.question.take::<q::Statx>()?;
        let handle = handle_if(arguments.flags & q::GETATTR_HANDLE != 0, arguments.handle);
        self.store.getattr(&self.caller, self.node, handle, self.reply_as(Form::Other));
        Some(())
    }

    fn setattr(&mut self) -> Option<()> {
        let changes = changes(&self.question.take::<q::Setattr>()?);
        self.store.setattr(&self.caller, self.node, &changes, self.reply());
        Some(())
    }

    fn readlink(&mut self) -> Option<()> {
        self.store.readlink(&self.caller, self.node, self.data_reply());
        Some(())
    }

    fn symlink(&mut self) -> Option<()> {
        let (name, target) = (self.question.name()?, self.question.name()?);
        self.store.symlink(&self.caller, self.node, name, target, self.reply());
        Some(())
    }

    fn mknod(&mut self) -> Option<()> {
        let q::Mknod { mode, device, umask, .. } = self.question.take()?;
        let name = self.question.name()?;
        let new = NewNode { mode, umask, device };
        self.store.mknod(&self.caller, self.node, name, new, self.reply());
        Some(())
    }

    fn mkdir(&mut self) -> Option<()> {
        let q::Mkdir { mode, umask } = self.question.take()?;
        let name = self.question.name()?;
        let new = NewNode { mode, umask, device: 0 };
        self.store.mkdir(&self.caller, self.node, name, new, self.reply());
        Some(())
    }

    fn unlink(&mut self) -> Option<()> {
        let name = self.question.name()?;
        self.store.unlink(&self.caller, self.node, name, self.reply());
        Some(())
    }

    fn rmdir(&mut self) -> Option<()> {
        let name = self.question.name()?;
        self.store.rmdir(&self.caller, self.node, name, self.reply());
        Some(())
    }

    fn rename(&mut self) -> Option<()> {
        let parent = self.question.take::<q::Rename>()?.parent;
        self.rename_with(NodeId(parent), 0)
    }

    fn rename2(&mut self) -> Option<()> {
        let arguments = self.question.take::<q::Rename2>()?;
        self.rename_with(NodeId(arguments.parent), arguments.flags)
    }

    fn rename_with(&mut self, parent: NodeId, flags: u32) -> Option<()> {
        let (from, to) = (self.question.name()?, self.question.name()?);
        self.store.rename(&self.caller, (self.node, from), (parent, to), flags, self.reply());
        Some(())
    }

    fn link(&mut self) -> Option<()> {
        let node = NodeId(self.question.take::<q::Link>()?.node);
        let name = self.question.name()?;
        self.store.link(&self.caller, node, self.node, name, self.reply());
        Some(())
    }

    fn open(&mut self) -> Option<()> {
        let flags = self.question.take::<q::Open>()?.flags;
        let running = &self.line.connection().running;
        if running.forbids(self.node, flags) {
            self.reply::<()>().send(Err(Errno::ETXTBSY));
            return Some(());
        }
        let reply = running.opening(self.node, flags, self.reply());
        self.store.open(&self.caller, self.node, self.how(flags), reply);
        Some(())
    }

    fn create(&mut self) -> Option<()> {
        let q::Create { flags, mode, umask, .. } = self.question.take()?;
        let name = self.question.name()?;
        let new = NewNode { mode, umask, device: 0 };
        self.store.create(&self.caller, self.node, name, self.how(flags), new, self.reply());
        Some(())
    }

    fn tmpfile(&mut self) -> Option<()> {
        let q::Create { flags, mode, umask, .. } = self.question.take()?;
        let new = NewNode { mode, umask, device: 0 };
        self.store.tmpfile(&self.caller, self.node, self.how(flags), new, self.reply());
        Some(())
    }

    fn read(&mut self) -> Option<()> {
        let q::Read { handle, offset, size, .. } = self.question.take()?;
        let at = ReadAt { node: self.node, handle: HandleId(handle), offset, size };
        self.store.read(&self.caller, at, self.data_reply());
        Some(())
    }

    fn write(&mut self) -> Option<()> {
        let q::Write { handle, offset, size, write_flags, flags, .. } = self.question.take()?;
        let data = self.question.bytes(size as usize)?;
        let late = write_flags & q::WRITE_CACHE != 0;
        let at = WriteAt {
            node: self.node,
            handle: HandleId(handle),
            offset,
            // Pages written back know their offset, whatever the flags of the file are.
            append: flags as i32 & libc::O_APPEND != 0 && !late,
            late,
        };
        self.store.write(&self.caller, at, data, self.reply());
        Some(())
    }

    fn flush(&mut self) -> Option<()> {
        let q::Flush { handle, lock_owner, .. } = self.question.take()?;
        let owner = LockOwner { client: 0, key: lock_owner };
        self.store.flush(&self.caller, self.node, HandleId(handle), owner, self.reply());
        Some(())
    }

    fn release(&mut self) -> Option<()> {
        let q::Release { handle, flags, .. } = self.question.take()?;
        self.line.connection().running.released(self.node, flags);
        self.store.release(self.node, HandleId(handle), self.reply());
        Some(())
    }

    fn fsync(&mut self) -> Option<()> {
        let q::Fsync { handle, flags, .. } = self.question.take()?;
        let data_only = flags & q::FSYNC_DATA != 0;
        self.store.fsync(&self.caller, self.node, HandleId(handle), data_only, self.reply());
        Some(())
    }

    fn opendir(&mut self) -> Option<()> {
        let flags = self.question.take::<q::Open>()?.flags as i32;
        self.store.opendir(&self.caller, self.node, flags, self.reply());
        Some(())
    }

    fn readdir(&mut self, attributes: bool) -> Option<()> {
        let q::Read { handle, offset, size, .. } = self.question.take()?;
        let unique = self.question.header.unique;
        let reply = DirectoryReply::new(self.line, unique, size, attributes);
        self.store.readdir(&self.caller, self.node, HandleId(handle), offset, reply);
        Some(())
    }

    fn releasedir(&mut self) -> Option<()> {
        let handle = HandleId(self.question.take::<q::Release>()?.handle);
        self.store.releasedir(self.node, handle, self.reply());
        Some(())
    }

    fn fsyncdir(&mut self) -> Option<()> {
        let q::Fsync { handle, flags, .. } = self.question.take()?;
        let data_only = flags & q::FSYNC_DATA != 0;
        self.store.fsyncdir(&self.caller, self.node, HandleId(handle), data_only, self.reply());
        Some(())
    }

    fn statfs(&mut self) -> Option<()> {
        self.store.statfs(&self.caller, self.node, self.reply());
        Some(())
    }

    fn setxattr(&mut self) -> Option<()> {
        let q::Setxattr { size, flags } = self.question.take()?;
        let name = self.question.name()?;
        let value = self.question.bytes(size as usize)?;
        self.store.setxattr(&self.caller, self.node, name, value, flags as i32, self.reply());
        Some(())
    }

    fn getxattr(&mut self) -> Option<()> {
        let size = self.question.take::<q::Getxattr>()?.size;
        let name = self.question.name()?;
        let reply = XattrReply::new(self.data_reply(), size);
        self.store.getxattr(&self.caller, self.node, name, reply);
        Some(())
    }

    fn listxattr(&mut self) -> Option<()> {
        let size = self.question.take::<q::Getxattr>()?.size;
        let reply = XattrReply::new(self.data_reply(), size);
        self.store.listxattr(&self.caller, self.node, reply);
        Some(())
    }

    fn removexattr(&mut self) -> Option<()> {
        let name = self.question.name()?;
        self.store.removexattr(&self.caller, self.node, name, self.reply());
        Some(())
    }

    fn access(&mut self) -> Option<()> {
        let mask = self.question.take::<q::Access>()?.mask as i32;
        self.store.access(&self.caller, self.node, mask, self.reply());
        Some(())
    }

    fn getlk(&mut self) -> Option<()> {
        let request = self.lock_request(false)?;
        self.store.getlk(&self.caller, &request, self.reply());
        Some(())
    }

    fn setlk(&mut self, wait: bool) -> Option<()> {
        let request = self.lock_request(wait)?;
        self.store.setlk(&self.caller, &request, self.reply());
        Some(())
    }

    fn lock_request(&mut self, wait: bool) -> Option<LockRequest> {
        let q::Lk { handle, owner, start, end, kind, pid, flags, .. } = self.question.take()?;
        let kind = match kind as i32 {
            libc::F_RDLCK => LockKind::Read,
            libc::F_WRLCK => LockKind::Write,
            _ => LockKind::Unlock,
        };
        Some(LockRequest {
            node: self.node,
            handle: HandleId(handle),
            owner: LockOwner { client: 0, key: owner },
            lock: Lock { start, end, kind, pid },
            whole_file: flags & q::LK_FLOCK != 0,
            wait,
        })
    }

    fn ioctl(&mut self) -> Option<()> {
        let q::Ioctl { handle, command, in_size, out_size, .. } = self.question.take()?;
        let argument = self.question.bytes(in_size as usize)?;
        let (handle, room) = (HandleId(handle), out_size as usize);
        self.store.ioctl(&self.caller, handle, command, argument, room, self.reply());
        Some(())
    }

    fn fallocate(&mut self) -> Option<()> {
        let q::Fallocate { handle, offset, length, mode, .. } = self.question.take()?;
        let (handle, range) = (HandleId(handle), (offset, length));
        self.store.fallocate(&self.caller, handle, range, mode as i32, self.reply());
        Some(())
    }

    fn lseek(&mut self) -> Option<()> {
        let q::Lseek { handle, offset, whence, .. } = self.question.take()?;
        let (handle, offset) = (HandleId(handle), offset as i64);
        self.store.lseek(&self.caller, handle, offset, whence as i32, self.reply());
        Some(())
    }

    fn copy_file_range(&mut self, form: Form) -> Option<()> {
        let arguments = self.question.take::<q::CopyFileRange>()?;
        let copy = CopyRange {
            source: HandleId(arguments.source),
            source_offset: arguments.source_offset,
            target: HandleId(arguments.target),
            target_offset: arguments.target_offset,
            length: arguments.length,
        };
        self.store.copy_file_range(&self.caller, &copy, self.reply_as(form));
        Some(())
    }

    /// The interruption itself needs no answer; the request it names gets its own.
    fn interrupt(&mut self) -> Option<()> {
        let unique = self.question.take::<q::Interrupt>()?.unique;
        self.store.interrupt(RequestKey(unique));
        Some(())
    }

    fn destroy(&mut self) -> Option<()> {
        self.reply::<()>().send(Ok(()));
        Some(())
    }
}

fn handle_if(present: bool, handle: u64) -> Option<HandleId> {
    present.then_some(HandleId(handle))
}

fn changes(raw: &q::Setattr) -> Changes {
    let has = |bit: u32| raw.valid & bit != 0;
    let time = |set: u32, now: u32, secs: i64, nanos: u32| match (has(set), has(now)) {
        (true, true) => Some(SetTime::Now),
        (true, false) => Some(SetTime::To(Timestamp { secs, nanos })),
        (false, _) => None,
    };
    Changes {
        handle: handle_if(has(valid::HANDLE), raw.handle),
        mode: has(valid::MODE).then_some(raw.mode),
        uid: has(valid::UID).then_some(raw.uid),
        gid: has(valid::GID).then_some(raw.gid),
        size: has(valid::SIZE).then_some(raw.size),
        atime: time(valid::ATIME, valid::ATIME_NOW, raw.atime, raw.atime_nanos),
        mtime: time(valid::MTIME, valid::MTIME_NOW, raw.mtime, raw.mtime_nanos),
    }
}
