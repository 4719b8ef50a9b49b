//! One mount over several agents: each file, or each stripe of one, has an agent of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use super::harness::{Agent, DataServers, Mount, program};

#[test]
fn files_are_spread_over_agents_and_all_clients_see_the_same() {
    let Some(first) = Agent::start("") else { return };
    let second = first.successor("");
    let both = first.or(&second);
    let mount = Mount::remote(&first, &both, &["--spread=file"]);
    let plain = Mount::remote(&first, &second.over_tcp(), &[]);
    fs::create_dir_all(mount.path().join("deep/er")).unwrap();
    for number in 0..40 {
        let name = format!("deep/er/file-{number}");
        let bytes = content(number, 100_000);
        let before = [&first, &second].map(|agent| agent.number("bytes_written"));
        fs::write(mount.path().join(&name), &bytes).unwrap();
        let after = [&first, &second].map(|agent| agent.number("bytes_written"));
        let written = [after[0] - before[0], after[1] - before[1]];
        assert!(written.contains(&0) && written.contains(&100_000), "{name}: {written:?}");
        assert!(fs::read(plain.path().join(&name)).unwrap() == bytes, "{name}");
        assert!(fs::read(mount.backing().join(&name)).unwrap() == bytes, "{name}");
    }
    for agent in [&first, &second] {
        assert!(agent.number("bytes_written") >= 5 * 100_000, "each has its share");
    }
    let read = [&first, &second].map(|agent| agent.number("bytes_read"));
    for number in 0..40 {
        let bytes = fs::read(mount.path().join(format!("deep/er/file-{number}"))).unwrap();
        assert!(bytes == content(number, 100_000));
    }
    for (agent, before) in [&first, &second].into_iter().zip(read) {
        assert!(agent.number("bytes_read") >= before + 5 * 100_000, "of reads too");
    }
    assert!(status(mount.path()).contains("each file by one of 2 agents"));
}

#[test]
fn stripes_are_spread_over_agents_whatever_is_done_to_the_file() {
    let Some(first) = Agent::start("") else { return };
    let second = first.successor("");
    let options = ["--spread=stripe", "--stripe=64K"];
    let mount = Mount::remote(&first, &first.or(&second), &options);
    // It turns to the other one first, and has the same stripes at the same agents.
    let other = Mount::remote(&first, &first.or(&second), &options);
    exercise(mount.path(), other.path());
    let [one, two] = [&first, &second].map(|agent| agent.number("bytes_written"));
    assert!(one.min(two) * 3 > one.max(two), "{one} and {two}");
    let [one, two] = [&first, &second].map(|agent| agent.number("bytes_read"));
    assert!(one.min(two) * 3 > one.max(two), "{one} and {two}");
    without_a_name(mount.path());
}

#[test]
fn stripes_of_files_on_data_servers_are_spread_over_agents() {
    let Some(servers) = DataServers::start(2, "64K") else { return };
    let agents = [0, 1].map(|_| Agent::over_servers(&servers));
    let both = agents[0].or(&agents[1]);
    let options = ["--spread=stripe", "--stripe=64K"];
    let mounts = [0, 1].map(|_| Mount::remote(&agents[0], &both, &options));
    exercise(mounts[0].path(), mounts[1].path());
    assert!(agents.iter().all(|agent| agent.number("bytes_written") >= 1 << 20));
}

#[test]
fn the_share_of_an_agent_that_dies_goes_to_the_next() {
    let Some(first) = Agent::start("") else { return };
    let mut second = first.successor("");
    let mount = Mount::remote(&first, &first.or(&second), &["--spread=stripe"]);
    let path = mount.path().join("file");
    let mut file = File::create_new(&path).unwrap();
    let bytes = content(1, 1 << 20);
    file.write_all(&bytes[..1 << 19]).unwrap();
    second.kill();
    file.write_all(&bytes[1 << 19..]).unwrap();
    file.sync_all().unwrap();
    assert!(fs::read(&path).unwrap() == bytes);
    assert!(fs::read(mount.backing().join("file")).unwrap() == bytes);
    drop(file);
    second.start_again();
    fs::write(&path, b"and goes on").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"and goes on");
}

