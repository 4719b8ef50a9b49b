//! Changes through two agents at the same time come out as in some order, each of them whole.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::e2e::harness::{Clients, Through};

#[test]
fn a_write_and_a_truncation_through_two_agents_leave_all_of_it_or_nothing() {
    let Some(clients) = Clients::start(Through::Servers("4K"), 2, &[]) else { return };
    let [one, two] = [&clients.mounts[0], &clients.mounts[1]].map(|mount| mount.path().join("f"));
    fs::write(&one, b"").unwrap();
    let writer = File::options().write(true).open(&one).unwrap();
    let cutter = File::options().write(true).open(&two).unwrap();
    for round in 1..=ROUNDS {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    cutter.set_len(0).unwrap();
                }
            });
            for value in 1..=WRITES {
                writer.write_all_at(&[value; LENGTH], 0).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let left = fs::read(&two).unwrap();
        assert_eq!(left, fs::read(&one).unwrap(), "both see the same");
        let whole = left.len() == LENGTH && left.iter().all(|byte| *byte == WRITES);
        let first = left.iter().position(|byte| *byte != WRITES);
        assert!(left.is_empty() || whole, "round {round}: {} bytes, {first:?}", left.len());
    }
}

#[test]
fn who_extends_a_file_is_never_seen_with_zeros() {
    let Some(clients) = Clients::start(Through::Servers("4K"), 2, &[]) else { return };
    let [one, two] = [&clients.mounts[0], &clients.mounts[1]].map(|mount| mount.path().join("f"));
    let writer = File::create(&one).unwrap();
    let reader = File::open(&two).unwrap();
    let total = EXTENSIONS * STEP;
    thread::scope(|scope| {
        scope.spawn(|| {
            for at in 0..EXTENSIONS {
                writer.write_all_at(&[7; STEP], (at * STEP) as u64).unwrap();
            }
        });
        let mut seen = 0;
        while seen < total {
            let mut buffer = [9; 10_000];
            let count = reader.read_at(&mut buffer, seen as u64).unwrap();
            let wrong = buffer[..count].iter().position(|byte| *byte != 7);
            assert_eq!(wrong, None, "at {seen}, of {count} bytes");
            seen += count;
        }
    });
}

const ROUNDS: usize = 5;
const WRITES: u8 = 20;
const LENGTH: usize = 100_000;
const EXTENSIONS: usize = 300;
const STEP: usize = 1_700;
