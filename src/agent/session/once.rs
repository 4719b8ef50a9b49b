//! Calls that must not be done twice: the same deeds, each with a ticket.

use std::ffi::OsStr;
use std::sync::Arc;

use iofwd_mount::store::{Changes, Entry, HandleId, NewNode, NodeId, OpenHow, WriteAt};
use iofwd_mount::{Errno, Store};

use crate::agent::Agent;
use crate::agent::once::{At, Change, Outcome, Ticket, at_once};
use crate::agent::state::Verdict;
use crate::wire::answer::Value;
use crate::wire::call::{Call, Name};

use super::dispatch::{Exchange, Promise, Served, attr, created, taken};

/// A call with a ticket, of what can be found again.
struct Once<'a> {
    exchange: &'a Exchange<'a>,
    agent: &'a Agent,
}

impl Exchange<'_> {
    /// Serve a call that has a ticket; `None` if it may be done as often as it is sent.
    pub(super) fn once(
        &self,
        call: &Call<'_>,
        ticket: &Ticket,
        to: &mut Promise,
    ) -> Option<Served> {
        Once { exchange: self, agent: self.agent.directory()? }.serve(call, ticket, to)
    }
}

impl Once<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most calls may")]
    fn serve(&self, call: &Call<'_>, ticket: &Ticket, to: &mut Promise) -> Option<Served> {
        Some(match *call {
            Call::Mknod { parent, name, new } => {
                let make = |at: &At<'_>, reply| {
                    self.agent.mknod(self.exchange.caller, at.parent.id, at.name, new, reply);
                };
                self.make_once(ticket, (parent, name), to, make)
            }
            Call::Mkdir { parent, name, new } => {
                let make = |at: &At<'_>, reply| {
                    self.agent.mkdir(self.exchange.caller, at.parent.id, at.name, new, reply);
                };
                self.make_once(ticket, (parent, name), to, make)
            }
            Call::Symlink { parent, name, target } => {
                let target: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(target);
                let make = |at: &At<'_>, reply| {
                    self.agent.symlink(self.exchange.caller, at.parent.id, at.name, target, reply);
                };
                self.make_once(ticket, (parent, name), to, make)
            }
            Call::Link { node, parent, name } => {
                self.exchange.session.node(node).and_then(|node| {
                    let make = |at: &At<'_>, reply| {
                        self.agent.link(self.exchange.caller, node, at.parent.id, at.name, reply);
                    };
                    self.make_once(ticket, (parent, name), to, make)
                })
            }
            Call::Create { parent, name, how, new } => {
                self.create_once(ticket, (parent, name), how, new, to)
            }
            Call::Unlink { parent, name } => self.remove_once(ticket, (parent, name), to, |at| {
                at_once(|reply| {
                    self.agent.unlink(self.exchange.caller, at.parent.id, at.name, reply);
                })
            }),
            Call::Rmdir { parent, name } => self.remove_once(ticket, (parent, name), to, |at| {
                at_once(|reply| {
                    self.agent.rmdir(self.exchange.caller, at.parent.id, at.name, reply)
                })
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
            _ => return None,
        })
    }

    fn at<'n>(&self, parent: NodeId, name: Name<'n>) -> Result<At<'n>, Errno> {
        let (parent, name) = self.exchange.place(parent, name)?;
        Ok(At { parent: self.agent.node_as(self.exchange.caller, parent)?, name })
    }

    fn make_once(
        &self,
        ticket: &Ticket,
        (parent, name): (NodeId, Name<'_>),
        to: &mut Promise,
        make: impl FnOnce(&At<'_>, iofwd_mount::Reply<Entry>),
    ) -> Served {
        let at = self.at(parent, name)?;
        let act = || at_once(|reply| make(&at, reply));
        let names = std::slice::from_ref(&at);
        let done = ticket.names(Change::Make, names, act, |made| self.agent.verdict_of(made));
        let entry = done.and_then(|outcome| self.agent.entered(&at, outcome));
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
        let at = self.at(parent, name)?;
        let act = || {
            at_once(|reply| {
                self.agent.create(self.exchange.caller, at.parent.id, at.name, how, new, reply);
            })
        };
        let names = std::slice::from_ref(&at);
        let made = |made: &iofwd_mount::store::Created| self.agent.verdict_of(&made.entry);
        let done = ticket.names(Change::Make, names, act, made);
        let result = done.and_then(|outcome| self.agent.created(&at, how, outcome));
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
        let act =
            || at_once(|reply| self.agent.rename(self.exchange.caller, old, new, flags, reply));
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
        let node = self.exchange.session.node(node)?;
        let handle =
            changes.handle.map(|handle| self.exchange.session.handle(handle)).transpose()?;
        let changes = Changes { handle, ..changes };
        let act =
            || at_once(|reply| self.agent.setattr(self.exchange.caller, node, &changes, reply));
        let result = ticket.plainly(act).and_then(|outcome| match outcome {
            Outcome::Now(attr) => Ok(attr),
            Outcome::Before(_) => {
                at_once(|reply| self.agent.getattr(self.exchange.caller, node, handle, reply))
            }
        });
        attr(taken(to)?).send(result);
        Ok(())
    }

    fn append_once(&self, ticket: &Ticket, at: WriteAt, to: &mut Promise) -> Served {
        let at = self.exchange.written(at)?;
        let reply = taken(to)?.reply(|_, count| Value::Written(count));
        self.agent.write_once(
            self.exchange.caller,
            at,
            self.exchange.payload,
            Some(ticket.clone()),
            reply,
        );
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
        let handle = self.exchange.session.handle(handle)?;
        let act = || {
            at_once(|reply| self.agent.fallocate(self.exchange.caller, handle, range, mode, reply))
        };
        taken(to)?.done().send(ticket.plainly(act).map(drop));
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
        let node = self.exchange.session.node(node)?;
        let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
        let act = || {
            let set = |flags| {
                at_once(|reply| {
                    self.agent.setxattr(
                        self.exchange.caller,
                        node,
                        name,
                        self.exchange.payload,
                        flags,
                        reply,
                    );
                })
            };
            match set(flags) {
                Err(errno) if errno.raw() == libc::EEXIST && ticket.again => {
                    let there = Arc::clone(&self.agent.nodes.get(node)?.inode).getxattr(name)?;
                    if there == self.exchange.payload { Ok(()) } else { Err(errno) }
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
        let node = self.exchange.session.node(node)?;
        let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
        let act = || match at_once(|reply| {
            self.agent.removexattr(self.exchange.caller, node, name, reply)
        }) {
            Err(errno) if errno.raw() == libc::ENODATA && ticket.again => Ok(()),
            result => result,
        };
        taken(to)?.done().send(ticket.plainly(act).map(drop));
        Ok(())
    }
}
