//! A call of a client becomes a call of the store, after what it names was found to be its own.

use std::ffi::OsStr;
use std::io::IoSlice;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use iofwd_mount::store::{
    Attr, Changes, Controlled, CopyRange, Created, LockRequest, Opened, OpenedDirectory, ReadAt,
    WriteAt,
};
use iofwd_mount::{Caller, Errno, Reply, Store};

use crate::agent::Agent;
use crate::control;
use crate::wire::answer::Value;
use crate::wire::call::{Call, LockCall};

use super::responder::Responder;
use super::{Kind, Session};

/// Have a call answered.
pub(super) fn dispatch(
    session: &Arc<Session>,
    caller: &Caller,
    call: &Call<'_>,
    payload: &[u8],
    to: Responder,
) {
    let mut to = Some(to);
    let exchange = Exchange { session, agent: &session.agent, caller, payload };
    let served = session.rights.check(call).and_then(|()| exchange.serve(call, &mut to));
    if let (Err(errno), Some(to)) = (served, to) {
        to.send(Err(errno));
    }
}

struct Exchange<'a> {
    session: &'a Arc<Session>,
    agent: &'a Agent,
    caller: &'a Caller,
    payload: &'a [u8],
}

/// The promise to answer, until somebody takes it.
type Promise = Option<Responder>;

