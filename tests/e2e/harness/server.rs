//! A process of the program that runs beside the test, with its log.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Ended by whoever owns it, in the order that its kind demands.
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts it, with its words going to the log.
    pub(super) fn start(command: &mut Command, log: PathBuf) -> Self {
        let out = File::create(&log).expect("a file can be made in a new directory");
        let copy = out.try_clone().expect("a descriptor can be duplicated");
        command.stdin(Stdio::null()).stdout(out).stderr(copy);
        Self { child: command.spawn().expect("the program was built with this test"), log }
    }

    /// Starts it once more, after it has ended; its log begins anew.
    pub(super) fn start_again(&mut self, command: &mut Command) {
        // What it said before may be what a test fails by.
        let _ = fs::copy(&self.log, self.log.with_extension("before"));
        *self = Self::start(command, self.log.clone());
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, if it has.
    pub(super) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is our child")
    }

    /// Waits until it does its work.
    pub(super) fn wait_until(&mut self, what: &str, works: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !works(self) {
            if let Some(status) = self.has_ended() {
                panic!("it ended with {status} before it was {what}\n{}", self.last_lines());
            }
            assert!(Instant::now() < end, "not {what} in {PATIENCE:?}\n{}", self.last_lines());
            std::thread::sleep(POLL);
        }
    }

    /// Waits until it has ended by itself.
    pub(super) fn ended(&mut self) -> Result<ExitStatus, String> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.has_ended() {
                return Ok(status);
            }
            if Instant::now() > end {
                return Err(format!("it runs on after {PATIENCE:?}"));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Ends it by force, if it still runs.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// All that it said.
    pub(super) fn said(&self) -> String {
        // A log that cannot be read leaves a message without it.
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    pub(super) fn last_lines(&self) -> String {
        let said = self.said();
        let lines: Vec<_> = said.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// A test may kill a server on purpose; it never dies so by itself.
pub(super) fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(nix::libc::SIGKILL)
}

/// How long starting and ending may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
const LINES: usize = 40;
