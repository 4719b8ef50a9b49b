//! What a write means: at the backing, in order, appended whole, with its errors.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Command;
use std::thread;

use nix::libc;

use crate::e2e::harness::{Mount, eventually};

#[test]
fn writes_are_at_the_backing_when_they_return() {
    for options in [&[][..], &["--cache=close-to-open"], &["--servers=4", "--stripe=4096"]] {
        let Some(mount) = Mount::start(options) else { return };
        let mut file = File::create(mount.path().join("f")).unwrap();
        for round in 0..50u8 {
            file.write_all(&[round; 10_000]).unwrap();
            let there = fs::read(mount.backing().join("f")).unwrap();
            assert_eq!(there.len(), 10_000 * (usize::from(round) + 1), "{options:?}");
            assert_eq!(there.last(), Some(&round));
        }
    }
}

#[test]
fn a_file_made_for_writing_only_can_be_written_late() {
    let Some(mount) = Mount::start(&["--cache=exclusive"]) else { return };
    let path = mount.path().join("file");
    let file = File::options().write(true).create_new(true).open(&path).unwrap();
    file.write_all_at(&[b'a'; 10_000], 0).unwrap();
    file.sync_all().unwrap();
    // The kernel has to read the page back before it can change a part of it.
    let drop = nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED;
    nix::fcntl::posix_fadvise(&file, 0, 0, drop).unwrap();
    file.write_all_at(b"b", 5_000).unwrap();
    file.sync_all().unwrap();
    let mut expected = vec![b'a'; 10_000];
    expected[5_000] = b'b';
    assert!(fs::read(mount.backing().join("file")).unwrap() == expected);
}

#[test]
fn appends_from_many_processes_are_neither_lost_nor_torn() {
    const WRITERS: usize = 8;
    const LINES: usize = 200;
    let Some(mount) = Mount::start(&[]) else { return };
    // Half of them through the mount, half beside it.
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let place = if writer % 2 == 0 { mount.path() } else { mount.backing() };
            scope.spawn(move || {
                let path = place.join("log");
                let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
                for line in 0..LINES {
                    let text = format!("{writer:02} {line:04} {}\n", "x".repeat(500));
                    assert_eq!(file.write(text.as_bytes()).unwrap(), text.len());
                }
            });
        }
    });
    let log = fs::read_to_string(mount.backing().join("log")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), WRITERS * LINES);
    assert!(lines.iter().all(|line| line.len() == 508), "a line was torn");
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), WRITERS * LINES, "a line was lost or doubled");
}

#[test]
fn no_space_is_reported_and_goes_away() {
    let Some(mount) = Mount::start(&[]) else { return };
    let small = mount.backing().join("small");
    fs::create_dir(&small).unwrap();
    let on_tmpfs = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(&small)
        .status()
        .unwrap();
    assert!(on_tmpfs.success(), "a small file system inside the directory");
    let seen = mount.path().join("small");
    let mut file = File::create(seen.join("f")).unwrap();
    let error = file.write_all(&vec![1; 4 << 20]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    file.set_len(0).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(b"room again").unwrap();
    file.sync_all().unwrap();
    drop(file);
    assert_eq!(fs::read(seen.join("f")).unwrap(), b"room again");
    // The mount holds nodes there until the kernel forgets them: detach, do not insist.
    assert!(Command::new("umount").arg("-l").arg(&small).status().unwrap().success());
}

#[test]
fn overlapping_requests_keep_their_order_while_they_wait() {
    // Windows over eight servers make nearly every request wait.
    let Some(mount) = Mount::start(&["--servers=8", "--stripe=4096", "--window=2ms"]) else {
        return;
    };
    let path = mount.path().join("f");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
    let file = file.unwrap();
    let mut block = [0; 20_000];
    for round in 1..=60u8 {
        file.write_all_at(&[round; 20_000], u64::from(round) * 1_000).unwrap();
        file.read_exact_at(&mut block, u64::from(round) * 1_000).unwrap();
        assert!(block.iter().all(|byte| *byte == round), "round {round}");
    }
}

#[test]
fn memory_stays_bounded_under_64_writers() {
    const BOUND_KIB: u64 = 256 << 10;
    let Some(mut mount) = Mount::start(&["--servers=4", "--depth=2"]) else { return };
    thread::scope(|scope| {
        for writer in 0..64 {
            let path = mount.path().join(format!("f{writer}"));
            scope.spawn(move || {
                let mut file = File::create(path).unwrap();
                for _ in 0..4 {
                    file.write_all(&vec![7; 1 << 20]).unwrap();
                }
            });
        }
    });
    let status = format!("/proc/{}/status", mount.server().id());
    let mut text = String::new();
    File::open(status).unwrap().read_to_string(&mut text).unwrap();
    let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < BOUND_KIB, "{peak} KiB at the peak");
}

#[test]
fn a_running_program_is_not_cut_off() {
    for options in [&[][..], &["--cache=close-to-open"], &["--cache=exclusive"]] {
        let Some(mount) = Mount::start(options) else { return };
        let path = mount.path().join("program");
        // By a process of its own: no other test's child may hold it open for writing.
        assert!(Command::new("cp").arg("/bin/sleep").arg(&path).status().unwrap().success());
        let size = fs::metadata(&path).unwrap().len();
        let mut program = Command::new(&path).arg("60").spawn().unwrap();
        let cut_off = || File::options().read(true).custom_flags(libc::O_TRUNC).open(&path);
        let change = || File::options().write(true).open(&path).map(drop);
        let truncate = || Ok(nix::unistd::truncate(&path, 0)?);
        for refused in [change(), truncate(), cut_off().map(drop)] {
            let refused = refused.map_err(|error: std::io::Error| error.raw_os_error());
            assert_eq!(refused, Err(Some(libc::ETXTBSY)), "{options:?}");
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), size, "{options:?}");
        assert_eq!(program.try_wait().unwrap(), None, "it goes on");
        program.kill().unwrap();
        program.wait().unwrap();
        eventually("the program may be cut off", || cut_off().is_ok());
        assert_eq!(fs::metadata(mount.backing().join("program")).unwrap().len(), 0, "{options:?}");
    }
}
