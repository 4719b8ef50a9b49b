//! What agents ask of a data server, answered.

use std::sync::Arc;

use iofwd_mount::store::{HandleId, NodeId};
use iofwd_mount::{Caller, Errno};

use crate::agent::Agent;
use crate::agent::once::Ticket;
use crate::wire::answer::Value;
use crate::wire::stripe::{self, FileCall, ObjectCall, Standing};

use super::Keeper;
use super::objects::{self, Answer};

/// Who asks, and how what it names is found.
pub(in crate::agent) struct Visitor<'a> {
    pub(in crate::agent) client: u64,
    pub(in crate::agent) caller: &'a Caller,
    pub(in crate::agent) node: &'a dyn Fn(NodeId) -> Result<NodeId, Errno>,
    pub(in crate::agent) handle: &'a dyn Fn(HandleId) -> Result<HandleId, Errno>,
    /// The right to do what is asked for, if it must not be done twice.
    pub(in crate::agent) once: Option<&'a Ticket>,
}

impl Agent {
    /// Answer what is asked of a data server about its objects.
    pub(in crate::agent) fn serve_objects(
        &self,
        client: u64,
        call: ObjectCall,
        payload: &[u8],
        room: usize,
    ) -> Answer {
        let keeper = self.keeper()?;
        if call == ObjectCall::Identify {
            return Ok((Value::Data, keeper.roster.identity().to_vec()));
        }
        if let ObjectCall::Evict { agent } = &call {
            keeper.evict(agent)?;
            return Ok((Value::Nothing, Vec::new()));
        }
        keeper
            .desk
            .serve(client, &call, payload, || objects::serve(&keeper.objects, call, payload, room))
    }

    /// Have `answer` called with what is asked of the data server that has the names, maybe later.
    pub(in crate::agent) fn serve_file(
        &self,
        visitor: &Visitor<'_>,
        call: FileCall,
        payload: &[u8],
        answer: impl FnOnce(Answer) + Send + 'static,
    ) {
        if let FileCall::Append { handle } = call {
            let opened = (visitor.handle)(handle).and_then(|handle| self.files.get(handle));
            return match opened.and_then(|open| Ok((self.keeper()?, open))) {
                Ok((keeper, open)) => {
                    let grant = move |standing: Result<Standing, Errno>| answer(stood(standing));
                    keeper.append(self, visitor.client, open, Box::new(grant));
                }
                Err(errno) => answer(Err(errno)),
            };
        }
        answer(self.answer_file(visitor, call, payload));
    }

    fn answer_file(&self, visitor: &Visitor<'_>, call: FileCall, payload: &[u8]) -> Answer {
        let keeper = self.keeper()?;
        let node = |node| (visitor.node)(node).and_then(|node| self.nodes.get(node));
        match call {
            FileCall::Enrol => {
                keeper.roster.enrol(payload)?;
                Ok((Value::Nothing, Vec::new()))
            }
            FileCall::Stripes { node: id, wish } => {
                let stripes = keeper.stripes(self, &*node(id)?, wish)?;
                Ok((Value::Data, stripe::append(&stripes, Vec::new())))
            }
            FileCall::Wrote { handle, end, epoch, append } => {
                self.wrote(keeper, visitor, handle, (end, epoch), append)
            }
            FileCall::Truncate { node: id, handle, size } => {
                let handle = handle.map(|handle| (visitor.handle)(handle)).transpose()?;
                let open = handle.map(|handle| self.files.get(handle)).transpose()?;
                let node = node(id)?;
                stood(keeper.truncate(self, visitor.caller, &node, open.as_deref(), size))
            }
            FileCall::Trimmed { node: id, epoch } => {
                stood(keeper.trimmed(self, &*node(id)?, epoch))
            }
            FileCall::Orphans => {
                let orphans = keeper.orphans.some();
                let all = orphans.iter().fold(Vec::new(), |all, one| stripe::append(one, all));
                Ok((Value::Data, all))
            }
            FileCall::Freed { object } => {
                crate::backend::posix::Identity::assume_agent();
                keeper.orphans.freed(object)?;
                Ok((Value::Nothing, Vec::new()))
            }
            // Answered later, elsewhere.
            FileCall::Append { .. } => Err(Errno::EINVAL),
        }
    }

    /// Do what is asked of a file, and say how it stands.
    pub(in crate::agent) fn stand(
        &self,
        visitor: &Visitor<'_>,
        call: FileCall,
    ) -> Result<Standing, Errno> {
        match self.answer_file(visitor, call, &[])? {
            (Value::Standing(standing), _) => Ok(standing),
            _ => Err(Errno::EINVAL),
        }
    }

    /// How the file that a call is about stands.
    pub(in crate::agent) fn standing(
        &self,
        visitor: &Visitor<'_>,
        call: FileCall,
    ) -> Result<Standing, Errno> {
        let node = match call {
            FileCall::Wrote { handle, .. } | FileCall::Append { handle } => {
                Arc::clone(&self.files.get((visitor.handle)(handle)?)?.node)
            }
            FileCall::Truncate { node, .. }
            | FileCall::Stripes { node, .. }
            | FileCall::Trimmed { node, .. } => self.nodes.get((visitor.node)(node)?)?,
            FileCall::Enrol | FileCall::Orphans | FileCall::Freed { .. } => {
                return Err(Errno::EINVAL);
            }
        };
        self.keeper()?.standing(self, &node)
    }

    /// Data are there. An append must have been its client's turn, which is over now.
    fn wrote(
        &self,
        keeper: &Keeper,
        visitor: &Visitor<'_>,
        handle: HandleId,
        (end, epoch): (u64, u64),
        append: bool,
    ) -> Answer {
        let open = self.files.get((visitor.handle)(handle)?)?;
        let standing = keeper.wrote(self, visitor, &open, (end, epoch), append);
        if append {
            keeper.end_turn(self, visitor.client, &open)?;
        }
        stood(standing)
    }

    fn keeper(&self) -> Result<&Arc<Keeper>, Errno> {
        self.keeper.as_ref().ok_or(Errno::ENOSYS)
    }
}

fn stood(standing: Result<Standing, Errno>) -> Answer {
    standing.map(|standing| (Value::Standing(standing), Vec::new()))
}
