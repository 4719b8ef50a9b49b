//! An agent for a test: its settings in a directory of its own, listening on a free port of the
//! loopback and on a socket, ended by a signal when the test ends, which must go well.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::ground::{self, Ground};
use super::server::{Server, was_killed};
use super::{can_mount, program};

/// A running agent that exports one directory.
pub(crate) struct Agent {
    server: Server,
    ground: Ground,
    port: u16,
    socket: PathBuf,
    _room: TempDir,
}

impl Agent {
    /// Exports an empty directory, or says why the test is skipped. Without squashing, so that
    /// root is root, as on the directory that a test compares with.
    pub(crate) fn start(more_settings: &str) -> Option<Self> {
        can_mount().then(|| Self::over(Ground::new(), more_settings))
    }

    /// Another agent over what this one exports.
    pub(crate) fn another(&self) -> Self {
        Self::over(self.ground.clone(), "")
    }

    fn over(ground: Ground, more_settings: &str) -> Self {
        let room = ground::room();
        let (port, socket) = (free_port(), room.path().join("socket"));
        let file = room.path().join("agent.toml");
        let listen = format!("listen = [\"127.0.0.1:{port}\", \"unix:{}\"]", socket.display());
        let export = format!(
            "[[export]]\nname = \"{EXPORT}\"\npath = \"{}\"\nsquash = \"none\"",
            ground.backing().display()
        );
        fs::write(&file, format!("{listen}\n{export}\n{more_settings}\n"))
            .expect("a file can be made in a new directory");
        let mut command = Command::new(program());
        command.args(["agent", "--config"]).arg(file);
        let mut server = Server::start(&mut command, room.path().join("log"));
        server.wait_until("ready", |server| server.said().contains("ready"));
        Self { server, ground, port, socket, _room: room }
    }

    /// What a client mounts, by way of the loopback.
    pub(crate) fn over_tcp(&self) -> String {
        format!("127.0.0.1:{}/{EXPORT}", self.port)
    }

    /// What a client mounts, by way of the socket.
    pub(crate) fn over_unix(&self) -> String {
        format!("unix:{}", self.socket.display())
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

/// One that nobody had a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}

const EXPORT: &str = "data";
