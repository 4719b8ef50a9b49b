//! An agent for a test: its settings in a directory of its own, listening on a free port of the
//! loopback and on a socket, ended by a signal when the test ends, which must go well.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::data::DataServers;
use super::ground::{self, Ground};
use super::network::{Namespace, Network, agent_address, client_address};
use super::server::{Server, was_killed};
use super::{can_mount, program};

/// A running agent that exports one directory.
pub(crate) struct Agent {
    server: Server,
    ground: Ground,
    port: u16,
    socket: PathBuf,
    key: PathBuf,
    /// What it is started by.
    words: Vec<OsString>,
    /// What outlives it; agents that share it share their clients.
    state: PathBuf,
    room: Arc<TempDir>,
    /// At the end of which link of a network it is.
    node: Option<usize>,
    /// Whose state it shares.
    _elder: Option<Arc<TempDir>>,
}

impl Agent {
    /// Exports an empty directory, or says why the test is skipped. Without squashing, so that
    /// root is root, as on the directory that a test compares with.
    pub(crate) fn start(more_settings: &str) -> Option<Self> {
        can_mount().then(|| Self::over(Ground::new(), None, more_settings))
    }

    /// Exports a directory that is there.
    pub(crate) fn over_directory(path: &Path) -> Option<Self> {
        can_mount().then(|| Self::over(Ground::over(path), None, ""))
    }

    /// Exports an empty directory with these lines about the export, and these above them, in which
    /// `ROOM` stands for a directory that is the agent's own.
    pub(crate) fn exporting(lines: &str, export: &str) -> Option<Self> {
        can_mount().then(|| {
            let room = ground::room();
            let lines = lines.replace("ROOM", &room.path().display().to_string());
            Self::by(Ground::new(), room, None, &lines, export)
        })
    }

    /// Exports files striped over data servers. Without windows, which would only make it slow.
    pub(crate) fn over_servers(servers: &DataServers) -> Self {
        let policy = "[scheduler]\npolicy = \"fifo\"";
        Self::by(Ground::new(), ground::room(), None, policy, &servers.export())
    }

    /// Another agent over what this one exports.
    pub(crate) fn another(&self) -> Self {
        Self::over(self.ground.clone(), None, "")
    }

    /// Another agent over what this one exports, that can take over its clients.
    pub(crate) fn successor(&self, limits: &str) -> Self {
        let export = format!("squash = \"none\"\n{limits}");
        let lines = format!("state = {:?}", self.state);
        let mut agent = Self::by(self.ground.clone(), ground::room(), None, &lines, &export);
        agent.state.clone_from(&self.state);
        agent._elder = Some(Arc::clone(&self.room));
        agent
    }

    /// Tells it to end, and waits until it has, well.
    pub(crate) fn end(&mut self) {
        if let Err(why) = self.stop() {
            panic!("the agent should end well: {why}\n{}", self.server.last_lines());
        }
    }

    /// Ends it by force.
    pub(crate) fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts it again, as it was started.
    pub(crate) fn start_again(&mut self) {
        self.begin_again();
        self.wait_until_ready();
    }

    /// Starts it again, and does not wait for it.
    pub(crate) fn begin_again(&mut self) {
        self.server.kill();
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        self.server.start_again(&mut command);
    }

    /// Waits until clients can come.
    pub(crate) fn wait_until_ready(&mut self) {
        self.server.wait_until("ready", |server| server.said().contains("ready"));
    }

    /// Exports an empty directory to all clients of a network.
    pub(crate) fn in_network(network: &Network, more_settings: &str) -> Self {
        Self::over(Ground::new(), Some((network.agent(), PORT)), more_settings)
    }

    /// At the end of a link of a network: over data servers, or over a directory.
    pub(crate) fn at_node(
        network: &Network,
        node: usize,
        servers: Option<&DataServers>,
        more_settings: &str,
    ) -> Self {
        let place = Some((network.client(node), PORT));
        let (lines, export) = at_node(servers, more_settings);
        let mut agent = Self::by(Ground::new(), ground::room(), place, &lines, &export);
        agent.node = Some(node);
        agent
    }

    /// Another one, at the end of another link, that can take over this one's clients.
    pub(crate) fn successor_at_node(
        &self,
        network: &Network,
        node: usize,
        servers: Option<&DataServers>,
        more_settings: &str,
    ) -> Self {
        let place = Some((network.client(node), PORT));
        let (lines, export) = at_node(servers, more_settings);
        let lines = format!("state = {:?}\n{lines}", self.state);
        let mut agent = Self::by(self.ground.clone(), ground::room(), place, &lines, &export);
        agent.node = Some(node);
        agent.state.clone_from(&self.state);
        agent._elder = Some(Arc::clone(&self.room));
        agent
    }

    fn over(ground: Ground, place: Option<(&Namespace, u16)>, more_settings: &str) -> Self {
        let export = format!("squash = \"none\"\n{more_settings}");
        Self::by(ground, ground::room(), place, "", &export)
    }

