//! The room mounted with iofwd for one run, unmounted when it is over, however it ends.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::mounts;

use super::Failure;

/// A mount of ours.
#[derive(Debug)]
pub(super) struct Mounted {
    mountpoint: PathBuf,
    is_mounted: bool,
}

impl Mounted {
    /// Mounts the directory with options as `iofwd mount -o` takes them.
    pub(super) fn mount(source: &Path, options: &[String]) -> Result<Mounted, Failure> {
        let name = format!("iofwd-bench-{}-mount", std::process::id());
        let mountpoint = std::env::temp_dir().join(name);
        std::fs::create_dir(&mountpoint).map_err(|error| {
            format!("cannot make {} to mount on: {error}", mountpoint.display())
        })?;
        let mut mounted = Mounted { mountpoint, is_mounted: true };
        let mut command = program()?;
        command.arg("mount");
        if !options.is_empty() {
            command.arg("-o").arg(options.join(","));
        }
        let result = succeed(command.arg(source).arg(&mounted.mountpoint));
        // If it failed half way, something may be there all the same.
        mounted.is_mounted = result.is_ok() || is_mounted(&mounted.mountpoint);
        result.map(|()| mounted)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.mountpoint
    }

    /// Unmounts, and tells if something could not be written.
    pub(super) fn unmount(mut self) -> Result<(), Failure> {
        let result = succeed(program()?.arg("unmount").arg(&self.mountpoint));
        self.is_mounted = result.is_err();
        result
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted {
            let unmount = program().and_then(|mut it| succeed(it.arg("unmount").arg(self.path())));
            if unmount.is_err() {
                // Nobody may be left to answer; then it is taken out of the tree.
                let _ = mounts::detach(&self.mountpoint);
            }
        }
        // Never with its contents: if it is still mounted they are the user's.
        let _ = std::fs::remove_dir(&self.mountpoint);
    }
}

fn is_mounted(mountpoint: &Path) -> bool {
    let resolved = mounts::resolve(mountpoint);
    resolved.is_ok_and(|place| mounts::at(&place).is_ok_and(|mount| mount.is_some()))
}

/// This program, out of reach of the terminal's Ctrl-C: the run decides when a mount ends.
fn program() -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| format!("who am I? {error}"))?;
    let mut command = Command::new(program);
    command.process_group(0).stdin(Stdio::null());
    Ok(command)
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    let output = command.output();
    let output = output
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(told.trim().trim_start_matches("iofwd: ").to_string())
}
