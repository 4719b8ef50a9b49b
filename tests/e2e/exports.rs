//! What an agent gives to whom: keys, encryption, identities, bounds of an export, and changes while
//! it runs.

mod change;
mod identity;
mod secret;

use std::path::Path;
use std::process::{Command, Output};

use super::harness::program;

/// Runs the program itself.
fn iofwd(arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).output().expect("it was built")
}

/// What a mount that must fail says.
fn refused(arguments: &[&str]) -> String {
    let room = tempfile::tempdir().expect("a directory");
    let point = room.path().display().to_string();
    let output = iofwd(&[&["mount"], arguments, &[&point]].concat());
    assert!(!output.status.success(), "it mounted");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a shell script succeeds as a user, in a directory.
fn shell(uid: u32, script: &str, directory: &Path) -> bool {
    let id = uid.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "sh", "-c", script]);
    command.current_dir(directory).status().expect("setpriv is everywhere").success()
}
