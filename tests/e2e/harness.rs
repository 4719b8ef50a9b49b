//! What the tests start: mounts and agents of the built program, each waited for with a bound and
//! gone when the test ends, however it ends.

mod agent;
mod clients;
mod data;
mod disk;
mod ground;
mod locking;
mod mount;
mod network;
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use agent::Agent;
pub(crate) use clients::{Clients, Through};
pub(crate) use data::DataServers;
pub(crate) use disk::Disk;
pub(crate) use ground::Ground;
pub(crate) use locking::{lock, lock_range};
pub(crate) use mount::Mount;
pub(crate) use network::Network;

/// The program built with this test, or another one to be judged by it.
pub(crate) fn program() -> PathBuf {
    let other = std::env::var_os("IOFWD_PROGRAM").map(PathBuf::from);
    other.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_iofwd")))
}

/// Waits for something to become true, but not for ever.
pub(crate) fn eventually(what: &str, holds: impl FnMut() -> bool) {
    within(Duration::from_secs(20), what, holds);
}

/// Waits for something to become true, for so long.
pub(crate) fn within(bound: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + bound;
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a test that mounts can run here; it says so if not.
pub(crate) fn can_mount() -> bool {
    let why = if !Path::new("/dev/fuse").exists() {
        "there is no /dev/fuse here"
    } else if !nix::unistd::geteuid().is_root() {
        "only root may mount and act as others"
    } else {
        return true;
    };
    println!("skipped: {why}");
    false
}
