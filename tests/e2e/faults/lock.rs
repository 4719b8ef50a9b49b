//! Locks that several take: `fcntl`, `flock`, and names made exclusively. Whoever has one is alone.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;

use super::worker::Task;

pub(super) fn work(mut task: Task) {
    let open = |name: &str| {
        let path = task.place.join(name);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        file.expect("it can be opened")
    };
    let (ranges, whole) = (open("ranges"), open("whole"));
    let mut done = 0;
    while task.goes_on(done) {
        done += 1;
        match task.dice.below(3) {
            0 => {
                let start = task.dice.below(2) as i64 * 10;
                range(&ranges, libc::F_WRLCK, start);
                alone(&task, &format!("range-{start}"));
                range(&ranges, libc::F_UNLCK, start);
            }
            1 => {
                flock(&whole, libc::LOCK_EX);
                alone(&task, "whole");
                flock(&whole, libc::LOCK_UN);
            }
            _ => exclusive_name(&task),
        }
    }
}

/// Nobody else is here: whoever is leaves a name outside the mount.
fn alone(task: &Task, what: &str) {
    let witness = task.plain.join(format!("held-{what}"));
    let taken = File::create_new(&witness);
    taken.unwrap_or_else(|e| panic!("{what} is held twice: {e}"));
    std::thread::sleep(Duration::from_millis(1));
    fs::remove_file(&witness).expect("it is ours");
}

fn exclusive_name(task: &Task) {
    let name = task.place.join("exclusive");
    match File::create_new(&name) {
        Ok(_) => {
            alone(task, "exclusive");
            remove(&name);
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => panic!("create exclusive: {error}"),
    }
}

fn remove(name: &Path) {
    fs::remove_file(name).unwrap_or_else(|e| panic!("remove what is ours: {e}"));
}

fn range(file: &File, kind: i32, start: i64) {
    let lock = libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: start,
        l_len: 10,
        l_pid: 0,
    };
    // SAFETY: the structure outlives the call.
    let locked = Errno::result(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &lock) });
    locked.unwrap_or_else(|e| panic!("fcntl {kind}: {e}"));
}

fn flock(file: &File, operation: i32) {
    // SAFETY: no memory is involved.
    let locked = Errno::result(unsafe { libc::flock(file.as_raw_fd(), operation) });
    locked.unwrap_or_else(|e| panic!("flock {operation}: {e}"));
}
