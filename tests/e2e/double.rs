//! Every file system that tells its layouts, without having one: a double of it answers with chosen
//! bytes, is mounted through the program, and the requests are counted at the right servers.

mod engines;
mod filesystem;
mod rules;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::harness::{Mount, can_mount, program};
use filesystem::{Answers, Filesystem, Served};

/// A double of a file system, and the program's mount of it.
struct Double {
    mount: Mount,
    served: Served,
    _room: TempDir,
}

impl Double {
    /// Mounts both, or says why the test is skipped.
    fn start(answers: Answers, options: &[&str]) -> Option<Double> {
        if !can_mount() {
            return None;
        }
        let room = tempfile::tempdir().unwrap();
        let served = Filesystem::serve(answers, room.path());
        let mount = Mount::over(room.path(), options);
        Some(Double { mount, served, _room: room })
    }

    /// Makes a file of so many blocks through the mount, each written and read by a call of its own.
    fn fill(&self, name: &str, block: usize, count: u64) {
        let file = self.open(name);
        for number in 0..count {
            write(&file, block, number);
        }
        for number in 0..count {
            read(&file, block, number);
        }
    }

    fn open(&self, name: &str) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(self.mount.path().join(name)).unwrap()
    }

    /// What the status says, by name.
    fn status(&self) -> BTreeMap<String, String> {
        let mut command = Command::new(program());
        let output = command.args(["status", "--json"]).arg(self.mount.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let report: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &serde_json::Value| value.as_str().map(String::from);
        let pair = |(name, value)| (name, text(&value).unwrap_or_else(|| value.to_string()));
        report.into_iter().map(pair).collect()
    }

    /// Bytes that went to each server, by the server's name.
    fn bytes(&self) -> BTreeMap<String, u64> {
        let status = self.status();
        let count: usize = status["servers"].parse().unwrap();
        let of = |number| {
            let name = status[&format!("server_{number}_is")].clone();
            (name, status[&format!("server_{number}_bytes")].parse().unwrap())
        };
        (0..count).map(of).collect()
    }
}

/// What `iofwd layout` says about a file.
fn layout(path: &Path, options: &[&str]) -> serde_json::Value {
    let mut command = Command::new(program());
    let output = command.args(["layout", "--json"]).args(options).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    all[0].clone()
}

fn write(file: &File, block: usize, number: u64) {
    file.write_all_at(&content(block, number), block as u64 * number).unwrap();
}

fn read(file: &File, block: usize, number: u64) {
    let mut found = vec![0; block];
    file.read_exact_at(&mut found, block as u64 * number).unwrap();
    assert!(found == content(block, number), "block {number}");
}

fn content(block: usize, number: u64) -> Vec<u8> {
    (0..block).map(|at| (at as u64 * 7 + number * 13) as u8).collect()
}