    fn by(
        ground: Ground,
        room: TempDir,
        place: Option<(&Namespace, u16)>,
        lines: &str,
        export: &str,
    ) -> Self {
        let [socket, key, file] = ["socket", "key", "agent.toml"].map(|n| room.path().join(n));
        let port = place.map_or_else(free_port, |(_, port)| port);
        let tcp = match place {
            None => format!("listen = [\"127.0.0.1:{port}\", {}]", unix(&socket)),
            Some(_) => {
                write_secret(&key, &"0123456789abcdef".repeat(4));
                let listen = format!("listen = [\"0.0.0.0:{port}\", {}]", unix(&socket));
                format!("{listen}\nkey_file = {key:?}")
            }
        };
        let state = room.path().join("state");
        let lines = match lines.contains("state = ") {
            true => lines.to_owned(),
            false => format!("state = {state:?}\n{lines}"),
        };
        let path = match export.contains("backend") {
            true => String::new(),
            false => format!("path = {:?}", ground.backing()),
        };
        let export = format!("name = \"{EXPORT}\"\n{path}\n{export}");
        write_secret(&file, &format!("{tcp}\n{lines}\n[[export]]\n{export}\n"));
        let mut command = place.map_or_else(|| Command::new(program()), |(at, _)| at.command());
        command.args(["agent", "--config"]).arg(file);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words = words.map(OsString::from).collect();
        let mut server = Server::start(&mut command, room.path().join("log"));
        server.wait_until("ready", |server| server.said().contains("ready"));
        let room = Arc::new(room);
        Self { server, ground, port, socket, key, words, state, room, node: None, _elder: None }
    }

    /// What a client mounts, by way of the loopback.
    pub(crate) fn over_tcp(&self) -> String {
        format!("127.0.0.1:{}/{EXPORT}", self.port)
    }

    /// What a client mounts, by way of the socket.
    pub(crate) fn over_unix(&self) -> String {
        format!("unix:{}:{EXPORT}", self.socket.display())
    }

    /// What a client mounts that goes to this agent first, and then to the other.
    pub(crate) fn or(&self, other: &Agent) -> String {
        format!("127.0.0.1:{},127.0.0.1:{}/{EXPORT}", self.port, other.port)
    }

    /// What outlives it.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// A file of its own room.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// Tell it something by a signal.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let process = Pid::from_raw(self.server.child().id() as i32);
        kill(process, signal).expect("it runs");
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        self.server.said()
    }

    /// The socket that it listens at.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// A number of its report.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let place = format!("unix:{}", self.socket.display());
        let output = Command::new(program()).args(["status", "--json", &place]).output();
        let output = output.expect("the program was built with this test");
        let report: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a report is JSON");
        report[name].as_u64().unwrap_or_else(|| panic!("no {name} in {report}"))
    }

    /// What a client of a network mounts.
    pub(super) fn across(&self, client: usize) -> String {
        format!("{}:{}/{EXPORT}", agent_address(client), self.port)
    }

    /// What a client of a network mounts that goes to this agent first, and then to the other.
    pub(crate) fn across_or(&self, other: &Agent) -> String {
        let at = |agent: &Agent| client_address(agent.node.expect("it is at the end of a link"));
        format!("{}:{},{}:{}/{EXPORT}", at(self), self.port, at(other), other.port)
    }

    /// The key that clients of a network must have.
    pub(crate) fn key(&self) -> &Path {
        &self.key
    }

    /// The directory that is exported.
    pub(crate) fn ground(&self) -> &Ground {
        &self.ground
    }

    fn stop(&mut self) -> Result<(), String> {
        if self.server.has_ended().is_none() {
            let process = Pid::from_raw(self.server.child().id() as i32);
            kill(process, Signal::SIGTERM).map_err(|errno| format!("kill: {errno}"))?;
        }
        let status = self.server.ended()?;
        if status.success() || was_killed(status) { Ok(()) } else { Err(status.to_string()) }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the last lines of the agent:\n{}", self.server.last_lines());
            self.server.kill();
            return;
        }
        if let Err(why) = self.stop() {
            self.server.kill();
            panic!("the agent should end well: {why}\n{}", self.server.last_lines());
        }
    }
}

/// Above, and of, the export.
fn at_node(servers: Option<&DataServers>, more_settings: &str) -> (String, String) {
    let export = servers.map_or_else(|| "squash = \"none\"".into(), DataServers::export);
    // Without windows, which would only make it slow.
    ("[scheduler]\npolicy = \"fifo\"".into(), format!("{export}\n{more_settings}"))
}

fn unix(socket: &Path) -> String {
    format!("\"unix:{}\"", socket.display())
}

/// A file that only its owner may read.
pub(super) fn write_secret(path: &Path, text: &str) {
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.expect("a file can be made in a new directory");
}

/// One that nobody had a moment ago.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}

const EXPORT: &str = "data";
/// In a namespace of its own no port is taken.
const PORT: u16 = 7040;
