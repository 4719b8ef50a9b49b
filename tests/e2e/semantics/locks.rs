//! Locks: real ones at the backing, waited for, interrupted, released.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::libc;

use crate::e2e::harness::{Mount, eventually};

fn open(path: &std::path::Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// A lock that belongs to the open file, so that one test process can play two.
fn range_lock(fd: RawFd, kind: i32) -> nix::Result<i32> {
    let lock = libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: 10,
        l_len: 10,
        l_pid: 0,
    };
    // SAFETY: the structure outlives the call.
    Errno::result(unsafe { libc::fcntl(fd, libc::F_OFD_SETLK, &lock) })
}

fn whole_lock(fd: RawFd, operation: i32) -> nix::Result<i32> {
    // SAFETY: no memory is involved.
    Errno::result(unsafe { libc::flock(fd, operation | libc::LOCK_NB) })
}

#[test]
fn locks_are_seen_beside_the_mount() {
    for options in [&[][..], &["--cache=exclusive"]] {
        let Some(mount) = Mount::start(options) else { return };
        let inside = open(&mount.path().join("f"));
        let outside = open(&mount.backing().join("f"));
        let (inside, outside) = (inside.as_raw_fd(), outside.as_raw_fd());
        whole_lock(inside, libc::LOCK_EX).unwrap();
        assert_eq!(whole_lock(outside, libc::LOCK_SH), Err(Errno::EWOULDBLOCK));
        range_lock(outside, libc::F_WRLCK).expect("flock and fcntl do not see each other");
        assert_eq!(range_lock(inside, libc::F_RDLCK), Err(Errno::EAGAIN));
        range_lock(outside, libc::F_UNLCK).unwrap();
        range_lock(inside, libc::F_RDLCK).unwrap();
        assert_eq!(range_lock(outside, libc::F_WRLCK), Err(Errno::EAGAIN));
        whole_lock(inside, libc::LOCK_UN).unwrap();
        whole_lock(outside, libc::LOCK_EX).unwrap();
    }
}

/// A process that waits for a lock and prints a word when it has it.
fn waiter(path: &std::path::Path) -> Child {
    Command::new("flock")
        .arg(path)
        .args(["echo", "granted"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("flock of util-linux")
}

/// Whether the process sleeps in the kernel, waiting for an answer of the mount.
fn waits(child: &Child) -> bool {
    std::fs::read_to_string(format!("/proc/{}/wchan", child.id()))
        .is_ok_and(|place| place.contains("fuse") || place.contains("request"))
}

#[test]
fn waiting_for_a_lock_can_be_interrupted() {
    let Some(mount) = Mount::start(&[]) else { return };
    let path = mount.path().join("f");
    let held = open(&path);
    whole_lock(held.as_raw_fd(), libc::LOCK_EX).unwrap();
    let mut killed = waiter(&path);
    eventually("it waits", || waits(&killed));
    killed.kill().unwrap();
    eventually("it is gone", || killed.try_wait().unwrap().is_some());
    // And one that is patient gets it when it is released.
    let patient = waiter(&path);
    eventually("it waits", || waits(&patient));
    whole_lock(held.as_raw_fd(), libc::LOCK_UN).unwrap();
    assert_eq!(patient.wait_with_output().unwrap().stdout, b"granted\n");
}

#[test]
fn locks_of_a_process_that_dies_are_released() {
    let Some(mount) = Mount::start(&[]) else { return };
    let path = mount.path().join("f");
    let mut holder = Command::new("flock").arg(&path).args(["sleep", "1000"]).spawn().unwrap();
    let file = open(&path);
    // The command runs once the lock is taken, and shares it: it inherits the descriptor.
    let children = format!("/proc/{0}/task/{0}/children", holder.id());
    eventually("the command runs", || {
        std::fs::read_to_string(&children).is_ok_and(|list| !list.trim().is_empty())
    });
    assert_eq!(whole_lock(file.as_raw_fd(), libc::LOCK_EX), Err(Errno::EWOULDBLOCK));
    let child: i32 = std::fs::read_to_string(&children).unwrap().trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), nix::sys::signal::SIGKILL).unwrap();
    let _ = holder.kill();
    let _ = holder.wait();
    eventually("it is free", || whole_lock(file.as_raw_fd(), libc::LOCK_EX).is_ok());
}
