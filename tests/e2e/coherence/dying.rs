//! A client that is killed: its locks are free for the others soon after.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc;

use crate::e2e::harness::{Clients, Through, eventually};

#[test]
fn locks_of_a_killed_mount_are_free_for_another() {
    check(Through::Embedded);
}

#[test]
fn locks_of_a_killed_client_are_free_for_another() {
    check(Through::Tcp);
    check(Through::Unix);
    check(Through::AgentEach);
}

fn check(through: Through) {
    let Some(mut clients) = Clients::start(through, 2, &[]) else { return };
    let [one, two] = &mut clients.mounts[..] else { panic!("there are two") };
    let open = |path: &Path, name: &str| {
        File::options().read(true).write(true).create(true).truncate(false).open(path.join(name))
    };
    let [ours, theirs] = [one.path(), two.path()]
        .map(|path| ["whole", "range", "waited-for"].map(|name| open(path, name).unwrap()));
    flock(&ours[0]).unwrap();
    range_lock(&ours[1]).unwrap();
    flock(&ours[2]).unwrap();
    assert_eq!(flock(&theirs[0]), Err(Errno::EWOULDBLOCK));
    assert_eq!(range_lock(&theirs[1]), Err(Errno::EAGAIN));
    let waiting = Command::new("flock")
        .arg(two.path().join("waited-for"))
        .args(["echo", "granted"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("flock of util-linux");
    one.server().kill().unwrap();
    one.ended();
    eventually("the flock is free", || flock(&theirs[0]).is_ok());
    eventually("the fcntl lock is free", || range_lock(&theirs[1]).is_ok());
    assert_eq!(waiting.wait_with_output().unwrap().stdout, b"granted\n");
}

fn flock(file: &File) -> nix::Result<i32> {
    // SAFETY: no memory is involved.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })
}

/// A lock of this process, as most programs take them. Each mount is another machine to it.
fn range_lock(file: &File) -> nix::Result<i32> {
    let lock = libc::flock {
        l_type: libc::F_WRLCK as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: 10,
        l_len: 10,
        l_pid: 0,
    };
    // SAFETY: the structure outlives the call.
    Errno::result(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) })
}