#[test]
fn what_cannot_be_spread_is_refused() {
    let Some(agent) = Agent::start("") else { return };
    let room = tempfile::tempdir().unwrap();
    let refused = |source: &str, options: &[&str]| {
        let mut command = Command::new(program());
        let output = command.arg("mount").args(options).arg(source).arg(room.path()).output();
        let output = output.unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&agent.over_tcp(), &["--spread=file"]);
    assert!(said.contains("there is one agent, and nothing to spread over"), "{said}");
    let options = ["--spread=stripe", "--stripe=1000"];
    let said = refused(&agent.or(&agent), &options);
    assert!(said.contains("no whole pages"), "{said}");
}

/// Everything that could go wrong between agents, on two mounts of the same files.
fn exercise(one: &Path, other: &Path) {
    let (path, seen) = (one.join("file"), other.join("file"));
    let mut expected = content(3, 3 << 20);
    fs::write(&path, &expected).unwrap();
    assert!(fs::read(&seen).unwrap() == expected);
    // Across the ends of stripes, from both sides, at odd places.
    let (mine, theirs) = (open(&path), open(&seen));
    for step in 0..60 {
        let (at, length) = (step * 48_611 % (3 << 20), 1 + step * 7_919 % 200_000);
        let bytes = content(step, length);
        let (writes, reads) = if step % 2 == 0 { (&mine, &theirs) } else { (&theirs, &mine) };
        writes.write_all_at(&bytes, at as u64).unwrap();
        let end = at + length;
        expected.resize(expected.len().max(end), 0);
        expected[at..end].copy_from_slice(&bytes);
        let mut found = vec![0; length];
        reads.read_exact_at(&mut found, at as u64).unwrap();
        assert!(found == bytes, "step {step}");
    }
    assert!(fs::read(&seen).unwrap() == expected);
    mine.set_len(100_001).unwrap();
    expected.truncate(100_001);
    theirs.write_all_at(b"behind a hole", 1 << 20).unwrap();
    expected.resize(1 << 20, 0);
    expected.extend(b"behind a hole");
    assert!(fs::read(&path).unwrap() == expected);
    assert!(fs::read(&seen).unwrap() == expected);
    append(&path, &seen);
    // Another file under the same name.
    fs::rename(one.join("appended"), &path).unwrap();
    assert_eq!(fs::read(&seen).unwrap().len(), 80 * 5_000);
    let mut last = [0; 3];
    let mut mine = mine;
    mine.seek(SeekFrom::End(-3)).unwrap();
    mine.read_exact(&mut last).unwrap();
    assert_eq!(&last, b"ole", "the file that is open is the old one");
    mine.write_all_at(b"still", 70_000).unwrap();
    let mut found = [0; 5];
    theirs.read_exact_at(&mut found, 70_000).unwrap();
    assert_eq!(&found, b"still");
    mine.sync_all().unwrap();
}

/// Nobody's lines get lost.
fn append(path: &Path, seen: &Path) {
    let [path, seen] = [path, seen].map(|file| file.with_file_name("appended"));
    std::thread::scope(|scope| {
        for (number, path) in [&path, &seen].into_iter().enumerate() {
            scope.spawn(move || {
                let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
                let line = [b'a' + number as u8; 5_000];
                (0..40).for_each(|_| file.write_all(&line).unwrap());
            });
        }
    });
    let found = fs::read(&path).unwrap();
    assert!(found.chunks(5_000).all(|line| line.iter().all(|byte| *byte == line[0])));
    assert_eq!(found.iter().filter(|byte| **byte == b'a').count(), 40 * 5_000);
    assert_eq!(found.len(), 80 * 5_000);
}

/// A file that has lost its name, or never had one, is read and written all the same.
fn without_a_name(directory: &Path) {
    let path = directory.join("gone");
    let file = open(&path);
    fs::remove_file(&path).unwrap();
    let unnamed = tempfile::tempfile_in(directory).unwrap();
    for file in [file, unnamed] {
        let bytes = content(5, 500_000);
        file.write_all_at(&bytes, 0).unwrap();
        let mut found = vec![0; bytes.len()];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found == bytes);
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

fn content(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| ((at / 7 + at / 4093 + seed * 31) % 251) as u8).collect()
}

fn status(mount: &Path) -> String {
    let output = Command::new(program()).args(["status", "--json"]).arg(mount).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
