//! A call of a client becomes a call of the store, after what it names was found to be its own.

use std::ffi::OsStr;
use std::io::IoSlice;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use iofwd_mount::store::{
    Attr, Changes, Controlled, CopyRange, Created, HandleId, LockRequest, NewNode, NodeId, OpenHow,
    Opened, OpenedDirectory, ReadAt, WriteAt,
};
use iofwd_mount::{Caller, Errno, Reply};

use crate::agent::Forwarder;
use crate::agent::once::Ticket;
use crate::agent::state::Opening;
use crate::control;
use crate::wire::answer::Value;
use crate::wire::call::{Call, LockCall, Name};

use super::responder::Responder;
use super::{Kind, Session};

/// Have a call answered.
pub(super) fn dispatch(
    session: &Arc<Session>,
    caller: &Caller,
    (call, once): (&Call<'_>, Option<Ticket>),
    payload: &[u8],
    to: Responder,
) {
    let mut to = Some(to);
    let exchange = Exchange { session, agent: &*session.agent, caller, payload };
    let served = session.rights.check(call).and_then(|()| {
        let done = once.and_then(|ticket| exchange.serve_once(call, &ticket, &mut to));
        done.unwrap_or_else(|| exchange.serve(call, &mut to))
    });
    if let (Err(errno), Some(to)) = (served, to) {
        to.send(Err(errno));
    }
}

pub(super) struct Exchange<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) agent: &'a dyn Forwarder,
    pub(super) caller: &'a Caller,
    pub(super) payload: &'a [u8],
}

/// The promise to answer, until somebody takes it. Taken last, so that a call that names what is
/// not the client's is refused with its own error.
pub(super) type Promise = Option<Responder>;
/// Whether the promise was taken, or why not.
pub(super) type Served = Result<(), Errno>;

