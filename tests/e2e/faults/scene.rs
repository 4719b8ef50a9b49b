//! What faults are inflicted on: two clients, two agents, and a directory or data servers behind them,
//! each at the end of a link of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::e2e::harness::{Agent, DataServers, Mount, Network, within};

/// Everything that can be hit.
pub(super) struct Scene {
    pub(super) mounts: [Mount; 2],
    pub(super) agents: [Agent; 2],
    pub(super) servers: Option<DataServers>,
    pub(super) network: Network,
}

impl Scene {
    /// Over a directory, or over so many data servers; or says why the test is skipped.
    pub(super) fn start(servers: usize) -> Option<Scene> {
        let network = Network::start(FIRST_SERVER + servers)?;
        let nodes = FIRST_SERVER..FIRST_SERVER + servers;
        let servers = (servers > 0).then(|| DataServers::in_network(&network, nodes, "16K"));
        let behind = servers.as_ref();
        let first = Agent::at_node(&network, AGENTS, behind, LIMITS);
        let second = first.successor_at_node(&network, AGENTS + 1, behind, LIMITS);
        let sources = [first.across_or(&second), second.across_or(&first)];
        let mounts = [0, 1].map(|client| {
            let source = &sources[client];
            Mount::across_by(&network, client, &first, source, &["--loss-bound=600"])
        });
        Some(Scene { mounts, agents: [first, second], servers, network })
    }

    /// Not on the mounts: for what is written down.
    pub(super) fn plain(&self) -> &Path {
        self.mounts[0].plain()
    }

    /// The link of an agent.
    pub(super) fn agent_node(which: usize) -> usize {
        AGENTS + which
    }

    /// All of it ends well, and nothing is left.
    pub(super) fn end(self) {
        let Scene { mounts, agents, servers, network } = self;
        let mut states = vec![agents[0].state().to_owned()];
        let behind = servers.iter().flat_map(|all| (0..all.len()).map(|n| all.directory(n)));
        states.extend(behind.map(|directory| directory.join("state")));
        drop(mounts);
        nothing_left(&states[..1]);
        drop(agents);
        nothing_left(&states[1..]);
        let Some(servers) = servers else { return };
        let orphans = servers.directory(0).join("orphans");
        println!("orphans left for later: {}", fs::read_dir(orphans).unwrap().count());
        check(&network, &servers);
    }
}

/// Names, sizes and objects agree.
fn check(network: &Network, servers: &DataServers) {
    let list = servers.addresses().join(",");
    let mut command: Command = network.client(AGENTS).command();
    command.arg("check").arg(list).arg("--key-file").arg(servers.key().expect("there is one"));
    let checked = command.output().expect("the program runs");
    let said = [&checked.stdout, &checked.stderr].map(|said| String::from_utf8_lossy(said));
    assert!(checked.status.success(), "{}", said.concat());
    println!("check: {}", said.concat().trim().replace('\n', "; "));
}

fn nothing_left(states: &[PathBuf]) {
    for state in states {
        for room in ["sessions", "wanted", "locks", "kept"] {
            let room = state.join(room);
            let is_empty = || fs::read_dir(&room).unwrap().count() == 0;
            // What nobody came back for is kept as long as somebody could.
            within(GRACE * 3, &format!("nothing is left in {}", room.display()), is_empty);
        }
    }
}

const LIMITS: &str = "[limits]\nidle = \"3s\"\ngrace = \"30s\"";
/// That grace, which data servers have too.
const GRACE: Duration = Duration::from_secs(30);
/// Clients are at the first two links, then come agents,
const AGENTS: usize = 2;
/// and data servers.
const FIRST_SERVER: usize = 4;
