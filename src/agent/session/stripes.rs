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
        self.visit(None, |visitor| {
            server.serve_file(visitor, call, self.payload, move |answer| match answer {
                Ok((value, bytes)) => responder.send(Ok((value, &[IoSlice::new(&bytes)]))),
                Err(errno) => responder.send(Err(errno)),
            });
        });
        Ok(())
    }

    /// A truncation is not done again.
    pub(super) fn truncate_once(
        &self,
        ticket: &Ticket,
        call: FileCall,
        to: &mut Promise,
    ) -> Served {
        let server = self.data_server()?;
        let act = || self.visit(None, |visitor| server.stand(visitor, call));
        let standing = match ticket.plainly(act)? {
            Outcome::Now(standing) => standing,
            Outcome::Before(_) => {
                let standing = self.visit(None, |visitor| server.standing(visitor, call))?;
                Standing { accepted: standing.cut.is_none(), ..standing }
            }
        };
        taken(to)?.send(Ok((Value::Standing(standing), &[])));
        Ok(())
    }

    /// A turn to append, unless the append was done before: then the answer is how much was.
    pub(super) fn turn_once(&self, ticket: &Ticket, call: FileCall, to: &mut Promise) -> Served {
        let server = self.data_server()?;
        // Whatever a server that died left undecided is decided by this.
        self.visit(None, |visitor| server.standing(visitor, call))?;
        match ticket.extended()? {
            Some(count) => taken(to)?.send(Ok((Value::Written(count), &[]))),
            None => self.striped(call, to)?,
        }
        Ok(())
    }

    /// That an append is there is said once.
    pub(super) fn wrote_once(&self, ticket: &Ticket, call: FileCall, to: &mut Promise) -> Served {
        let server = self.data_server()?;
        let mut standing = self.visit(None, |visitor| server.standing(visitor, call))?;
        if ticket.extended()?.is_some() {
            standing.accepted = true;
        } else {
            standing = self.visit(Some(ticket), |visitor| server.stand(visitor, call))?;
        }
        taken(to)?.send(Ok((Value::Standing(standing), &[])));
        Ok(())
    }

    fn visit<T>(&self, once: Option<&Ticket>, visit: impl FnOnce(&Visitor<'_>) -> T) -> T {
        visit(&Visitor {
            client: self.session.id,
            caller: self.caller,
            node: &|node| self.session.node(node),
            handle: &|handle| self.session.handle(handle),
            once,
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
