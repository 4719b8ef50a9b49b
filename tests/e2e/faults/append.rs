//! Records that are appended by many: none torn, none doubled, none lost that was acknowledged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::worker::Task;

/// The file that all append to.
pub(super) const NAME: &str = "appended";

pub(super) fn work(mut task: Task) {
    let path = task.place.join(NAME);
    let file = File::options().append(true).create(true).open(&path);
    let mut file = file.expect("it can be opened");
    let mut sequence = 0;
    while task.goes_on(sequence) {
        let fill = match task.dice.below(8) {
            0 => task.dice.below(20_000),
            _ => task.dice.below(300),
        };
        let record = record(task.number, sequence, fill);
        let written = file.write(record.as_bytes());
        let written = written.unwrap_or_else(|e| panic!("append {sequence}: {e}"));
        assert_eq!(written, record.len(), "an append is whole");
        sequence += 1;
    }
}

fn record(worker: usize, sequence: u64, fill: usize) -> String {
    format!("<{worker} {sequence} {fill} {}>\n", "x".repeat(fill))
}

/// The file has every record that was acknowledged, in each worker's order, and no other.
pub(crate) fn check(backing: &Path, acknowledged: &BTreeMap<usize, u64>) {
    let text = fs::read_to_string(backing.join(NAME)).expect("it is text");
    let mut next: BTreeMap<usize, u64> = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let (worker, sequence) =
            parse(line).unwrap_or_else(|| panic!("line {number} is torn: {:.80}", line));
        let expected = next.entry(worker).or_insert(0);
        assert_eq!(sequence, *expected, "worker {worker}, line {number}: lost or doubled");
        *expected += 1;
    }
    for (worker, count) in acknowledged {
        let there = next.get(worker).copied().unwrap_or(0);
        assert_eq!(there, *count, "worker {worker}: records there and acknowledged");
    }
}

fn parse(line: &str) -> Option<(usize, u64)> {
    let inner = line.strip_prefix('<')?.strip_suffix('>')?;
    let mut words = inner.split(' ');
    let worker = words.next()?.parse().ok()?;
    let sequence = words.next()?.parse().ok()?;
    let fill: usize = words.next()?.parse().ok()?;
    let filled = words.next()?;
    let is_whole = filled.len() == fill && filled.bytes().all(|b| b == b'x');
    (is_whole && words.next().is_none()).then_some((worker, sequence))
}
