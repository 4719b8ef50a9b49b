//! Several clients of one directory, whatever lies between them and it.

use super::{Agent, DataServers, Ground, Mount};

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
    /// Two agents over four data servers, with stripes of that size.
    Servers(&'static str),
}

/// The clients, and their agents, which go after them.
pub(crate) struct Clients {
    pub(crate) mounts: Vec<Mount>,
    _agents: Vec<Agent>,
    /// They go last.
    _servers: Option<DataServers>,
    pub(crate) ground: Ground,
}

impl Clients {
    /// So many mounts of a new directory, or says why the test is skipped.
    pub(crate) fn start(through: Through, count: usize, options: &[&str]) -> Option<Self> {
        if let Through::Servers(stripe) = through {
            return Self::over_servers(stripe, count, options);
        }
        let (mounts, agents) = match through {
            Through::Embedded => {
                let first = Mount::start(options)?;
                let others: Vec<_> = (1..count).map(|_| first.another(options)).collect();
                (std::iter::once(first).chain(others).collect(), Vec::new())
            }
            Through::Tcp | Through::Unix | Through::AgentEach | Through::Servers(_) => {
                let agents = agents(through, count)?;
                let clients = (0..count).map(|number| client(&agents, number, through, options));
                (clients.collect::<Vec<_>>(), agents)
            }
        };
        let ground = mounts.first().map(Mount::ground)?.clone();
        Some(Self { mounts, _agents: agents, _servers: None, ground })
    }

    /// What the first of them sees stands for what all of them must: there is nothing beside them.
    fn over_servers(stripe: &str, count: usize, options: &[&str]) -> Option<Self> {
        let servers = DataServers::start(4, stripe)?;
        let agents = [Agent::over_servers(&servers), Agent::over_servers(&servers)];
        let client = |number| client(&agents, number, Through::Tcp, options);
        let mounts: Vec<Mount> = (0..count).map(client).collect();
        let ground = Ground::over(mounts.first()?.path());
        Some(Self { mounts, _agents: agents.into(), _servers: Some(servers), ground })
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
        Through::Embedded | Through::Tcp | Through::AgentEach | Through::Servers(_) => {
            agent.over_tcp()
        }
    };
    Mount::remote(agent, &source, options)
}
