//! Agents that use this server. One that died may have left something in its connections, which would
//! be done late, after others have gone on for its clients: it is seen to that it is not.

use std::sync::{Arc, Weak};
use std::time::Duration;

use dashmap::DashMap;

use iofwd_mount::Errno;

use crate::agent::AgentId;
use crate::agent::session::Session;

use super::Keeper;

/// Everybody who is connected.
#[derive(Debug, Default)]
pub(super) struct Visitors(DashMap<u64, Weak<Session>>);

impl Keeper {
    /// Somebody has come.
    pub(in crate::agent) fn visited(&self, session: &Arc<Session>) {
        self.visitors.0.retain(|_, visitor| visitor.strong_count() > 0);
        self.visitors.0.insert(session.id(), Arc::downgrade(session));
    }

    /// That agent is dead: nothing that it sent is done from here on. Agents say in words who they are
    /// when they come.
    pub(super) fn evict(&self, agent: &AgentId) -> Result<(), Errno> {
        let name = agent_name(agent);
        let all: Vec<Arc<Session>> =
            self.visitors.0.iter().filter_map(|visitor| visitor.upgrade()).collect();
        let its = all.iter().filter(|session| session.client().contains(&name));
        its.into_iter().try_for_each(|session| session.evict(PATIENCE))
    }
}

/// How an agent calls itself.
pub(crate) fn agent_name(agent: &AgentId) -> String {
    agent.iter().fold("agent ".to_owned(), |name, byte| format!("{name}{byte:02x}"))
}

/// How long what is being done may take.
const PATIENCE: Duration = Duration::from_secs(2);
