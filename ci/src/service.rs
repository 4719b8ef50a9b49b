//! A process that runs while others do their work: the server of a mount, an agent, what another
//! file system needs. Waited for with a bound; ended by force when nobody ended it in order.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::guardian;
use crate::site::Site;
use crate::step::{self, Step};

/// A running process.
pub(crate) struct Service<'a> {
    site: &'a Site,
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl<'a> Service<'a> {
    pub(crate) fn start(site: &'a Site, name: &'static str, step: Step) -> Result<Self, String> {
        let (child, log) = step.spawn(site)?;
        Ok(Self { site, name, child, log })
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// All that it said.
    pub(crate) fn said(&self) -> String {
        step::read_lossily(&self.log)
    }

    /// Waits until it does its work.
    pub(crate) fn wait_until(&mut self, works: impl Fn(&Self) -> bool) -> Result<(), String> {
        let end = Instant::now() + START;
        while !works(self) {
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > end {
                let how = ended.map_or("does not work yet".into(), |status| status.to_string());
                return Err(self.complaint(&how));
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Asks it to end, and sees it end well.
    pub(crate) fn stop(self) -> Result<(), String> {
        let process = self.process().to_string();
        let asked = Command::new("kill").args(["-TERM", &process]).status();
        asked.map_err(|e| format!("cannot run kill: {e}"))?;
        self.ended()
    }

    /// Sees it end well by itself.
    pub(crate) fn ended(mut self) -> Result<(), String> {
        match step::wait(&mut self.child, END) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.complaint(&format!("ended with {status}"))),
            None => Err(self.complaint(&format!("ran on for {END:?}"))),
        }
    }

    /// What it said, once it has ended well by itself.
    pub(crate) fn result(self) -> Result<String, String> {
        let log = self.log.clone();
        self.ended().map(|()| step::read_lossily(&log))
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        guardian::kill(self.child.id());
        let _ = self.child.wait();
    }

    fn complaint(&self, how: &str) -> String {
        format!("{}: {how}\n{}", self.name, step::last_lines(&self.said()))
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        // Once it has been waited for, its number may be somebody else's.
        if let Ok(None) = self.child.try_wait() {
            self.kill();
        }
        self.site.guardian.release(self.child.id());
    }
}

/// A script whose processes all end with it, and whose mounts nobody else sees: for services that
/// go to the background and write where they please.
pub(crate) fn contained(script: &str) -> Step {
    let apart = ["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"];
    let script = format!("{LET_GO}\n{script}");
    Step::new("unshare").args(apart).args(["sh", "-ec", &script, "sh"])
}

/// A mount lives on in every copy of the tree of mounts, and its server with it.
const LET_GO: &str =
    "sed -n 's/^[^ ]* \\([^ ]*\\) fuse.*/\\1/p' /proc/mounts | xargs -r umount -l || true";

/// A port of the loopback that nobody had a moment ago.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|e| format!("no free port: {e}"))
}

/// How long a service may take to become usable, and to end when asked to.
const START: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(5);
