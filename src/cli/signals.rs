//! SIGTERM and SIGINT: finish what is under way, make it durable, unmount, end well.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

use crate::mounts;

use super::mount::{Behind, settle};

/// Keep the signals for the thread that waits for them. Before any other thread is started.
pub(super) fn block() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGTERM);
    set.add(Signal::SIGINT);
    set.add(Signal::SIGHUP);
    let _ = set.thread_block();
    set
}

/// Unmount when a signal comes. What is answered tells whether one came.
pub(super) fn watch(
    set: SigSet,
    mountpoint: PathBuf,
    behind: Arc<dyn Behind>,
) -> std::io::Result<Arc<AtomicBool>> {
    let came = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&came);
    thread::Builder::new().name("iofwd-signals".into()).spawn(move || {
        while let Ok(signal) = set.wait() {
            // The terminal is gone; the mount need not be.
            if signal != Signal::SIGHUP {
                tracing::info!(%signal, "unmounting");
                came.store(true, Ordering::SeqCst);
                leave(&mountpoint, &*behind);
            }
        }
    })?;
    Ok(told)
}

fn leave(mountpoint: &std::path::Path, behind: &dyn Behind) {
    match mounts::unmount(mountpoint) {
        // The session ends by itself now, and the process with it.
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            tracing::warn!("in use; detached: those who still use it will get ENOTCONN");
            if let Err(error) = mounts::detach(mountpoint) {
                tracing::error!(%error, "cannot detach the mountpoint");
            }
            let settled = settle(behind);
            behind.leave();
            std::process::exit(match settled {
                Ok(()) => 0,
                Err(failure) => {
                    tracing::error!(failure);
                    1
                }
            });
        }
        Err(error) => tracing::error!(%error, "cannot unmount"),
    }
}
