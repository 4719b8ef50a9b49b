//! A file that is written, read and cut off at random, as fsx does: what is read is what was written.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::worker::Task;

pub(super) fn work(mut task: Task) {
    let path = task.place.join(format!("shuffle-{}", task.number));
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    let file = file.expect("a file of its own");
    let mut model: Vec<u8> = Vec::new();
    let mut done = 0;
    while task.goes_on(done) {
        done += 1;
        let (offset, length) = (task.dice.below(SIZE), 1 + task.dice.below(SIZE / 4));
        match task.dice.below(10) {
            0 => {
                file.set_len(offset as u64).unwrap_or_else(|e| panic!("truncate: {e}"));
                model.resize(offset, 0);
            }
            1 => file.sync_data().unwrap_or_else(|e| panic!("fdatasync: {e}")),
            2..=5 => {
                let byte = task.dice.roll() as u8;
                let data = vec![byte; length];
                file.write_all_at(&data, offset as u64).unwrap_or_else(|e| panic!("write: {e}"));
                model.resize(model.len().max(offset + length), 0);
                model[offset..offset + length].fill(byte);
            }
            _ => {
                let mut data = vec![0; length];
                let count = file.read_at(&mut data, offset as u64);
                let count = count.unwrap_or_else(|e| panic!("read: {e}"));
                let expected = model.get(offset..).unwrap_or_default();
                let expected = &expected[..expected.len().min(length)];
                compare(&data[..count], expected, offset, done);
            }
        }
    }
    let size = file.metadata().expect("it is open").len();
    assert_eq!(size, model.len() as u64);
    let mut all = vec![0; model.len()];
    file.read_exact_at(&mut all, 0).expect("all of it can be read");
    assert!(all == model, "the whole file");
}

/// What was read is what was written; if not, it is said where and how it differs.
fn compare(read: &[u8], expected: &[u8], offset: usize, step: u64) {
    if read == expected {
        return;
    }
    let pairs = read.iter().zip(expected);
    let same = pairs.clone().take_while(|(read, expected)| read == expected).count();
    let wrong = pairs.filter(|(read, expected)| read != expected).count();
    panic!(
        "step {step}: {} bytes read at {offset}, {} expected; {wrong} differ, the first at {}: {:?} \
         instead of {:?}",
        read.len(),
        expected.len(),
        offset + same,
        read.get(same),
        expected.get(same)
    );
}

const SIZE: usize = 256 << 10;