impl Exchange<'_> {
    fn serve(&self, call: &Call<'_>, to: &mut Promise) -> Served {
        match *call {
            Call::Ping => taken(to)?.done().send(Ok(())),
            // These are not answered, and never come here.
            Call::Introduce { .. }
            | Call::Cancel { .. }
            | Call::Forget { .. }
            | Call::Adopt { .. }
            | Call::Reopen { .. }
            | Call::Reclaim(_) => {}
            Call::Restored => {
                self.session.restored()?;
                taken(to)?.done().send(Ok(()));
            }
            Call::Leave => {
                self.session.end();
                taken(to)?.done().send(Ok(()));
            }
            Call::Getattr { node, handle } => self.getattr(node, handle, to)?,
            Call::Setattr { node, changes } => self.setattr(node, changes, to)?,
            Call::Readlink { node } => self.readlink(node, to)?,
            Call::Statfs { node } => self.statfs(node, to)?,
            Call::Access { node, mask } => self.access(node, mask, to)?,
            Call::Lookup { parent, name } => self.lookup(parent, name, to)?,
            Call::Mknod { parent, name, new } => self.mknod(parent, name, new, to)?,
            Call::Mkdir { parent, name, new } => self.mkdir(parent, name, new, to)?,
            Call::Unlink { parent, name } => self.unlink(parent, name, to)?,
            Call::Rmdir { parent, name } => self.rmdir(parent, name, to)?,
            Call::Symlink { parent, name, target } => self.symlink(parent, name, target, to)?,
            Call::Rename { from, name, to: target, to_name, flags } => {
                self.rename((from, name), (target, to_name), flags, to)?;
            }
            Call::Link { node, parent, name } => self.link(node, parent, name, to)?,
            Call::Open { node, how } => self.open(node, how, to)?,
            Call::Create { parent, name, how, new } => self.create(parent, name, how, new, to)?,
            Call::Tmpfile { parent, how, new } => self.tmpfile(parent, how, new, to)?,
            Call::Flush { node, handle, owner } => self.flush(node, handle, owner, to)?,
            Call::Release { handle, .. } | Call::Releasedir { handle, .. } => {
                self.release(handle, to)?;
            }
            Call::Opendir { node, flags } => self.opendir(node, flags, to)?,
            Call::Readdir { node, handle, offset, room, attributes } => {
                self.readdir((node, handle), offset, room, attributes, to)?;
            }
            Call::Fsyncdir { node, handle, data_only } => {
                self.fsyncdir(node, handle, data_only, to)?;
            }
            Call::Read(at) => self.read(at, to)?,
            Call::Write(at) => self.write(at, to)?,
            Call::Fsync { node, handle, data_only } => self.fsync(node, handle, data_only, to)?,
            Call::Fallocate { handle, offset, length, mode } => {
                self.fallocate(handle, (offset, length), mode, to)?;
            }
            Call::Lseek { handle, offset, whence } => self.lseek(handle, offset, whence, to)?,
            Call::CopyFileRange(copy) => self.copy_file_range(copy, to)?,
            Call::Getlk(lock) => self.getlk(&lock, to)?,
            Call::Setlk(lock) => self.setlk(&lock, to)?,
            Call::Setxattr { node, name, flags } => self.setxattr(node, name, flags, to)?,
            Call::Getxattr { node, name } => self.getxattr(node, name, to)?,
            Call::Listxattr { node } => self.listxattr(node, to)?,
            Call::Removexattr { node, name } => self.removexattr(node, name, to)?,
            Call::Ioctl { handle, command, room } => self.ioctl(handle, command, room, to)?,
            Call::Control { command } => self.control(command, to)?,
            Call::Object(call) => self.object(call, to)?,
            Call::File(call) => self.striped(call, to)?,
        }
        Ok(())
    }

    fn getattr(&self, node: NodeId, handle: Option<HandleId>, to: &mut Promise) -> Served {
        let handle = handle.map(|handle| self.session.handle(handle)).transpose()?;
        self.agent.getattr(self.caller, self.session.node(node)?, handle, attr(taken(to)?));
        Ok(())
    }

    fn setattr(&self, node: NodeId, changes: Changes, to: &mut Promise) -> Served {
        let node = self.session.node(node)?;
        let handle = changes.handle.map(|handle| self.session.handle(handle)).transpose()?;
        self.agent.setattr(self.caller, node, &Changes { handle, ..changes }, attr(taken(to)?));
        Ok(())
    }

    fn readlink(&self, node: NodeId, to: &mut Promise) -> Served {
        self.agent.readlink(self.caller, self.session.node(node)?, taken(to)?.data());
        Ok(())
    }

    fn statfs(&self, node: NodeId, to: &mut Promise) -> Served {
        let node = self.session.node(node)?;
        self.agent.statfs(self.caller, node, taken(to)?.reply(|_, state| Value::Statfs(state)));
        Ok(())
    }

    fn access(&self, node: NodeId, mask: i32, to: &mut Promise) -> Served {
        self.agent.access(self.caller, self.session.node(node)?, mask, taken(to)?.done());
        Ok(())
    }

    fn lookup(&self, parent: NodeId, name: Name<'_>, to: &mut Promise) -> Served {
        let (parent, name) = self.place(parent, name)?;
        self.agent.lookup(self.caller, parent, name, taken(to)?.entry());
        Ok(())
    }

    fn mknod(&self, parent: NodeId, name: Name<'_>, new: NewNode, to: &mut Promise) -> Served {
        let (parent, name) = self.place(parent, name)?;
        self.agent.mknod(self.caller, parent, name, new, taken(to)?.entry());
        Ok(())
    }

    fn mkdir(&self, parent: NodeId, name: Name<'_>, new: NewNode, to: &mut Promise) -> Served {
        let (parent, name) = self.place(parent, name)?;
        self.agent.mkdir(self.caller, parent, name, new, taken(to)?.entry());
        Ok(())
    }

    fn unlink(&self, parent: NodeId, name: Name<'_>, to: &mut Promise) -> Served {
        let (parent, name) = self.place(parent, name)?;
        self.agent.unlink(self.caller, parent, name, taken(to)?.done());
        Ok(())
    }

    fn rmdir(&self, parent: NodeId, name: Name<'_>, to: &mut Promise) -> Served {
        let (parent, name) = self.place(parent, name)?;
        self.agent.rmdir(self.caller, parent, name, taken(to)?.done());
        Ok(())
    }

    fn symlink(&self, parent: NodeId, name: Name<'_>, target: &[u8], to: &mut Promise) -> Served {
        let (parent, name) = self.place(parent, name)?;
        let target = OsStr::from_bytes(target);
        self.agent.symlink(self.caller, parent, name, target, taken(to)?.entry());
        Ok(())
    }

    fn rename(
        &self,
        from: (NodeId, Name<'_>),
        target: (NodeId, Name<'_>),
        flags: u32,
        to: &mut Promise,
    ) -> Served {
        let (from, target) = (self.place(from.0, from.1)?, self.place(target.0, target.1)?);
        self.agent.rename(self.caller, from, target, flags, taken(to)?.done());
        Ok(())
    }

    fn link(&self, node: NodeId, parent: NodeId, name: Name<'_>, to: &mut Promise) -> Served {
        let (parent, name) = self.place(parent, name)?;
        self.agent.link(self.caller, self.session.node(node)?, parent, name, taken(to)?.entry());
        Ok(())
    }

    fn open(&self, node: NodeId, how: OpenHow, to: &mut Promise) -> Served {
        self.agent.open(self.caller, self.session.node(node)?, how, opened(taken(to)?, how));
        Ok(())
    }

    fn create(
        &self,
        parent: NodeId,
        name: Name<'_>,
        how: OpenHow,
        new: NewNode,
        to: &mut Promise,
    ) -> Served {
        let (parent, name) = self.place(parent, name)?;
        self.agent.create(self.caller, parent, name, how, new, created(taken(to)?, how));
        Ok(())
    }

    fn tmpfile(&self, parent: NodeId, how: OpenHow, new: NewNode, to: &mut Promise) -> Served {
        let parent = self.session.node(parent)?;
        self.agent.tmpfile(self.caller, parent, how, new, created(taken(to)?, how));
        Ok(())
    }

    fn flush(&self, node: NodeId, handle: HandleId, owner: u64, to: &mut Promise) -> Served {
        let (node, handle) = self.file(node, handle)?;
        let owner = self.session.owner(owner);
        self.agent.flush(self.caller, node, handle, owner, taken(to)?.done());
        Ok(())
    }

    fn release(&self, handle: HandleId, to: &mut Promise) -> Served {
        self.session.drop_handle(handle);
        taken(to)?.done().send(Ok(()));
        Ok(())
    }

    fn opendir(&self, node: NodeId, flags: i32, to: &mut Promise) -> Served {
        let node = self.session.node(node)?;
        self.agent.opendir(self.caller, node, flags, opened_directory(taken(to)?, node, flags));
        Ok(())
    }

    fn readdir(
        &self,
        (node, handle): (NodeId, HandleId),
        offset: u64,
        room: u32,
        attributes: bool,
        to: &mut Promise,
    ) -> Served {
        let (node, handle) = self.file(node, handle)?;
        let reply = taken(to)?.names(room as usize, attributes);
        self.agent.readdir(self.caller, node, handle, offset, reply);
        Ok(())
    }

    fn fsyncdir(&self, node: NodeId, handle: HandleId, data: bool, to: &mut Promise) -> Served {
        let (node, handle) = self.file(node, handle)?;
        self.agent.fsyncdir(self.caller, node, handle, data, taken(to)?.done());
        Ok(())
    }

    fn read(&self, at: ReadAt, to: &mut Promise) -> Served {
        let (node, handle) = self.file(at.node, at.handle)?;
        let room = to.as_ref().map_or(0, |to| to.room);
        let size = at.size.min(room as u32);
        check_range(at.offset, u64::from(size))?;
        self.agent.read(self.caller, ReadAt { node, handle, size, ..at }, taken(to)?.data());
        Ok(())
    }

    fn write(&self, at: WriteAt, to: &mut Promise) -> Served {
        let at = self.written(at)?;
        let reply = taken(to)?.reply(|_, count| Value::Written(count));
        self.agent.write(self.caller, at, self.payload, reply);
        Ok(())
    }

    /// Where a write goes, in our names.
    pub(super) fn written(&self, at: WriteAt) -> Result<WriteAt, Errno> {
        let (node, handle) = self.file(at.node, at.handle)?;
        check_range(at.offset, self.payload.len() as u64)?;
        Ok(WriteAt { node, handle, ..at })
    }

    fn fsync(&self, node: NodeId, handle: HandleId, data: bool, to: &mut Promise) -> Served {
        let (node, handle) = self.file(node, handle)?;
        self.agent.fsync(self.caller, node, handle, data, taken(to)?.done());
        Ok(())
    }

    fn fallocate(&self, handle: HandleId, at: (u64, u64), mode: i32, to: &mut Promise) -> Served {
        let handle = self.session.handle(handle)?;
        self.agent.fallocate(self.caller, handle, at, mode, taken(to)?.done());
        Ok(())
    }

    fn lseek(&self, handle: HandleId, offset: i64, whence: i32, to: &mut Promise) -> Served {
        let handle = self.session.handle(handle)?;
        let reply = taken(to)?.reply(|_, position| Value::Position(position));
        self.agent.lseek(self.caller, handle, offset, whence, reply);
        Ok(())
    }

    fn copy_file_range(&self, copy: CopyRange, to: &mut Promise) -> Served {
        let source = self.session.handle(copy.source)?;
        let target = self.session.handle(copy.target)?;
        let reply = taken(to)?.reply(|_, count| Value::Copied(count));
        self.agent.copy_file_range(self.caller, &CopyRange { source, target, ..copy }, reply);
        Ok(())
    }

    fn getlk(&self, lock: &LockCall, to: &mut Promise) -> Served {
        let request = self.lock(lock)?;
        self.agent.getlk(self.caller, &request, taken(to)?.reply(|_, lock| Value::Lock(lock)));
        Ok(())
    }

    fn setlk(&self, lock: &LockCall, to: &mut Promise) -> Served {
        let request = self.lock(lock)?;
        self.agent.setlk(self.caller, &request, locked(taken(to)?));
        Ok(())
    }

    fn setxattr(&self, node: NodeId, name: Name<'_>, flags: i32, to: &mut Promise) -> Served {
        let (node, name) = (self.session.node(node)?, OsStr::from_bytes(name));
        self.agent.setxattr(self.caller, node, name, self.payload, flags, taken(to)?.done());
        Ok(())
    }

    fn getxattr(&self, node: NodeId, name: Name<'_>, to: &mut Promise) -> Served {
        let (node, name) = (self.session.node(node)?, OsStr::from_bytes(name));
        self.agent.getxattr(self.caller, node, name, taken(to)?.xattr());
        Ok(())
    }

    fn listxattr(&self, node: NodeId, to: &mut Promise) -> Served {
        self.agent.listxattr(self.caller, self.session.node(node)?, taken(to)?.xattr());
        Ok(())
    }

    fn removexattr(&self, node: NodeId, name: Name<'_>, to: &mut Promise) -> Served {
        let (node, name) = (self.session.node(node)?, OsStr::from_bytes(name));
        self.agent.removexattr(self.caller, node, name, taken(to)?.done());
        Ok(())
    }

    fn ioctl(&self, handle: HandleId, command: u32, room: u32, to: &mut Promise) -> Served {
        let handle = self.session.handle(handle)?;
        let (room, reply) = (room as usize, controlled(taken(to)?));
        self.agent.ioctl(self.caller, handle, command, self.payload, room, reply);
        Ok(())
    }

    /// Others go on writing: what this client wrote is there, and is made durable.
    fn control(&self, command: u32, to: &mut Promise) -> Served {
        if command == control::FLUSH {
            self.agent.make_durable()?;
        }
        taken(to)?.data().data(self.agent.report().to_text().as_bytes());
        Ok(())
    }

    /// A name in a directory of the client's.
    pub(super) fn place<'n>(
        &self,
        parent: NodeId,
        name: Name<'n>,
    ) -> Result<(NodeId, &'n OsStr), Errno> {
        Ok((self.session.node(parent)?, component(name)?))
    }

    /// An open file of the client's.
    fn file(&self, node: NodeId, handle: HandleId) -> Result<(NodeId, HandleId), Errno> {
        Ok((self.session.node(node)?, self.session.handle(handle)?))
    }

    fn lock(&self, call: &LockCall) -> Result<LockRequest, Errno> {
        let (node, handle) = self.file(call.node, call.handle)?;
        Ok(LockRequest {
            node,
            handle,
            owner: self.session.owner(call.owner),
            lock: call.lock,
            whole_file: call.whole_file,
            wait: call.wait,
        })
    }
}

