//! Files striped over data servers: what several agents see of them, what a server that dies leaves, and
//! what is checked and repaired.

mod checking;
mod crashing;
mod ordering;
mod striping;

use std::path::Path;
use std::process::{Command, Output};

use super::harness::{Agent, DataServers, Mount, program};

/// Four servers, an agent over them, a client of it.
struct Small {
    mount: Mount,
    agent: Agent,
    servers: DataServers,
}

impl Small {
    fn start(stripe: &str) -> Option<Self> {
        let servers = DataServers::start(4, stripe)?;
        let agent = Agent::over_servers(&servers);
        let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
        Some(Self { mount, agent, servers })
    }

    /// Where a name is on the mount.
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.mount.path().join(name)
    }

    /// Ends the mount and the agent, so that nobody uses the servers any more.
    fn leave(self) -> DataServers {
        drop(self.mount);
        drop(self.agent);
        self.servers
    }
}

fn check(servers: &DataServers, more: &[&str]) -> Output {
    let list = servers.addresses().join(",");
    Command::new(program()).arg("check").arg(list).args(more).output().expect("the program runs")
}

fn said(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr];
    streams.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Bytes that tell where they belong.
fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| (at / 512 * 7 + at) as u8 ^ seed).collect()
}

fn objects_of(servers: &DataServers, number: usize) -> Vec<std::path::PathBuf> {
    let folders = files(&servers.directory(number).join("objects"));
    folders.iter().flat_map(|folder| files(folder)).collect()
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| entry.path()).collect()
}
