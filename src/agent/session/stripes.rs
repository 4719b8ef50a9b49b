//! Calls that only a data server answers, and only to agents that are trusted with everything.

use std::io::IoSlice;

use iofwd_mount::Errno;

use crate::agent::Agent;
use crate::agent::keeper::Visitor;
use crate::agent::once::{Outcome, Ticket};
use crate::wire::answer::Value;
use crate::wire::stripe::{FileCall, ObjectCall, Standing};

use super::dispatch::{Exchange, Promise, Served, taken};
use super::rights::Squash;

impl Exchange<'_> {
    pub(super) fn object(&self, call: ObjectCall, to: &mut Promise) -> Served {
        let server = self.data_server()?;
        let room = to.as_ref().map_or(0, |to| to.room);
        let (value, bytes) = server.serve_objects(self.session.id, call, self.payload, room)?;
        taken(to)?.send(Ok((value, &[IoSlice::new(&bytes)])));
        Ok(())
    }

    pub(super) fn striped(&self, call: FileCall, to: &mut Promise) -> Served {
        let server = self.data_server()?;
        let responder = taken(to)?;
        self.visit(|visitor| {
            server.serve_file(visitor, call, self.payload, move |answer| match answer {
                Ok((value, bytes)) => responder.send(Ok((value, &[IoSlice::new(&bytes)]))),
                Err(errno) => responder.send(Err(errno)),
            });
        });
        Ok(())
    }

    /// An append that was acknowledged, or a truncation, is not done again. That an append was refused
    /// is kept as a failure.
    pub(super) fn striped_once(&self, ticket: &Ticket, call: FileCall, to: &mut Promise) -> Served {
        let server = self.data_server()?;
        let is_append = matches!(call, FileCall::Wrote { .. });
        let mut refused = None;
        let act = || {
            let standing = self.visit(|visitor| server.stand(visitor, call))?;
            if is_append && !standing.accepted {
                refused = Some(standing);
                return Err(Errno::ESTALE);
            }
            Ok(standing)
        };
        let now = |accepted| {
            let standing = self.visit(|visitor| server.standing(visitor, call))?;
            Ok(Standing { accepted: accepted && (is_append || standing.cut.is_none()), ..standing })
        };
        let done = ticket.plainly(act);
        let standing = match done {
            Ok(Outcome::Now(standing)) => Ok(standing),
            Ok(Outcome::Before(_)) => now(true),
            Err(errno) if is_append && errno == Errno::ESTALE => {
                refused.map_or_else(|| now(false), Ok)
            }
            Err(errno) => Err(errno),
        };
        taken(to)?.send(standing.map(|standing| (Value::Standing(standing), &[][..])));
        Ok(())
    }

    fn visit<T>(&self, visit: impl FnOnce(&Visitor<'_>) -> T) -> T {
        visit(&Visitor {
            client: self.session.id,
            caller: self.caller,
            node: &|node| self.session.node(node),
            handle: &|handle| self.session.handle(handle),
        })
    }

    /// Whoever reaches the objects reaches everybody's files.
    fn data_server(&self) -> Result<&Agent, Errno> {
        if self.session.rights.squash != Squash::None {
            return Err(Errno::EPERM);
        }
        self.agent.local().filter(|agent| agent.keeper.is_some()).ok_or(Errno::ENOSYS)
    }
}