pub(super) fn taken(to: &mut Promise) -> Result<Responder, Errno> {
    to.take().ok_or(Errno::EIO)
}

pub(super) fn attr(to: Responder) -> Reply<Attr> {
    to.reply(|session, attr| Value::Attr(session.outgoing(attr)))
}

fn opened(to: Responder, how: OpenHow) -> Reply<Opened> {
    to.vouched(move |session, opened: Opened| {
        session.keep_handle(opened.handle, Kind::File);
        let voucher = session.vouch_open(opened.attr.node, opened.handle, opening(how));
        (Value::Opened(Opened { attr: session.outgoing(opened.attr), ..opened }), voucher)
    })
}

/// A file that was made: the voucher for it as open has the one for the node in it.
pub(super) fn created(to: Responder, how: OpenHow) -> Reply<Created> {
    to.vouched(move |session, created: Created| {
        session.keep_handle(created.handle, Kind::File);
        let node = created.entry.attr.node;
        let voucher = session.vouch_open(node, created.handle, opening(how));
        (Value::Created(Created { entry: session.keep_node(created.entry), ..created }), voucher)
    })
}

fn opening(how: OpenHow) -> Opening {
    Opening::File { flags: how.flags, readable: how.readable }
}

fn opened_directory(to: Responder, node: NodeId, flags: i32) -> Reply<OpenedDirectory> {
    to.vouched(move |session, opened: OpenedDirectory| {
        session.keep_handle(opened.handle, Kind::Directory);
        let voucher = session.vouch_open(node, opened.handle, Opening::Directory { flags });
        (Value::OpenedDirectory(opened), voucher)
    })
}

