//! Calls that only a data server answers, and only to agents that are trusted with everything.

use std::io::IoSlice;

use iofwd_mount::Errno;

use crate::agent::Agent;
use crate::agent::keeper::Visitor;
use crate::wire::stripe::{FileCall, ObjectCall};

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
        let visitor = Visitor {
            client: self.session.id,
            caller: self.caller,
            node: &|node| self.session.node(node),
            handle: &|handle| self.session.handle(handle),
        };
        server.serve_file(&visitor, call, self.payload, move |answer| match answer {
            Ok((value, bytes)) => responder.send(Ok((value, &[IoSlice::new(&bytes)]))),
            Err(errno) => responder.send(Err(errno)),
        });
        Ok(())
    }

    /// Whoever reaches the objects reaches everybody's files.
    fn data_server(&self) -> Result<&Agent, Errno> {
        if self.session.rights.squash != Squash::None {
            return Err(Errno::EPERM);
        }
        self.agent.data_server().ok_or(Errno::ENOSYS)
    }
}
