//! A client that acts for another one: an agent asks the server that has the names on behalf of each of
//! its clients, as that client.
//!
//! What the client holds, and what came of calls that must not be done twice, is then kept by the server
//! of the names alone, under the client's own numbers. Another agent that goes on for the client finds
//! all of it there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;

use iofwd_mount::Errno;
use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{HandleId, NodeId};

use crate::link::Hub;
use crate::wire::call::{Call, LockCall, Once};
use crate::wire::greeting::Bytes32;
use crate::wire::stripe::FileCall;

use super::connect::{ConnectError, Gathered, How, gather_alone};
use super::holdings::{File, Node};
use super::{Client, must_be_once};

/// Whom a client acts for.
#[derive(Debug, Default)]
pub(super) struct Acting {
    /// Calls of theirs that must not be done twice, while they are under way.
    tickets: DashMap<RequestKey, (u64, Once)>,
    /// What they hold was told to the server.
    has_begun: AtomicBool,
}

impl Acting {
    /// The number and place of a call, if it is one of theirs that must not be done twice.
    pub(super) fn ticket(&self, key: RequestKey, call: &Call<'_>) -> Option<(u64, Once)> {
        // An append is two calls, one after the other, and maybe again; of all others the first is
        // the one.
        if let Call::File(FileCall::Append { .. } | FileCall::Wrote { append: true, .. }) = call {
            return self.tickets.get(&key).map(|ticket| *ticket);
        }
        must_be_once(call).then(|| self.tickets.remove(&key)).flatten().map(|(_, ticket)| ticket)
    }
}

impl Client {
    /// A client for somebody who was never here, carried by a hub that is there.
    pub(crate) fn act(how: How, hub: &Arc<Hub>) -> Result<Arc<Client>, ConnectError> {
        let how = Arc::new(how);
        let (welcome, sockets) = match gather_alone(&how, &how.source.agents[0], &how.mount())? {
            Gathered::Welcome(welcome, sockets) => (welcome, sockets),
            Gathered::Unknown => return Err(ConnectError::Here(super::reach::unexpected())),
        };
        let acting = Acting { has_begun: AtomicBool::new(true), ..Acting::default() };
        let client = Client::new(how, Arc::clone(hub), (0, &welcome), None, Some(acting));
        client.carry(sockets, &welcome).map_err(ConnectError::Here)?;
        client.start(&welcome)?;
        Ok(client)
    }

    /// A client for somebody who was here before, by its token; `None` if it is not known. It begins
    /// when all is told that it holds.
    pub(crate) fn act_again(
        how: How,
        hub: &Arc<Hub>,
        token: Bytes32,
    ) -> Result<Option<Arc<Client>>, ConnectError> {
        let how = Arc::new(how);
        let purpose = how.resume(token);
        // What came by way of another agent is over from here on.
        let welcome = match gather_alone(&how, &how.source.agents[0], &purpose)? {
            Gathered::Welcome(welcome, _) => welcome,
            Gathered::Unknown => return Ok(None),
        };
        let acting = Some(Acting::default());
        let client = Client::new(how, Arc::clone(hub), (0, &welcome), None, acting);
        client.presence.lose("not told yet what is held");
        client.start(&welcome)?;
        Ok(Some(client))
    }

    /// What carries it, for others to be carried too.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// By what the server knows it again.
    pub(crate) fn token(&self) -> Bytes32 {
        self.presence.token()
    }

    /// How often the server was found again: what is open must be looked at then.
    pub(crate) fn resumed(&self) -> u64 {
        self.presence.resumed()
    }

    /// The voucher for a node.
    pub(crate) fn voucher(&self, node: NodeId) -> Box<[u8]> {
        self.holdings.nodes.get(&node).map_or_else(Box::default, |node| node.voucher.clone())
    }

    /// The voucher for what is open.
    pub(crate) fn voucher_open(&self, handle: HandleId) -> Box<[u8]> {
        self.holdings.files.get(&handle).map_or_else(Box::default, |file| file.voucher.clone())
    }

    /// Somebody it acts for holds this node.
    pub(crate) fn hold(
        &self,
        node: NodeId,
        references: u64,
        voucher: &[u8],
        (parent, name): (NodeId, &[u8]),
    ) {
        if !self.has_begun() {
            let (voucher, name) = (voucher.into(), name.into());
            self.holdings.nodes.insert(node, Node { references, voucher, parent, name });
        }
    }

    /// Somebody it acts for has this open.
    pub(crate) fn hold_open(&self, handle: HandleId, node: NodeId, voucher: &[u8]) {
        if !self.has_begun() {
            self.holdings.files.insert(handle, File { node, voucher: voucher.into() });
        }
    }

    /// Somebody it acts for holds this lock.
    pub(crate) fn hold_lock(&self, lock: &LockCall) {
        if !self.has_begun() {
            self.holdings.locked(lock);
        }
    }

    /// Everything was told: go on.
    pub(crate) fn begin(&self) -> Result<(), Errno> {
        let Some(acting) = &self.acting else { return Ok(()) };
        if acting.has_begun.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.alarm.ring(self.presence.generation(), "all is told");
        // Answered when there is a server that knows everything.
        self.ask_and_wait(Call::Ping, 0).map(drop)
    }

    fn has_begun(&self) -> bool {
        self.acting.as_ref().is_none_or(|acting| acting.has_begun.load(Ordering::Acquire))
    }

    /// A call that must not be done twice, of somebody it acts for, is under way from now on
    pub(crate) fn begin_once(&self, key: RequestKey, id: u64, once: Once) {
        if let Some(acting) = &self.acting {
            acting.tickets.insert(key, (id, once));
        }
    }

    /// and until now.
    pub(crate) fn end_once(&self, key: RequestKey) {
        if let Some(acting) = &self.acting {
            acting.tickets.remove(&key);
        }
    }

    /// Nothing more is asked, and nobody is told: somebody else goes on for whom it acted.
    pub(crate) fn part(&self) {
        self.alarm.end();
        self.presence.give_up();
        self.close_links("another agent goes on");
        self.answer_all();
    }
}

/// Its own calls are numbered from here on; those of whom it acts for are below.
pub(super) const FIRST: u64 = 1 << 39;

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: RequestKey = RequestKey(7);

    fn acting() -> Acting {
        let acting = Acting::default();
        acting.tickets.insert(KEY, (3, Once { place: 5, again: true }));
        acting
    }

    #[test]
    fn of_a_call_that_becomes_two_only_the_first_has_the_ticket() {
        let acting = acting();
        let mkdir = Call::Unlink { parent: NodeId::ROOT, name: b"x" };
        assert_eq!(acting.ticket(KEY, &Call::Statfs { node: NodeId::ROOT }), None);
        assert_eq!(acting.ticket(RequestKey(8), &mkdir), None);
        assert_eq!(acting.ticket(KEY, &mkdir), Some((3, Once { place: 5, again: true })));
        assert_eq!(acting.ticket(KEY, &mkdir), None);
    }

    #[test]
    fn an_append_keeps_its_ticket_until_it_is_over() {
        let acting = acting();
        let handle = HandleId(1);
        let turn = Call::File(FileCall::Append { handle });
        let wrote = Call::File(FileCall::Wrote { handle, end: 9, epoch: 1, append: true });
        for call in [&turn, &wrote, &turn, &wrote] {
            assert!(acting.ticket(KEY, call).is_some());
        }
        let plain = Call::File(FileCall::Wrote { handle, end: 9, epoch: 1, append: false });
        assert_eq!(acting.ticket(KEY, &plain), None);
    }
}
