//! The forwarding layer of a scenario: how many agents there are, and how the policy of each is made.

use std::fmt;

use super::scenario::ScenarioError;
use crate::policy::{self, Limit, Policy, Setup};
use crate::scheduler::{Config, Scheduler};
use crate::time::Span;

/// The forwarding layer: agents that all run the same policy.
#[derive(Clone)]
pub struct Forwarding {
    /// Number of agents. The compute nodes of each job are divided among them evenly.
    pub agents: u32,
    /// Makes the policy of one agent.
    pub policy: Box<dyn MakePolicy>,
    /// Bound on one batch.
    pub batch: Limit,
    /// Bound on what one agent has in flight at one server.
    pub each: Limit,
    /// Bound on what one agent has in flight in all.
    pub total: Limit,
    /// How what the policy issues gets to the servers; `None`: each batch at once, as a message of its own.
    pub dispatch: Option<Dispatch>,
}

/// A stage behind the policy that gathers what it issues into lists, as IOFSL does.
///
/// The policy's order is a queue here. Whenever one of a few threads is free it takes requests from the
/// head of the queue, as long as they are of the same file and operation, and sends them as one list, a
/// message to each server concerned. Neighbours or not, and whichever servers: the list is done when its
/// last server has answered. Requests are not split before that: the policy sees each one as belonging
/// to the server of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Lists under way at a time.
    pub threads: u32,
    /// Requests in one list.
    pub list: u32,
    /// How long a thread takes to wake up and take a list; what is issued meanwhile goes along.
    pub pickup: Span,
    /// The thread that the policy has to itself; `None`: it is asked at once, by whoever brings a request.
    pub library: Option<Library>,
}

/// A policy behind a thread of its own, as in AGIOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Library {
    /// How long the thread takes to wake up.
    pub wake: Span,
    /// How long it takes to hand over a request that the policy issued.
    pub each: Span,
}

impl Forwarding {
    /// Agents with a policy of this name, its settings and all bounds at their defaults.
    pub fn named(name: &str, agents: u32) -> Result<Forwarding, ScenarioError> {
        let known = policy::ALL.iter().find(|entry| entry.name == name);
        let entry = known.ok_or_else(|| ScenarioError::UnknownPolicy(name.to_owned()))?;
        Ok(Forwarding::with(agents, entry.make))
    }

    /// Agents with a policy that is made like this, all bounds at their defaults.
    pub fn with(agents: u32, policy: impl MakePolicy + 'static) -> Forwarding {
        let Config { setup, each, total } = Config::new(Setup::new(1));
        Forwarding {
            agents,
            policy: Box::new(policy),
            batch: setup.batch,
            each,
            total,
            dispatch: None,
        }
    }

    /// The scheduler of one agent.
    pub(super) fn scheduler(&self, agent: u32, servers: u32) -> Result<Scheduler, ScenarioError> {
        let setup = Setup { batch: self.batch, agent, agents: self.agents, ..Setup::new(servers) };
        let config = Config { setup, each: self.each, total: self.total };
        config.check().map_err(ScenarioError::Setup)?;
        Ok(Scheduler::new(&config, self.policy.make(&setup)))
    }
}

impl fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Forwarding");
        fields.field("agents", &self.agents).field("batch", &self.batch);
        fields.field("each", &self.each).field("total", &self.total);
        fields.field("dispatch", &self.dispatch).finish_non_exhaustive()
    }
}

/// Makes the policy of one agent from what it must know. Any function or closure that does is one; it
/// may be shared between threads that each run a scenario.
pub trait MakePolicy: Send + Sync {
    /// Makes the policy.
    fn make(&self, setup: &Setup) -> Box<dyn Policy>;

    /// A copy, for a copy of the scenario.
    fn copy(&self) -> Box<dyn MakePolicy>;
}

impl<F> MakePolicy for F
where
    F: Fn(&Setup) -> Box<dyn Policy> + Clone + Send + Sync + 'static,
{
    fn make(&self, setup: &Setup) -> Box<dyn Policy> {
        self(setup)
    }

    fn copy(&self) -> Box<dyn MakePolicy> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn MakePolicy> {
    fn clone(&self) -> Box<dyn MakePolicy> {
        (**self).copy()
    }
}
