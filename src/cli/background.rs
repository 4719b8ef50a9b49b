//! Going to the background: the caller's process ends only when the mount is usable, or has failed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use nix::unistd::{ForkResult, fork, pipe, setsid};

use super::{Failure, say_error};

/// The child's end: tells the process that was started how things went.
#[derive(Debug)]
pub(super) struct Parent(Option<File>);

/// Which of the two this process is now.
pub(super) enum Side {
    /// The one that goes on in the background.
    Child(Parent),
    /// The one that was started: it is to end with this code.
    Parent(ExitCode),
}

impl Parent {
    /// Nobody waits: the mount stays in the foreground.
    pub(super) fn none() -> Parent {
        Parent(None)
    }

    /// The mount is usable.
    pub(super) fn succeed(&mut self) {
        self.tell("");
    }

    /// The mount failed. Returns the failure for the process that stays in the foreground.
    pub(super) fn fail(&mut self, failure: Failure) -> Failure {
        self.tell(&failure);
        failure
    }

    fn tell(&mut self, message: &str) {
        if let Some(mut pipe) = self.0.take() {
            // One byte first: an end without it means that the child died.
            let _ = pipe.write_all(&[u8::from(!message.is_empty())]);
            let _ = pipe.write_all(message.as_bytes());
        }
    }
}

/// Split in two. Must be called before there is a second thread.
pub(super) fn detach() -> Result<Side, Failure> {
    let (reader, writer) = pipe().map_err(|error| format!("no pipe: {error}"))?;
    // SAFETY: there is one thread, so that nothing in the child is left half done.
    match unsafe { fork() }.map_err(|error| format!("cannot go to the background: {error}"))? {
        ForkResult::Parent { .. } => {
            drop(writer);
            Ok(Side::Parent(wait(reader)))
        }
        ForkResult::Child => {
            drop(reader);
            let _ = setsid();
            leave_terminal();
            Ok(Side::Child(Parent(Some(File::from(writer)))))
        }
    }
}

fn wait(reader: OwnedFd) -> ExitCode {
    let mut message = Vec::new();
    let _ = File::from(reader).read_to_end(&mut message);
    match message.split_first() {
        Some((0, _)) => return ExitCode::SUCCESS,
        Some((_, failure)) => say_error(&String::from_utf8_lossy(failure)),
        None => say_error("the mount's process died before the mount was usable"),
    }
    ExitCode::FAILURE
}

/// Hold on to nothing of the terminal, nor of a pipe that somebody reads to its end.
fn leave_terminal() {
    let _ = std::env::set_current_dir("/");
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdin(&null);
        let _ = nix::unistd::dup2_stdout(&null);
        let _ = nix::unistd::dup2_stderr(&null);
    }
}
