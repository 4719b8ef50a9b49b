//! Data servers for a test, each with a directory and a port of its own, and agents over them.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::agent::{free_port, write_secret};
use super::ground;
use super::network::{Network, client_address};
use super::server::{Server, was_killed};
use super::{can_mount, program};

/// A process that waits for a file to be there, and then becomes the server.
struct Spare {
    process: Server,
    go: PathBuf,
    log: PathBuf,
}

/// Running data servers of one file system.
pub(crate) struct DataServers {
    servers: Vec<DataServer>,
    /// Bytes of a file on one of them before the next one follows.
    stripe: String,
    key: Option<PathBuf>,
    /// At the ends of which links of a network they are.
    nodes: Option<Range<usize>>,
    _room: TempDir,
}

struct DataServer {
    process: Option<Server>,
    /// Processes that become this server when they are told to.
    spare: Vec<Spare>,
    /// Where it is reached.
    address: String,
    directory: PathBuf,
    log: PathBuf,
    /// What it is started by.
    words: Vec<OsString>,
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
            let address = format!("127.0.0.1:{}", free_port());
            let mut command = Command::new(program());
            command.arg("server").arg(format!("--listen={address}")).args(options);
            let directory = room.path().join(format!("directory-{number}"));
            DataServer::start_in(room.path(), (number, directory), address, command)
        });
        let servers = servers.collect();
        Some(Self { servers, stripe: stripe.into(), key: None, nodes: None, _room: room })
    }

    /// One in each of these directories.
    pub(crate) fn at(directories: &[PathBuf], stripe: &str) -> Self {
        let room = ground::room();
        let servers = directories.iter().enumerate().map(|(number, directory)| {
            let address = format!("127.0.0.1:{}", free_port());
            let mut command = Command::new(program());
            command.arg("server").arg(format!("--listen={address}"));
            DataServer::start_in(room.path(), (number, directory.clone()), address, command)
        });
        let servers = servers.collect();
        Self { servers, stripe: stripe.into(), key: None, nodes: None, _room: room }
    }

    /// One at the end of each of these links of a network.
    pub(crate) fn in_network(network: &Network, nodes: Range<usize>, stripe: &str) -> Self {
        let room = ground::room();
        let key = room.path().join("key");
        write_secret(&key, &"fedcba9876543210".repeat(4));
        let servers = nodes.clone().enumerate().map(|(number, node)| {
            let mut command = network.client(node).command();
            command
                .args(["server", "--listen", &format!("0.0.0.0:{PORT}"), "--key-file"])
                .arg(&key);
            let address = format!("{}:{PORT}", client_address(node));
            let directory = room.path().join(format!("directory-{number}"));
            DataServer::start_in(room.path(), (number, directory), address, command)
        });
        let servers = servers.collect();
        Self { servers, stripe: stripe.into(), key: Some(key), nodes: Some(nodes), _room: room }
    }

    /// The link of one of them.
    pub(crate) fn node(&self, number: usize) -> usize {
        self.nodes.clone().expect("they are in a network").start + number
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.servers.len()
    }

    /// The key that agents must have.
    pub(crate) fn key(&self) -> Option<&Path> {
        self.key.as_deref()
    }

    /// Tell one of them something by a signal.
    pub(crate) fn signal(&mut self, number: usize, signal: Signal) {
        let process = self.servers[number].process.as_mut().expect("it runs");
        kill(Pid::from_raw(process.child().id() as i32), signal).expect("it runs");
    }

    /// Tell one of them to end, and wait until it has, well.
    pub(crate) fn end(&mut self, number: usize) {
        let ended = self.servers[number].stop();
        ended.unwrap_or_else(|why| panic!("a data server should end well: {why}"));
        self.servers[number].process = None;
    }

    /// What an agent's settings say about an export over them.
    pub(crate) fn export(&self) -> String {
        let key = self.key.as_ref().map(|key| format!("servers_key_file = {key:?}\n"));
        format!(
            "backend = \"servers\"\nservers = {:?}\nstripe_size = \"{}\"\nsquash = \"none\"\n{}",
            self.addresses(),
            self.stripe,
            key.unwrap_or_default()
        )
    }

    /// `HOST:PORT` of each.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.servers.iter().map(|server| server.address.clone()).collect()
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

    /// Have a process ready that one of them can be started again as. A test that has files open on a
    /// mount cannot start any while the mount waits: a new process closes the files that it inherits.
    pub(crate) fn prepare(&mut self, number: usize) {
        self.servers[number].prepare();
    }

    /// Start one again.
    pub(crate) fn restart(&mut self, number: usize) {
        self.servers[number].start();
    }

    /// How many objects there are on all of them.
    pub(crate) fn objects(&self) -> usize {
        (0..self.len()).map(|number| self.objects_of(number)).sum()
    }

    /// How many objects there are on one of them.
    pub(crate) fn objects_of(&self, number: usize) -> usize {
        files_below(&self.directory(number).join("objects"))
    }
}

impl DataServer {
    /// With its log in that room.
    fn start_in(
        room: &Path,
        (number, directory): (usize, PathBuf),
        address: String,
        command: Command,
    ) -> Self {
        let log = room.join(format!("log-{number}"));
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let words = [words, vec!["--dir".into(), directory.clone().into()]].concat();
        let mut server = Self { process: None, spare: Vec::new(), address, directory, log, words };
        server.start();
        server
    }

    fn start(&mut self) {
        let mut process = match self.spare.pop() {
            Some(Spare { process, go, log }) => {
                std::fs::write(go, b"").expect("a file can be made");
                self.log = log;
                process
            }
            None => {
                let mut command = Command::new(&self.words[0]);
                // What it said before may be what a test fails by.
                let _ = std::fs::copy(&self.log, self.log.with_extension("before"));
                Server::start(command.args(&self.words[1..]), self.log.clone())
            }
        };
        process.wait_until("ready", |server| server.said().contains("ready"));
        self.process = Some(process);
    }

    fn prepare(&mut self) {
        let number = self.spare.len();
        let [go, log] =
            ["go", "log"].map(|name| self.log.with_extension(format!("{name}{number}")));
        let wait = "while [ ! -e \"$0\" ]; do sleep 0.02; done; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", wait]).arg(&go).args(&self.words);
        let process = Server::start(&mut command, log.clone());
        self.spare.push(Spare { process, go, log });
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
        self.spare.iter_mut().for_each(|spare| spare.process.kill());
    }
}

fn files_below(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { 1 }).sum()
}

/// In a namespace of its own no port is taken.
const PORT: u16 = 7041;
