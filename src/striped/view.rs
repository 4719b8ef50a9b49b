//! A store for one client of an agent. The server that has the names knows the client as one of its own,
//! and keeps what it holds; so another agent over the same servers can go on for it.

use std::sync::Arc;

use iofwd_mount::Errno;
use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{HandleId, NodeId, OpenHow};

use crate::agent::{AgentId, Gate, Passage, Received, Visit};
use crate::client::{Client, ConnectError};
use crate::wire::call::{LockCall, Once};

use super::file::Open;
use super::{Striped, server};

impl Gate for Striped {
    fn agent(&self) -> AgentId {
        self.common.agent
    }

    fn receive(&self, visit: &Visit<'_>) -> Result<Option<Received>, String> {
        if let Some(agent) = visit.before {
            self.data.servers().iter().for_each(|server| server.fence(agent));
        }
        let words = |error: ConnectError| error.to_string();
        let how = server::acting(&self.common.setup, visit);
        let names = match visit.token {
            None => Some(Client::act(how, self.names.hub()).map_err(words)?),
            Some(token) => Client::act_again(how, self.names.hub(), token).map_err(words)?,
        };
        Ok(names.map(|names| {
            let token = names.token();
            let servers = self.data.servers().to_vec();
            let view = Striped::over(names, servers, self.wish, Arc::clone(&self.common), true);
            let view = Arc::new(view);
            self.common.add(&view);
            Received { store: view, token }
        }))
    }
}

impl Passage for Striped {
    fn voucher(&self, node: NodeId) -> Box<[u8]> {
        self.names.voucher(node)
    }

    fn voucher_open(&self, handle: HandleId) -> Box<[u8]> {
        self.names.voucher_open(handle)
    }

    fn adopt(&self, node: NodeId, references: u64, voucher: &[u8], place: (NodeId, &[u8])) {
        self.names.hold(node, references, voucher, place);
    }

    fn reopen(&self, node: NodeId, handle: HandleId, voucher: &[u8], how: Option<OpenHow>) {
        self.names.hold_open(handle, node, voucher);
        if let Some(how) = how {
            self.handles.insert(handle, Arc::new(Open::again(node, handle, how)));
        }
    }

    fn reclaim(&self, lock: &LockCall) {
        self.names.hold_lock(lock);
    }

    fn restored(&self) -> Result<(), Errno> {
        self.names.begin()
    }

    fn begin_once(&self, key: RequestKey, id: u64, once: Once) {
        self.names.begin_once(key, id, once);
    }

    fn end_once(&self, key: RequestKey) {
        self.names.end_once(key);
    }

    fn leave(&self) {
        self.names.leave();
        self.names.part();
    }

    fn part(&self) {
        self.names.part();
    }
}
