//! Nothing is left mounted or running, however the run ends. A second process of ours waits for
//! the end of the first on a pipe, which closes with it even when it is killed; then it ends the
//! processes it was told of, unmounts what lies in the room of this run, and removes the room.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::step;

/// Our end of the pipe.
pub(crate) struct Guardian {
    process: Child,
    pipe: Mutex<ChildStdin>,
}

impl Guardian {
    pub(crate) fn start(room: &Path) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|e| format!("own path: {e}"))?;
        let mut command = Command::new(program);
        // A group of its own, so that an interrupt from the terminal does not end it with us.
        command.arg("guard").arg(room).stdin(Stdio::piped()).process_group(0);
        let mut process = command.spawn().map_err(|e| format!("start the guardian: {e}"))?;
        let pipe = process.stdin.take().expect("the pipe was asked for just above");
        Ok(Self { process, pipe: Mutex::new(pipe) })
    }

    /// This process group is to end with the run.
    pub(crate) fn watch(&self, group: u32) {
        self.tell(&format!("watch {group}"));
    }

    /// This process group has ended; its number may be somebody else's soon.
    pub(crate) fn release(&self, group: u32) {
        self.tell(&format!("release {group}"));
    }

    /// This file outside the room is to be removed with it.
    pub(crate) fn remove(&self, path: &Path) {
        self.tell(&format!("remove {}", path.display()));
    }

    fn tell(&self, line: &str) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a guardian the run still cleans up after each stage.
        let _ = writeln!(pipe, "{line}");
    }

    /// Ends the run: the guardian cleans up, and is waited for.
    pub(crate) fn dismiss(mut self) {
        drop(self.pipe);
        let _ = self.process.wait();
    }
}

/// What the guardian knows.
#[derive(Debug, Default, PartialEq)]
struct Charge {
    groups: BTreeSet<u32>,
    files: Vec<PathBuf>,
}

impl Charge {
    fn hear(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("watch", group)) => self.groups.extend(group.parse::<u32>()),
            Some(("release", group)) => {
                self.groups.retain(|known| known.to_string() != group);
            }
            Some(("remove", path)) => self.files.push(PathBuf::from(path)),
            _ => {}
        }
    }
}

/// The guardian's side: listens until the pipe closes, then cleans up.
pub(crate) fn guard(room: &Path) {
    let mut charge = Charge::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        charge.hear(&line);
    }
    // Servers first: unmounting could wait for one that does not answer.
    for group in &charge.groups {
        kill(*group);
    }
    unmount_all(room);
    for file in &charge.files {
        let _ = fs::remove_file(file);
    }
    let left = mounts_below(room);
    if left.is_empty() {
        let _ = fs::remove_dir_all(room);
    } else {
        eprintln!("ci: still mounted: {left:?}");
    }
}

/// Ends a process group at once.
pub(crate) fn kill(group: u32) {
    let kill = ["-KILL", "--", &format!("-{group}")].map(str::to_owned);
    let _ = Command::new("kill").args(kill).stderr(Stdio::null()).status();
}

/// Takes a mount out of the tree, whatever its state.
pub(crate) fn detach(point: &Path) {
    let unmount = Command::new("umount").arg("-l").arg(point).stderr(Stdio::null()).spawn();
    if let Ok(mut unmount) = unmount {
        step::wait(&mut unmount, UNMOUNTING);
    }
}

fn unmount_all(room: &Path) {
    for point in mounts_below(room).iter().rev() {
        detach(point);
    }
}

/// Where something is mounted below a directory, in the order of mounting.
pub(crate) fn mounts_below(room: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    points(&table).filter(|point| point.starts_with(room)).collect()
}

/// The mountpoints in the kernel's table, in the order of mounting. Our paths need no unescaping.
fn points(table: &str) -> impl Iterator<Item = PathBuf> {
    table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from)
}

const UNMOUNTING: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_released_is_not_killed() {
        let mut charge = Charge::default();
        for line in ["watch 12", "watch 13", "release 12", "remove /sbin/x y", "nonsense"] {
            charge.hear(line);
        }
        let files = vec![PathBuf::from("/sbin/x y")];
        assert_eq!(charge, Charge { groups: BTreeSet::from([13]), files });
    }

    #[test]
    fn mountpoints_are_the_fifth_field() {
        let table = "36 35 98:0 / / rw - ext4 /dev/vda rw\n40 36 0:41 / /r/m rw - fuse.x x rw\n";
        let found: Vec<_> = points(table).collect();
        assert_eq!(found, [PathBuf::from("/"), PathBuf::from("/r/m")]);
    }
}
