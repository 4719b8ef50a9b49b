//! The backing fails: the right error at the right call, and the mount goes on when it works again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::libc;
use tempfile::TempDir;

use crate::e2e::harness::{Agent, Disk, Mount, can_mount, eventually};

/// A small file system in memory.
struct Small {
    room: TempDir,
}

impl Small {
    fn new() -> Option<Self> {
        if !can_mount() {
            return None;
        }
        let small = Self { room: tempfile::tempdir().expect("a directory") };
        small.mount(&["-t", "tmpfs", "-o", "size=1m", "small"]);
        Some(small)
    }

    fn mount(&self, words: &[&str]) {
        // A file that was just closed may be open for writing for a moment longer.
        eventually(&format!("{words:?}"), || {
            let output = Command::new("mount").args(words).arg(self.room.path()).output();
            output.expect("there is mount(8)").status.success()
        });
    }

    fn directory(&self) -> PathBuf {
        let path = self.room.path().join("exported");
        fs::create_dir_all(&path).expect("a directory");
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.room.path()).status();
    }
}

fn errno<T>(result: std::io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

fn works(path: &Path) {
    fs::write(path, "good").unwrap();
    assert_eq!(fs::read(path).unwrap(), b"good");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_full_disk_is_told_at_the_write_and_names_can_still_be_removed() {
    let Some(small) = Small::new() else { return };
    let Some(agent) = Agent::over_directory(&small.directory()) else { return };
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let file = mount.path().join("file");
    assert_eq!(errno(fs::write(&file, vec![7; 2 << 20])), Some(libc::ENOSPC));
    fs::remove_file(&file).unwrap();
    works(&file);
}

#[test]
fn a_quota_is_told_at_the_write_and_more_can_be_written_when_it_is_raised() {
    let Some(disk) = Disk::with_quota(4 << 20) else { return };
    let Some(agent) = Agent::over_directory(&disk.directory()) else { return };
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let file = mount.path().join("file");
    assert_eq!(errno(fs::write(&file, vec![7; 8 << 20])), Some(libc::EDQUOT));
    assert!(fs::metadata(&file).unwrap().len() < 8 << 20);
    disk.allow(64 << 20);
    fs::write(&file, vec![8; 8 << 20]).unwrap();
    assert!(fs::read(&file).unwrap() == vec![8; 8 << 20]);
    works(&file);
}

#[test]
fn a_backing_that_becomes_read_only_refuses_changes_until_it_is_writable_again() {
    let Some(small) = Small::new() else { return };
    let Some(agent) = Agent::over_directory(&small.directory()) else { return };
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let file = mount.path().join("file");
    works(&file);
    small.mount(&["-o", "remount,ro"]);
    assert_eq!(errno(fs::write(&file, "x")), Some(libc::EROFS));
    assert_eq!(errno(fs::create_dir(mount.path().join("d"))), Some(libc::EROFS));
    assert_eq!(fs::read_dir(mount.path()).unwrap().count(), 0, "it can be read");
    small.mount(&["-o", "remount,rw"]);
    works(&file);
}

#[test]
fn a_directory_that_is_removed_and_made_anew_is_exported_when_the_agent_is_started_again() {
    let Some(small) = Small::new() else { return };
    let directory = small.directory();
    let Some(mut agent) = Agent::over_directory(&directory) else { return };
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let file = mount.path().join("file");
    works(&file);
    fs::remove_dir_all(&directory).unwrap();
    assert_eq!(errno(fs::write(&file, "x")), Some(libc::ENOENT));
    small.directory();
    agent.start_again();
    works(&file);
}
