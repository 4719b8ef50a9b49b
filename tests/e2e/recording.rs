//! A real agent and the scheduler in virtual time make the same decisions for the same arrivals.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::thread;

use super::harness::{Mount, program};

/// Small strided writes and reads of a shared file from several threads: what windows are for.
fn load(mount: &Mount) {
    let path = mount.path().join("shared");
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    thread::scope(|scope| {
        for rank in 0..6u64 {
            let path = &path;
            scope.spawn(move || {
                let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
                let mut block = [rank as u8; 3000];
                for round in 0..25 {
                    let offset = (round * 6 + rank) * 3000;
                    file.write_all_at(&block, offset).unwrap();
                    file.read_exact_at(&mut block, offset).unwrap();
                    assert!(block.iter().all(|byte| *byte == rank as u8));
                }
            });
        }
    });
}

#[test]
fn a_recorded_run_gives_the_same_batches_when_it_is_replayed() {
    for policy in ["twins", "fifo", "hbrr", "aioli", "sjf"] {
        let room = tempfile::tempdir().unwrap();
        let recording = room.path().join("recording");
        let record = format!("--record={}", recording.display());
        let policy_word = format!("--policy={policy}");
        let options = [&*record, &policy_word, "--servers=4", "--stripe=4096", "--depth=2"];
        let Some(mount) = Mount::start(&options) else { return };
        load(&mount);
        drop(mount);
        let output = Command::new(program())
            .args([OsStr::new("replay"), recording.as_os_str()])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{policy}: {complaint}");
        let batches: usize =
            said.split("replayed: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(batches > 100, "{said}");
    }
}
