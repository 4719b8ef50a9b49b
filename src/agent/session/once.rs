//! Calls that must not be done twice: the same deeds, each with a ticket.

use std::ffi::OsStr;
use std::sync::Arc;

use iofwd_mount::Errno;
use iofwd_mount::store::{Changes, Entry, HandleId, NewNode, NodeId, OpenHow, WriteAt};

use crate::agent::once::{At, Change, Outcome, Ticket, at_once};
use crate::agent::state::Verdict;
use crate::wire::answer::Value;
use crate::wire::call::{Call, Name};
use crate::wire::stripe::FileCall;

use super::dispatch::{Exchange, Promise, Served, attr, created, taken};

impl Exchange<'_> {
    /// Serve a call that has a ticket; `None` if it may be done as often as it is sent.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most calls may")]
    pub(super) fn serve_once(
        &self,
        call: &Call<'_>,
        ticket: &Ticket,
        to: &mut Promise,
    ) -> Option<Served> {
        Some(match *call {
            Call::Mknod { parent, name, new } => {
                let make = |at: &At<'_>, reply| {
                    self.agent.mknod(self.caller, at.parent.id, at.name, new, reply);
                };
                self.make_once(ticket, (parent, name), to, make)
            }
            Call::Mkdir { parent, name, new } => {
                let make = |at: &At<'_>, reply| {
                    self.agent.mkdir(self.caller, at.parent.id, at.name, new, reply);
                };
                self.make_once(ticket, (parent, name), to, make)
            }
            Call::Symlink { parent, name, target } => {
                let target: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(target);
                let make = |at: &At<'_>, reply| {
                    self.agent.symlink(self.caller, at.parent.id, at.name, target, reply);
                };
                self.make_once(ticket, (parent, name), to, make)
            }
            Call::Link { node, parent, name } => self.session.node(node).and_then(|node| {
                let make = |at: &At<'_>, reply| {
                    self.agent.link(self.caller, node, at.parent.id, at.name, reply);
                };
                self.make_once(ticket, (parent, name), to, make)
            }),
            Call::Create { parent, name, how, new } => {
                self.create_once(ticket, (parent, name), how, new, to)
            }
            Call::Unlink { parent, name } => self.remove_once(ticket, (parent, name), to, |at| {
                at_once(|reply| {
                    self.agent.unlink(self.caller, at.parent.id, at.name, reply);
                })
            }),
            Call::Rmdir { parent, name } => self.remove_once(ticket, (parent, name), to, |at| {
                at_once(|reply| self.agent.rmdir(self.caller, at.parent.id, at.name, reply))
            }),
            Call::Rename { from, name, to: target, to_name, flags } => {
                self.rename_once(ticket, (from, name), (target, to_name), flags, to)
            }
            Call::Setattr { node, changes } => self.setattr_once(ticket, node, changes, to),
            Call::Write(at) => self.append_once(ticket, at, to),
            Call::Fallocate { handle, offset, length, mode } => {
                self.fallocate_once(ticket, handle, (offset, length), mode, to)
            }
            Call::Setxattr { node, name, flags } => {
                self.setxattr_once(ticket, node, name, flags, to)
            }
            Call::Removexattr { node, name } => self.removexattr_once(ticket, node, name, to),
            Call::File(call @ FileCall::Truncate { .. }) => self.truncate_once(ticket, call, to),
            Call::File(call @ FileCall::Append { .. }) => self.turn_once(ticket, call, to),
            Call::File(call @ FileCall::Wrote { append: true, .. }) => {
                self.wrote_once(ticket, call, to)
            }
            _ => return None,
        })
    }

    fn at<'n>(&self, parent: NodeId, name: Name<'n>) -> Result<At<'n>, Errno> {
        let (parent, name) = self.place(parent, name)?;
        Ok(At { parent: self.session.local()?.node_as(self.caller, parent)?, name })
    }

    fn make_once(
        &self,
        ticket: &Ticket,
        (parent, name): (NodeId, Name<'_>),
        to: &mut Promise,
        make: impl FnOnce(&At<'_>, iofwd_mount::Reply<Entry>),
    ) -> Served {
        let (agent, at) = (self.session.local()?, self.at(parent, name)?);
        let act = || at_once(|reply| make(&at, reply));
        let names = std::slice::from_ref(&at);
        let done = ticket.names(Change::Make, names, act, |made| agent.verdict_of(made));
        let entry = done.and_then(|outcome| agent.entered(&at, outcome));
        taken(to)?.entry().send(entry);
        Ok(())
    }

    fn create_once(
        &self,
        ticket: &Ticket,
        (parent, name): (NodeId, Name<'_>),
        how: OpenHow,
        new: NewNode,
        to: &mut Promise,
    ) -> Served {
        let (agent, at) = (self.session.local()?, self.at(parent, name)?);
        let act = || {
            at_once(|reply| {
                self.agent.create(self.caller, at.parent.id, at.name, how, new, reply);
            })
        };
        let names = std::slice::from_ref(&at);
        let made = |made: &iofwd_mount::store::Created| agent.verdict_of(&made.entry);
        let done = ticket.names(Change::Make, names, act, made);
        let result = done.and_then(|outcome| agent.created(&at, how, outcome));
        created(taken(to)?, how).send(result);
        Ok(())
    }

    fn remove_once(
        &self,
        ticket: &Ticket,
        (parent, name): (NodeId, Name<'_>),
        to: &mut Promise,
        remove: impl FnOnce(&At<'_>) -> Result<(), Errno>,
    ) -> Served {
        let at = self.at(parent, name)?;
        let names = std::slice::from_ref(&at);
        let done = ticket.names(Change::Remove, names, || remove(&at), |()| Verdict::Done);
        taken(to)?.done().send(done.map(drop));
        Ok(())
    }

    fn rename_once(
        &self,
        ticket: &Ticket,
        from: (NodeId, Name<'_>),
        target: (NodeId, Name<'_>),
        flags: u32,
        to: &mut Promise,
    ) -> Served {
        let names = [self.at(from.0, from.1)?, self.at(target.0, target.1)?];
        let [old, new] = names.each_ref().map(|at| (at.parent.id, at.name));
        let act = || at_once(|reply| self.agent.rename(self.caller, old, new, flags, reply));
        let done = ticket.names(Change::Rename, &names, act, |()| Verdict::Done);
        taken(to)?.done().send(done.map(drop));
        Ok(())
    }

    fn setattr_once(
        &self,
        ticket: &Ticket,
        node: NodeId,
        changes: Changes,
        to: &mut Promise,
    ) -> Served {
        let node = self.session.node(node)?;
        let handle = changes.handle.map(|handle| self.session.handle(handle)).transpose()?;
        let changes = Changes { handle, ..changes };
        let act = || at_once(|reply| self.agent.setattr(self.caller, node, &changes, reply));
        let result = ticket.plainly(act).and_then(|outcome| match outcome {
            Outcome::Now(attr) => Ok(attr),
            Outcome::Before(_) => {
                at_once(|reply| self.agent.getattr(self.caller, node, handle, reply))
            }
        });
        attr(taken(to)?).send(result);
        Ok(())
    }

    fn append_once(&self, ticket: &Ticket, at: WriteAt, to: &mut Promise) -> Served {
        let at = self.written(at)?;
        let reply = taken(to)?.reply(|_, count| Value::Written(count));
        let agent = self.session.local()?;
        agent.write_once(self.caller, at, self.payload, Some(ticket.clone()), reply);
        Ok(())
    }

    fn fallocate_once(
        &self,
        ticket: &Ticket,
        handle: HandleId,
        range: (u64, u64),
        mode: i32,
        to: &mut Promise,
    ) -> Served {
        let handle = self.session.handle(handle)?;
        let act = || at_once(|reply| self.agent.fallocate(self.caller, handle, range, mode, reply));
        let shifts = mode & (libc::FALLOC_FL_COLLAPSE_RANGE | libc::FALLOC_FL_INSERT_RANGE) != 0;
        let done = match self.session.local()?.files.get(handle) {
            Ok(open) if shifts => ticket.shift(&open, act),
            _ => ticket.plainly(act).map(drop),
        };
        taken(to)?.done().send(done);
        Ok(())
    }

    /// One that was to be new and is there with this value was set before.
    fn setxattr_once(
        &self,
        ticket: &Ticket,
        node: NodeId,
        name: Name<'_>,
        flags: i32,
        to: &mut Promise,
    ) -> Served {
        let node = self.session.node(node)?;
        let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
        let act = || {
            let set = |flags| {
                at_once(|reply| {
                    self.agent.setxattr(self.caller, node, name, self.payload, flags, reply);
                })
            };
            match set(flags) {
                Err(errno) if errno.raw() == libc::EEXIST && ticket.again => {
                    let there =
                        Arc::clone(&self.session.local()?.nodes.get(node)?.inode).getxattr(name)?;
                    if there == self.payload { Ok(()) } else { Err(errno) }
                }
                result => result,
            }
        };
        taken(to)?.done().send(ticket.plainly(act).map(drop));
        Ok(())
    }

    /// One that is not there was removed before.
    fn removexattr_once(
        &self,
        ticket: &Ticket,
        node: NodeId,
        name: Name<'_>,
        to: &mut Promise,
    ) -> Served {
        let node = self.session.node(node)?;
        let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
        let act = || match at_once(|reply| self.agent.removexattr(self.caller, node, name, reply)) {
            Err(errno) if errno.raw() == libc::ENODATA && ticket.again => Ok(()),
            result => result,
        };
        taken(to)?.done().send(ticket.plainly(act).map(drop));
        Ok(())
    }
}
