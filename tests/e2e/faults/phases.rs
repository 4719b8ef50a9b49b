//! Workers that do something, wait until they are told to go on, and do the rest.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::e2e::harness::{lock, lock_range};

use super::worker::Task;

/// Tells workers that wait to go on.
pub(crate) fn go(plain: &Path) {
    fs::write(plain.join("go"), "").expect("a file can be made");
}

/// What a worker wrote down under that name, if it has.
pub(crate) fn result(plain: &Path, name: &str) -> Option<String> {
    fs::read_to_string(plain.join(name)).ok().filter(|text| text.ends_with('\n'))
}

impl Task {
    fn wait(&self) {
        self.goes_on(1);
        let end = Instant::now() + Duration::from_secs(120);
        while !self.plain.join("go").exists() {
            assert!(Instant::now() < end, "nobody told it to go on");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn open(&self, name: &str) -> File {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        options.open(self.place.join(name)).expect("it can be opened")
    }

    fn write_down(&self, name: &str, result: std::io::Result<()>) {
        let text = match result {
            Ok(()) => "done".into(),
            Err(error) => error.raw_os_error().unwrap_or(0).to_string(),
        };
        fs::write(self.plain.join(name), format!("{text}\n")).expect("a file can be made");
    }
}

pub(super) fn unlinked(task: &Task) {
    let file = task.open("unlinked");
    file.write_all_at(b"before", 0).unwrap();
    fs::remove_file(task.place.join("unlinked")).unwrap();
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    task.wait();
    file.write_all_at(b"after", 6).unwrap();
    let mut all = [0; 11];
    file.read_exact_at(&mut all, 0).unwrap();
    assert_eq!(&all, b"beforeafter");
    assert_eq!(file.metadata().unwrap().nlink(), 0, "nobody sees another name");
    drop(file);
    task.write_down("closed", Ok(()));
}

pub(super) fn holding(task: &Task) {
    let [free, whole, range] = ["free", "whole", "range"].map(|name| task.open(name));
    lock(&whole).unwrap();
    lock_range(&range).unwrap();
    task.wait();
    task.write_down("result-free", free.write_all_at(b"x", 0));
    task.write_down("result-whole", whole.write_all_at(b"x", 0));
    task.write_down("result-range", range.write_all_at(b"x", 0));
}

pub(super) fn writing(task: &Task) {
    let file = task.open("written");
    task.wait();
    let mut count = 0;
    loop {
        count += 1;
        let written = file.write_all_at(b"x", 0);
        let is_done = written.is_ok();
        task.write_down(&format!("result-{count}"), written);
        if is_done && task.plain.join("stop").exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