impl Exchange<'_> {
    fn serve(&self, call: &Call<'_>, to: &mut Promise) -> Result<(), Errno> {
        let (agent, caller, session) = (self.agent, self.caller, self.session);
        match *call {
            Call::Ping => taken(to)?.done().send(Ok(())),
            // These are not answered, and never come here.
            Call::Introduce { .. } | Call::Cancel { .. } | Call::Forget { .. } => {}
            Call::Getattr { node, handle } => {
                let handle = handle.map(|handle| session.handle(handle)).transpose()?;
                agent.getattr(caller, session.node(node)?, handle, attr(taken(to)?));
            }
            Call::Setattr { node, changes } => {
                let node = session.node(node)?;
                let handle = changes.handle.map(|handle| session.handle(handle)).transpose()?;
                let changes = Changes { handle, ..changes };
                agent.setattr(caller, node, &changes, attr(taken(to)?));
            }
            Call::Readlink { node } => {
                agent.readlink(caller, session.node(node)?, taken(to)?.data());
            }
            Call::Statfs { node } => {
                let node = session.node(node)?;
                agent.statfs(caller, node, taken(to)?.reply(|_, state| Value::Statfs(state)));
            }
            Call::Access { node, mask } => {
                agent.access(caller, session.node(node)?, mask, taken(to)?.done());
            }
            _ => return self.names(call, to),
        }
        Ok(())
    }

    /// Calls that are about names.
    fn names(&self, call: &Call<'_>, to: &mut Promise) -> Result<(), Errno> {
        let (agent, caller, session) = (self.agent, self.caller, self.session);
        match *call {
            Call::Lookup { parent, name } => {
                agent.lookup(caller, session.node(parent)?, component(name)?, taken(to)?.entry());
            }
            Call::Mknod { parent, name, new } => {
                let parent = session.node(parent)?;
                agent.mknod(caller, parent, component(name)?, new, taken(to)?.entry());
            }
            Call::Mkdir { parent, name, new } => {
                let parent = session.node(parent)?;
                agent.mkdir(caller, parent, component(name)?, new, taken(to)?.entry());
            }
            Call::Unlink { parent, name } => {
                agent.unlink(caller, session.node(parent)?, component(name)?, taken(to)?.done());
            }
            Call::Rmdir { parent, name } => {
                agent.rmdir(caller, session.node(parent)?, component(name)?, taken(to)?.done());
            }
            Call::Symlink { parent, name, target } => {
                let (parent, target) = (session.node(parent)?, OsStr::from_bytes(target));
                agent.symlink(caller, parent, component(name)?, target, taken(to)?.entry());
            }
            Call::Rename { from, name, to: target, to_name, flags } => {
                let from = (session.node(from)?, component(name)?);
                let target = (session.node(target)?, component(to_name)?);
                agent.rename(caller, from, target, flags, taken(to)?.done());
            }
            Call::Link { node, parent, name } => {
                let (node, parent) = (session.node(node)?, session.node(parent)?);
                agent.link(caller, node, parent, component(name)?, taken(to)?.entry());
            }
            _ => return self.opening(call, to),
        }
        Ok(())
    }

    /// Calls that open and close.
    fn opening(&self, call: &Call<'_>, to: &mut Promise) -> Result<(), Errno> {
        let (agent, caller, session) = (self.agent, self.caller, self.session);
        match *call {
            Call::Open { node, how } => {
                agent.open(caller, session.node(node)?, how, opened(taken(to)?));
            }
            Call::Create { parent, name, how, new } => {
                let parent = session.node(parent)?;
                agent.create(caller, parent, component(name)?, how, new, created(taken(to)?));
            }
            Call::Tmpfile { parent, how, new } => {
                agent.tmpfile(caller, session.node(parent)?, how, new, created(taken(to)?));
            }
            Call::Flush { node, handle, owner } => {
                let (node, handle) = (session.node(node)?, session.handle(handle)?);
                agent.flush(caller, node, handle, session.owner(owner), taken(to)?.done());
            }
            Call::Release { handle, .. } | Call::Releasedir { handle, .. } => {
                session.drop_handle(handle);
                taken(to)?.done().send(Ok(()));
            }
            Call::Opendir { node, flags } => {
                agent.opendir(caller, session.node(node)?, flags, opened_directory(taken(to)?));
            }
            Call::Readdir { node, handle, offset, room, attributes } => {
                let (node, handle) = (session.node(node)?, session.handle(handle)?);
                let reply = taken(to)?.names(room as usize, attributes);
                agent.readdir(caller, node, handle, offset, reply);
            }
            Call::Fsyncdir { node, handle, data_only } => {
                let (node, handle) = (session.node(node)?, session.handle(handle)?);
                agent.fsyncdir(caller, node, handle, data_only, taken(to)?.done());
            }
            _ => return self.data(call, to),
        }
        Ok(())
    }

    /// Calls that move bytes of open files, and lock them.
    fn data(&self, call: &Call<'_>, to: &mut Promise) -> Result<(), Errno> {
        let (agent, caller, session) = (self.agent, self.caller, self.session);
        match *call {
            Call::Read(at) => {
                let room = to.as_ref().map_or(0, |to| to.room);
                let (node, handle) = (session.node(at.node)?, session.handle(at.handle)?);
                let size = at.size.min(room as u32);
                check_range(at.offset, u64::from(size))?;
                agent.read(caller, ReadAt { node, handle, size, ..at }, taken(to)?.data());
            }
            Call::Write(at) => {
                let (node, handle) = (session.node(at.node)?, session.handle(at.handle)?);
                check_range(at.offset, self.payload.len() as u64)?;
                let reply = taken(to)?.reply(|_, count| Value::Written(count));
                agent.write(caller, WriteAt { node, handle, ..at }, self.payload, reply);
            }
            Call::Fsync { node, handle, data_only } => {
                let (node, handle) = (session.node(node)?, session.handle(handle)?);
                agent.fsync(caller, node, handle, data_only, taken(to)?.done());
            }
            Call::Fallocate { handle, offset, length, mode } => {
                let handle = session.handle(handle)?;
                agent.fallocate(caller, handle, (offset, length), mode, taken(to)?.done());
            }
            Call::Lseek { handle, offset, whence } => {
                let handle = session.handle(handle)?;
                let reply = taken(to)?.reply(|_, position| Value::Position(position));
                agent.lseek(caller, handle, offset, whence, reply);
            }
            Call::CopyFileRange(copy) => {
                let source = session.handle(copy.source)?;
                let target = session.handle(copy.target)?;
                let reply = taken(to)?.reply(|_, count| Value::Copied(count));
                agent.copy_file_range(caller, &CopyRange { source, target, ..copy }, reply);
            }
            Call::Getlk(lock) => {
                let request = self.lock(&lock)?;
                agent.getlk(caller, &request, taken(to)?.reply(|_, lock| Value::Lock(lock)));
            }
            Call::Setlk(lock) => {
                let request = self.lock(&lock)?;
                agent.setlk(caller, &request, locked(taken(to)?));
            }
            _ => return self.attributes(call, to),
        }
        Ok(())
    }

    /// Extended attributes and control operations.
    fn attributes(&self, call: &Call<'_>, to: &mut Promise) -> Result<(), Errno> {
        let (agent, caller, session) = (self.agent, self.caller, self.session);
        match *call {
            Call::Setxattr { node, name, flags } => {
                let (node, name) = (session.node(node)?, OsStr::from_bytes(name));
                agent.setxattr(caller, node, name, self.payload, flags, taken(to)?.done());
            }
            Call::Getxattr { node, name } => {
                let (node, name) = (session.node(node)?, OsStr::from_bytes(name));
                agent.getxattr(caller, node, name, taken(to)?.xattr());
            }
            Call::Listxattr { node } => {
                agent.listxattr(caller, session.node(node)?, taken(to)?.xattr());
            }
            Call::Removexattr { node, name } => {
                let (node, name) = (session.node(node)?, OsStr::from_bytes(name));
                agent.removexattr(caller, node, name, taken(to)?.done());
            }
            Call::Ioctl { handle, command, room } => {
                let handle = session.handle(handle)?;
                let (room, reply) = (room as usize, controlled(taken(to)?));
                agent.ioctl(caller, handle, command, self.payload, room, reply);
            }
            Call::Control { command } => {
                // Others go on writing: what this client wrote is there, and is made durable.
                if command == control::FLUSH {
                    agent.make_durable()?;
                }
                taken(to)?.data().data(agent.report().to_text().as_bytes());
            }
            _ => return Err(Errno::ENOSYS),
        }
        Ok(())
    }

    fn lock(&self, call: &LockCall) -> Result<LockRequest, Errno> {
        Ok(LockRequest {
            node: self.session.node(call.node)?,
            handle: self.session.handle(call.handle)?,
            owner: self.session.owner(call.owner),
            lock: call.lock,
            whole_file: call.whole_file,
            wait: call.wait,
        })
    }
}

fn taken(to: &mut Promise) -> Result<Responder, Errno> {
    to.take().ok_or(Errno::EIO)
}

fn attr(to: Responder) -> Reply<Attr> {
    to.reply(|session, attr| Value::Attr(session.outgoing(attr)))
}

fn opened(to: Responder) -> Reply<Opened> {
    to.reply(|session, opened: Opened| {
        session.keep_handle(opened.handle, Kind::File);
        Value::Opened(Opened { attr: session.outgoing(opened.attr), ..opened })
    })
}

fn created(to: Responder) -> Reply<Created> {
    to.reply(|session, created: Created| {
        session.keep_handle(created.handle, Kind::File);
        Value::Created(Created { entry: session.keep_node(created.entry), ..created })
    })
}

fn opened_directory(to: Responder) -> Reply<OpenedDirectory> {
    to.reply(|session, opened: OpenedDirectory| {
        session.keep_handle(opened.handle, Kind::Directory);
        Value::OpenedDirectory(opened)
    })
}

/// A lock that is granted to a client that left meanwhile is nobody's.
fn locked(to: Responder) -> Reply<()> {
    to.reply(|session, ()| {
        if session.has_ended() {
            session.agent.release_locks(session.id);
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
