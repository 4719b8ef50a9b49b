//! A mount for a test: started from the built program, waited for with a bound, and gone when the
//! test ends, however it ends. Teardown has a fixed order: unmount, server, files.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A directory of its own, mounted.
pub(crate) struct Mount {
    server: Child,
    backing: PathBuf,
    point: PathBuf,
    /// A directory beside the mounted one, on the same file system.
    plain: PathBuf,
    log: PathBuf,
    /// Removed last, because fields are dropped in this order after `drop`.
    _room: TempDir,
}

impl Mount {
    /// Mounts an empty directory, or says why the test is skipped.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        if let Some(why) = cannot_mount() {
            println!("skipped: {why}");
            return None;
        }
        let room = tempfile::tempdir().expect("a temporary directory can be made");
        let [backing, point, plain] = ["backing", "mount", "plain"].map(|name| {
            let path = room.path().join(name);
            fs::create_dir(&path).expect("a directory can be made in a new one");
            path
        });
        Some(Self::at(options, backing, point, plain, room))
    }

    /// Another mount of what this one mounts: another client.
    pub(crate) fn another(&self, options: &[&str]) -> Self {
        let room = tempfile::tempdir().expect("a temporary directory can be made");
        let point = room.path().join("mount");
        fs::create_dir(&point).expect("a directory can be made in a new one");
        Self::at(options, self.backing.clone(), point, self.plain.clone(), room)
    }

    fn at(
        options: &[&str],
        backing: PathBuf,
        point: PathBuf,
        plain: PathBuf,
        room: TempDir,
    ) -> Self {
        let log = room.path().join("log");
        let server = serve(options, &backing, &point, &log);
        let mut mount = Self { server, backing, point, plain, log, _room: room };
        mount.wait_until_usable();
        mount
    }

    /// The process that serves it.
    pub(crate) fn server(&mut self) -> &mut Child {
        &mut self.server
    }

    /// Where the mount is.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }

    /// What is mounted.
    pub(crate) fn backing(&self) -> &Path {
        &self.backing
    }

    /// Another directory on the same file system, to compare with.
    pub(crate) fn plain(&self) -> &Path {
        &self.plain
    }

    fn wait_until_usable(&mut self) {
        let parent = device(&self.backing).expect("the directory was just made");
        let end = Instant::now() + PATIENCE;
        while device(&self.point) == Some(parent) || device(&self.point).is_none() {
            if let Ok(Some(status)) = self.server.try_wait() {
                panic!("the server ended with {status} instead of mounting\n{}", self.last_lines());
            }
            assert!(Instant::now() < end, "not mounted in {PATIENCE:?}\n{}", self.last_lines());
            std::thread::sleep(POLL);
        }
    }

    fn last_lines(&self) -> String {
        let mut text = String::new();
        // A log that cannot be read leaves the message without it.
        let _ = File::open(&self.log).and_then(|mut log| log.read_to_string(&mut text));
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// Waits until the server has ended by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.server.try_wait().expect("the server is our child") {
                return status;
            }
            assert!(Instant::now() < end, "the server runs on\n{}", self.last_lines());
            std::thread::sleep(POLL);
        }
    }

    fn unmount(&mut self) -> Result<ExitStatus, String> {
        // A test may have done so, or ended the server, already.
        if let Ok(Some(status)) = self.server.try_wait() {
            self.take_away();
            return Ok(status);
        }
        let unmounted = Command::new(program()).arg("unmount").arg(&self.point).output();
        match unmounted {
            Ok(output) if output.status.success() => {}
            other => return Err(format!("unmount: {other:?}")),
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.server.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < end => std::thread::sleep(POLL),
                other => return Err(format!("the server runs on after unmounting: {other:?}")),
            }
        }
    }

    fn take_away(&mut self) {
        let mut detach = Command::new("umount");
        // Each of these may have nothing left to do.
        let _ = detach.arg("-l").arg(&self.point).stderr(Stdio::null()).status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the last lines of the server:\n{}", self.last_lines());
            self.take_away();
            return;
        }
        let unmounted = self.unmount();
        if !unmounted.as_ref().is_ok_and(|status| status.success() || was_killed(*status)) {
            self.take_away();
            panic!("unmounting should end well: {unmounted:?}\n{}", self.last_lines());
        }
    }
}

/// A test may kill a server on purpose; it never dies so by itself.
fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(nix::libc::SIGKILL)
}

fn serve(options: &[&str], backing: &Path, point: &Path, log: &Path) -> Child {
    let out = File::create(log).expect("a file can be made in a new directory");
    let copy = out.try_clone().expect("a descriptor can be duplicated");
    let mut command = Command::new(program());
    command.args(["mount", "--foreground"]).args(options).arg(backing).arg(point);
    command.stdin(Stdio::null()).stdout(out).stderr(copy);
    command.spawn().expect("the program was built with this test")
}

/// The program built with this test, or another one to be judged by it.
pub(crate) fn program() -> PathBuf {
    let other = std::env::var_os("IOFWD_PROGRAM").map(PathBuf::from);
    other.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_iofwd")))
}

fn cannot_mount() -> Option<&'static str> {
    if !Path::new("/dev/fuse").exists() {
        Some("there is no /dev/fuse here")
    } else if !nix::unistd::geteuid().is_root() {
        Some("only root may mount and act as others")
    } else {
        None
    }
}

fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.dev())
}

/// How long mounting and unmounting may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
const LINES: usize = 40;
