//! A load whose every number is known.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files written and read back,
pub(super) const FILES: u64 = 4;
/// each in so many requests
pub(super) const REQUESTS: u64 = 16;
/// of so many bytes.
pub(super) const SIZE: u64 = 64 << 10;
/// Requests of each kind.
pub(super) const EACH: u64 = FILES * REQUESTS;
/// Bytes of each kind.
pub(super) const BYTES: u64 = EACH * SIZE;

/// Does it, in files of known names.
pub(super) fn run(directory: &Path) {
    for number in 0..FILES {
        let path = directory.join(name(number));
        let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        let mut data = vec![number as u8; SIZE as usize];
        (0..REQUESTS).for_each(|at| file.write_all_at(&data, at * SIZE).unwrap());
        (0..REQUESTS).for_each(|at| file.read_exact_at(&mut data, at * SIZE).unwrap());
    }
}

/// The name of a file of it.
pub(super) fn name(number: u64) -> String {
    format!("known-{number}.dat")
}
