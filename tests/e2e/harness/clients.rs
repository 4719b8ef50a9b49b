//! Several clients of one directory, whatever lies between them and it.

use super::{Agent, Ground, Mount};

/// What lies between.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Through {
    /// Nothing: each mount has its agent inside.
    Embedded,
    /// One agent, over the loopback.
    Tcp,
    /// One agent, over a socket.
    Unix,
    /// An agent for each client.
    AgentEach,
}

/// The clients, and their agents, which go after them.
pub(crate) struct Clients {
    pub(crate) mounts: Vec<Mount>,
    _agents: Vec<Agent>,
    pub(crate) ground: Ground,
}

impl Clients {
    /// So many mounts of a new directory, or says why the test is skipped.
    pub(crate) fn start(through: Through, count: usize, options: &[&str]) -> Option<Self> {
        let (mounts, agents) = match through {
            Through::Embedded => {
                let first = Mount::start(options)?;
                let others: Vec<_> = (1..count).map(|_| first.another(options)).collect();
                (std::iter::once(first).chain(others).collect(), Vec::new())
            }
            Through::Tcp | Through::Unix | Through::AgentEach => {
                let agents = agents(through, count)?;
                let clients = (0..count).map(|number| client(&agents, number, through, options));
                (clients.collect::<Vec<_>>(), agents)
            }
        };
        let ground = mounts.first().map(Mount::ground)?.clone();
        Some(Self { mounts, _agents: agents, ground })
    }
}

fn agents(through: Through, clients: usize) -> Option<Vec<Agent>> {
    let first = Agent::start("")?;
    let more = if matches!(through, Through::AgentEach) { clients - 1 } else { 0 };
    let others: Vec<_> = (0..more).map(|_| first.another()).collect();
    Some(std::iter::once(first).chain(others).collect())
}

fn client(agents: &[Agent], number: usize, through: Through, options: &[&str]) -> Mount {
    let agent = &agents[number % agents.len()];
    let source = match through {
        Through::Unix => agent.over_unix(),
        Through::Embedded | Through::Tcp | Through::AgentEach => agent.over_tcp(),
    };
    Mount::remote(agent, &source, options)
}
