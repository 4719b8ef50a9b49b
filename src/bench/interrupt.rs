//! Ctrl-C and friends: remembered, so that whoever leads the run ends it in order.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on the signals that mean "end" are only remembered.
pub(super) fn watch() -> Result<(), String> {
    handle(SigHandler::Handler(remember)).map_err(|error| format!("cannot catch signals: {error}"))
}

/// In a process of the run: who leads it decides when it ends.
pub(super) fn ignore() {
    // At worst the process ends before it is told to, which is noticed.
    let _ = handle(SigHandler::SigIgn);
}

/// Whether there was such a signal.
pub(super) fn came() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

fn handle(handler: SigHandler) -> nix::Result<()> {
    // Without SA_RESTART, so that a wait ends at once.
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler does nothing but store to an atomic.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}
