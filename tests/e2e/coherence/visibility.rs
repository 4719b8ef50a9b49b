//! `close-to-open` does what its name says: what was closed is seen by who opens afterwards, names
//! and locks are seen at once, and an open file may show what was there when it was opened.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::errno::Errno;
use nix::libc;

use crate::e2e::harness::{Clients, Through};

#[test]
fn close_to_open_promises_that_and_no_more() {
    for through in [Through::Embedded, Through::Tcp, Through::Unix, Through::AgentEach] {
        check(through);
    }
}

fn check(through: Through) {
    let Some(clients) = Clients::start(through, 2, &["--cache=close-to-open"]) else { return };
    let [one, two] = [&clients.mounts[0], &clients.mounts[1]].map(|mount| mount.path());
    let stale = (1..=ROUNDS).filter(|round| old_data_is_seen(one, two, *round)).count();
    assert!(stale > 0, "open files were never behind: the mode could promise more than it does");
    names_and_sizes_are_seen_at_once(one, two);
    locks_are_seen_at_once(one, two);
}

/// Who has a file open may see the old data or the new, and whole blocks of either; who opens it
/// after it was closed sees the new.
fn old_data_is_seen(one: &Path, two: &Path, round: u8) -> bool {
    let (here, there) = (one.join("data"), two.join("data"));
    fs::write(&here, [round; BLOCK]).unwrap();
    let open = File::open(&there).unwrap();
    assert_eq!(block(&open), round, "closed by one before it was opened by the other");
    let writer = OpenOptions::new().write(true).open(&here).unwrap();
    writer.write_all_at(&[round + 100; BLOCK], 0).unwrap();
    drop(writer);
    let seen = block(&open);
    assert!(seen == round || seen == round + 100, "{seen} was never written in this round");
    assert_eq!(block(&File::open(&there).unwrap()), round + 100, "opened after it was closed");
    seen == round
}

/// The byte that a block is full of.
fn block(file: &File) -> u8 {
    let mut block = [0; BLOCK];
    file.read_exact_at(&mut block, 0).unwrap();
    assert!(block.iter().all(|byte| *byte == block[0]), "old and new in one block");
    block[0]
}

fn names_and_sizes_are_seen_at_once(one: &Path, two: &Path) {
    for round in 0..u64::from(ROUNDS) {
        let [made, moved] = ["made", "moved"].map(|name| format!("{name}-{round}"));
        let file = File::create(one.join(&made)).unwrap();
        assert!(two.join(&made).exists(), "a new name");
        file.set_len(round).unwrap();
        assert_eq!(fs::metadata(two.join(&made)).unwrap().len(), round, "a size, by name");
        fs::rename(one.join(&made), one.join(&moved)).unwrap();
        assert!(!two.join(&made).exists() && two.join(&moved).exists(), "another name");
        fs::remove_file(one.join(&moved)).unwrap();
        assert!(!two.join(&moved).exists(), "a name that is gone");
    }
}

fn locks_are_seen_at_once(one: &Path, two: &Path) {
    let [ours, theirs] = [one, two].map(|path| File::create(path.join("lock")).unwrap());
    let lock = |file: &File, how: i32| {
        // SAFETY: no memory is involved.
        Errno::result(unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) })
    };
    for _ in 0..ROUNDS {
        lock(&ours, libc::LOCK_EX).unwrap();
        assert_eq!(lock(&theirs, libc::LOCK_SH), Err(Errno::EWOULDBLOCK));
        lock(&ours, libc::LOCK_UN).unwrap();
        lock(&theirs, libc::LOCK_EX).unwrap();
        lock(&theirs, libc::LOCK_UN).unwrap();
    }
}

const ROUNDS: u8 = 50;
const BLOCK: usize = 4096;
