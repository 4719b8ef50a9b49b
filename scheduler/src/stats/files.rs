//! What was moved of the files used last. A bounded number: one that is not used gives up its place.

use crate::request::{FileId, Operation};

/// What was moved of one file since it has had its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Reads and writes.
    pub requests: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// The files used last. Names, ages and counts lie apart, since most calls look at names alone.
#[derive(Clone, Debug)]
pub struct Files {
    names: Vec<FileId>,
    used: Vec<u64>,
    moved: Vec<Moved>,
    clock: u64,
    last: usize,
}

impl Default for Files {
    fn default() -> Self {
        let (names, used) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        Files { names, used, moved: Vec::with_capacity(MOST), clock: 0, last: 0 }
    }
}

impl Files {
    /// The files, in no particular but always the same order.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Moved)> {
        self.names.iter().copied().zip(&self.moved)
    }

    /// Counts a request that came back.
    pub(super) fn note(&mut self, file: FileId, operation: Operation, bytes: u64) {
        self.clock += 1;
        if self.names.get(self.last) != Some(&file) {
            self.last = self.place(file);
        }
        self.used[self.last] = self.clock;
        let moved = &mut self.moved[self.last];
        moved.requests += 1;
        match operation {
            Operation::Read => moved.bytes_read += bytes,
            Operation::Write => moved.bytes_written += bytes,
        }
    }

    fn place(&mut self, file: FileId) -> usize {
        if let Some(place) = self.names.iter().position(|name| *name == file) {
            return place;
        }
        if self.names.len() < MOST {
            self.names.push(file);
            self.used.push(0);
            self.moved.push(Moved::default());
            return self.names.len() - 1;
        }
        let oldest = self.used.iter().enumerate().min_by_key(|(_, used)| **used);
        let (place, _) = oldest.expect("MOST is not zero");
        self.names[place] = file;
        self.moved[place] = Moved::default();
        place
    }
}

/// Most files known at once: a screenful, and a search through them is a few cache lines.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_unused_for_longest_gives_up_its_place() {
        let mut files = Files::default();
        for round in 0..3 {
            for number in 0..MOST as u64 {
                files.note(FileId(number), Operation::Write, 10 + round);
            }
        }
        files.note(FileId(0), Operation::Read, 5);
        files.note(FileId(1_000), Operation::Read, 7);
        let find = |name| files.iter().find(|(file, _)| *file == FileId(name)).map(|(_, m)| *m);
        assert_eq!(find(0), Some(Moved { requests: 4, bytes_read: 5, bytes_written: 33 }));
        assert_eq!(find(1), None, "it was the oldest");
        assert_eq!(find(1_000), Some(Moved { requests: 1, bytes_read: 7, bytes_written: 0 }));
        assert_eq!(files.iter().count(), MOST);
    }
}
