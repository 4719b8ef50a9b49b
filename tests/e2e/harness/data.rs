//! Data servers for a test, each with a directory and a port of its own, and agents over them.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::agent::free_port;
use super::ground;
use super::server::{Server, was_killed};
use super::{can_mount, program};

/// Running data servers of one file system.
pub(crate) struct DataServers {
    servers: Vec<DataServer>,
    /// Bytes of a file on one of them before the next one follows.
    stripe: String,
    _room: TempDir,
}

struct DataServer {
    process: Option<Server>,
    port: u16,
    directory: PathBuf,
    log: PathBuf,
    options: Vec<String>,
}

impl DataServers {
    /// So many servers, or says why the test is skipped.
    pub(crate) fn start(count: usize, stripe: &str) -> Option<Self> {
        Self::with(count, stripe, &[])
    }

    /// The same, each with these options.
    pub(crate) fn with(count: usize, stripe: &str, options: &[&str]) -> Option<Self> {
        if !can_mount() {
            return None;
        }
        let room = ground::room();
        let servers = (0..count).map(|number| {
            let [directory, log] =
                ["directory", "log"].map(|name| room.path().join(format!("{name}-{number}")));
            let (port, options) = (free_port(), options.iter().map(ToString::to_string).collect());
            let mut server = DataServer { process: None, port, directory, log, options };
            server.start();
            server
        });
        let servers = servers.collect();
        Some(Self { servers, stripe: stripe.into(), _room: room })
    }

    /// What an agent's settings say about an export over them.
    pub(crate) fn export(&self) -> String {
        let servers: Vec<_> =
            self.servers.iter().map(|server| format!("\"127.0.0.1:{}\"", server.port)).collect();
        format!(
            "backend = \"servers\"\nservers = [{}]\nstripe_size = \"{}\"\nsquash = \"none\"\n",
            servers.join(", "),
            self.stripe
        )
    }

    /// `HOST:PORT` of each.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect()
    }

    /// Where one of them keeps what it has.
    pub(crate) fn directory(&self, number: usize) -> &Path {
        &self.servers[number].directory
    }

    /// Kill one, as a crash would.
    pub(crate) fn kill(&mut self, number: usize) {
        if let Some(mut process) = self.servers[number].process.take() {
            process.kill();
        }
    }

    /// Start one again.
    pub(crate) fn restart(&mut self, number: usize) {
        self.servers[number].start();
    }

    /// How many objects there are on all of them.
    pub(crate) fn objects(&self) -> usize {
        self.servers.iter().map(|server| files_below(&server.directory.join("objects"))).sum()
    }
}

impl DataServer {
    fn start(&mut self) {
        let mut command = Command::new(program());
        command.args(["server", "--dir"]).arg(&self.directory);
        command.arg(format!("--listen=127.0.0.1:{}", self.port)).args(&self.options);
        let mut process = Server::start(&mut command, self.log.clone());
        process.wait_until("ready", |server| server.said().contains("ready"));
        self.process = Some(process);
    }

    fn stop(&mut self) -> Result<(), String> {
        let Some(process) = &mut self.process else { return Ok(()) };
        if process.has_ended().is_none() {
            let id = Pid::from_raw(process.child().id() as i32);
            kill(id, Signal::SIGTERM).map_err(|errno| format!("kill: {errno}"))?;
        }
        let status = process.ended()?;
        if status.success() || was_killed(status) { Ok(()) } else { Err(status.to_string()) }
    }
}

impl Drop for DataServer {
    fn drop(&mut self) {
        let said = || std::fs::read_to_string(&self.log).unwrap_or_default();
        if std::thread::panicking() {
            println!("a data server said:\n{}", said());
        } else if let Err(why) = self.stop() {
            let said = std::fs::read_to_string(&self.log).unwrap_or_default();
            self.process.iter_mut().for_each(Server::kill);
            panic!("a data server should end well: {why}\n{said}");
        }
        self.process.iter_mut().for_each(Server::kill);
    }
}

fn files_below(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { 1 }).sum()
}