/// A lock that is granted to a client that left meanwhile is nobody's.
fn locked(to: Responder) -> Reply<()> {
    to.reply(|session, ()| {
        if session.has_ended() {
            session.agent.left(session.id);
        }
        Value::Nothing
    })
}

fn controlled(to: Responder) -> Reply<Controlled> {
    Reply::call(move |result| match result {
        Ok(Controlled { result, data }) => {
            to.send(Ok((Value::Controlled(result), &[IoSlice::new(&data)])));
        }
        Err(errno) => to.send(Err(errno)),
    })
}

/// Offsets are signed in the end, as kernels have them.
fn check_range(offset: u64, length: u64) -> Result<(), Errno> {
    let end = offset.checked_add(length).filter(|end| *end <= i64::MAX as u64);
    end.map(drop).ok_or(Errno::EINVAL)
}

/// A name within a directory; not a way out of it.
fn component(name: &[u8]) -> Result<&OsStr, Errno> {
    let is_way = matches!(name, b"" | b"." | b"..") || name.iter().any(|b| matches!(b, b'/' | 0));
    if is_way { Err(Errno::EINVAL) } else { Ok(OsStr::from_bytes(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_but_into_its_directory() {
        for name in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0b"] {
            assert_eq!(component(name), Err(Errno::EINVAL));
        }
        assert_eq!(component(b"..."), Ok(OsStr::new("...")));
    }
}
