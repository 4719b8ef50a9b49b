//! A mount for a test. Teardown has a fixed order: unmount, server, files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use tempfile::TempDir;

use super::ground::{self, Ground};
use super::network::Network;
use super::server::{Server, was_killed};
use super::{Agent, can_mount, program};

/// A directory, mounted.
pub(crate) struct Mount {
    server: Server,
    point: PathBuf,
    ground: Ground,
    is_forgotten: bool,
    _room: TempDir,
}

impl Mount {
    /// Mounts an empty directory, or says why the test is skipped.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        can_mount().then(|| Self::embedded(Ground::new(), options))
    }

    /// Another mount of what this one mounts: another client.
    pub(crate) fn another(&self, options: &[&str]) -> Self {
        Self::embedded(self.ground.clone(), options)
    }

    /// Mounts a directory that is there.
    pub(crate) fn over(backing: &Path, options: &[&str]) -> Self {
        Self::embedded(Ground::over(backing), options)
    }

    /// A client of an agent.
    pub(crate) fn remote(agent: &Agent, source: &str, options: &[&str]) -> Self {
        let command = Command::new(program());
        Self::by(command, OsStr::new(source), agent.ground().clone(), options)
    }

    /// A client of an agent across a network.
    pub(crate) fn across(network: &Network, client: usize, agent: &Agent) -> Self {
        Self::across_by(network, client, agent, &agent.across(client), &[])
    }

    /// A client of one of several agents across a network.
    pub(crate) fn across_by(
        network: &Network,
        client: usize,
        agent: &Agent,
        source: &str,
        options: &[&str],
    ) -> Self {
        let key = format!("--key-file={}", agent.key().display());
        let command = network.client(client).command();
        let options = [&[&*key][..], options].concat();
        Self::by(command, OsStr::new(source), agent.ground().clone(), &options)
    }

    fn embedded(ground: Ground, options: &[&str]) -> Self {
        let source = ground.backing().to_owned();
        Self::by(Command::new(program()), source.as_os_str(), ground, options)
    }

    /// Mounts by a command that the words of the program are added to.
    fn by(mut command: Command, source: &OsStr, ground: Ground, options: &[&str]) -> Self {
        let room = ground::room();
        let point = ground::directory(&room, "mount");
        let before = device(&point);
        command.args(["mount", "--foreground"]).args(options).arg(source).arg(&point);
        let server = Server::start(&mut command, room.path().join("log"));
        let mut mount = Self { server, point, ground, is_forgotten: false, _room: room };
        let point = &mount.point;
        mount.server.wait_until("mounted", |server| {
            device(point).is_some() && device(point) != before && server.said().contains("mounted")
        });
        mount
    }

    /// The process that serves it.
    pub(crate) fn server(&mut self) -> &mut Child {
        self.server.child()
    }

    /// It ended with an error, as it should: nothing is left to be checked.
    pub(crate) fn forget(mut self) {
        self.take_away();
        self.is_forgotten = true;
    }

    /// What the process that serves it has said.
    pub(crate) fn said(&self) -> String {
        self.server.said()
    }

    /// Where the mount is.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }

    /// What is mounted.
    pub(crate) fn backing(&self) -> &Path {
        self.ground.backing()
    }

    /// Another directory on the same file system, to compare with.
    pub(crate) fn plain(&self) -> &Path {
        self.ground.plain()
    }

    pub(super) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Waits until the server has ended by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let ended = self.server.ended();
        ended.unwrap_or_else(|why| panic!("the server: {why}\n{}", self.server.last_lines()))
    }

    fn unmount(&mut self) -> Result<ExitStatus, String> {
        // A test may have done so, or ended the server, already.
        if let Some(status) = self.server.has_ended() {
            self.take_away();
            return Ok(status);
        }
        let unmounted = Command::new(program()).arg("unmount").arg(&self.point).output();
        match unmounted {
            Ok(output) if output.status.success() => self.server.ended(),
            other => Err(format!("unmount: {other:?}")),
        }
    }

    fn take_away(&mut self) {
        let mut detach = Command::new("umount");
        // Each of these may have nothing left to do.
        let _ = detach.arg("-l").arg(&self.point).stderr(Stdio::null()).status();
        self.server.kill();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.is_forgotten {
            return;
        }
        if std::thread::panicking() {
            println!("the last lines of the server:\n{}", self.server.last_lines());
            self.take_away();
            return;
        }
        let unmounted = self.unmount();
        if !unmounted.as_ref().is_ok_and(|status| status.success() || was_killed(*status)) {
            self.take_away();
            panic!("unmounting should end well: {unmounted:?}\n{}", self.server.last_lines());
        }
    }
}

fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.dev())
}
