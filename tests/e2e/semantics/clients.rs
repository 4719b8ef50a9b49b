//! What clients see of each other: two mounts of one directory.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::e2e::harness::Mount;

#[test]
fn two_mounts_see_each_other() {
    let Some(one) = Mount::start(&[]) else { return };
    let two = one.another(&[]);
    let (here, there) = (one.path().join("f"), two.path().join("f"));
    let writer = OpenOptions::new().write(true).create_new(true).open(&here).unwrap();
    let reader = File::open(&there).unwrap();
    let mut block = [0; 4096];
    for round in 1..=100u8 {
        writer.write_all_at(&[round; 4096], 0).unwrap();
        reader.read_exact_at(&mut block, 0).unwrap();
        assert!(block.iter().all(|byte| *byte == round), "data of round {round}");
        writer.set_len(4096 + u64::from(round)).unwrap();
        assert_eq!(reader.metadata().unwrap().size(), 4096 + u64::from(round), "size");
    }
    fs::rename(&here, one.path().join("g")).unwrap();
    assert!(!there.exists(), "the old name is gone at once");
    assert!(two.path().join("g").exists(), "the new one is there at once");
    fs::remove_file(two.path().join("g")).unwrap();
    assert!(!one.path().join("g").exists());
    assert_eq!(reader.metadata().unwrap().nlink(), 0, "and an open file knows it");
    reader.read_exact_at(&mut block, 0).unwrap();
    assert_eq!(block[0], 100, "but keeps its data");
}

#[test]
fn close_to_open_sees_what_was_closed() {
    let Some(one) = Mount::start(&["--cache=close-to-open"]) else { return };
    let two = one.another(&["--cache=close-to-open"]);
    for round in 0..200u32 {
        let text = format!("round {round} {}", "x".repeat(round as usize % 7));
        let mut file = File::create(one.path().join("f")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        drop(file);
        // Opened after it was closed: nothing older may be seen, however quickly it comes.
        assert_eq!(fs::read_to_string(two.path().join("f")).unwrap(), text);
    }
}
