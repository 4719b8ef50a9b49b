//! A client that is killed: its locks are free for the others soon after.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;

use crate::e2e::harness::{Clients, Through, eventually, lock, lock_range};

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

#[test]
fn locks_of_a_killed_client_over_data_servers_are_free_for_another() {
    check(Through::Servers("64K"));
}

fn check(through: Through) {
    let Some(mut clients) = Clients::start(through, 2, &[]) else { return };
    let [one, two] = &mut clients.mounts[..] else { panic!("there are two") };
    let open = |path: &Path, name: &str| {
        File::options().read(true).write(true).create(true).truncate(false).open(path.join(name))
    };
    let [ours, theirs] = [one.path(), two.path()]
        .map(|path| ["whole", "range", "waited-for"].map(|name| open(path, name).unwrap()));
    lock(&ours[0]).unwrap();
    lock_range(&ours[1]).unwrap();
    lock(&ours[2]).unwrap();
    assert_eq!(lock(&theirs[0]), Err(Errno::EWOULDBLOCK));
    assert_eq!(lock_range(&theirs[1]), Err(Errno::EAGAIN));
    let waiting = Command::new("flock")
        .arg(two.path().join("waited-for"))
        .args(["echo", "granted"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("flock of util-linux");
    one.server().kill().unwrap();
    one.ended();
    eventually("the flock is free", || lock(&theirs[0]).is_ok());
    eventually("the fcntl lock is free", || lock_range(&theirs[1]).is_ok());
    assert_eq!(waiting.wait_with_output().unwrap().stdout, b"granted\n");
}
