//! `iofwd bench` as users run it: the built program, real processes, real files, real signals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

#[test]
fn every_pattern_is_run_verified_and_cleaned_up() {
    let room = tempfile::tempdir().unwrap();
    for pattern in ["file-per-process", "contiguous", "strided", "random", "mixed", "nested"] {
        let results =
            json(&room, &["-p", pattern, "-n", "3", "-r", "8K", "-s", "240K", "--verify"]);
        let runs = results["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1);
        let operations: Vec<_> = list(&runs[0]["results"]).map(|it| &it["operation"]).collect();
        assert_eq!(operations, ["write", "read"], "{pattern}");
        for measured in list(&runs[0]["results"]) {
            assert_eq!(measured["all"]["bytes"], 240 << 10, "{pattern}");
            assert_eq!(measured["all"]["requests"], 30);
            let each: Vec<_> = list(&measured["processes"]).map(|it| &it["requests"]).collect();
            assert_eq!(each, [10, 10, 10]);
            check_times(measured);
        }
        assert!(is_empty(room.path()), "{pattern} left something behind");
    }
}

/// What must hold between the numbers, however fast the machine is.
fn check_times(measured: &Value) {
    let number = |value: &Value| value.as_u64().unwrap();
    assert!(number(&measured["makespan_ns"]) >= number(&measured["all"]["io_ns"]));
    for process in list(&measured["processes"]) {
        assert!(number(&measured["all"]["io_ns"]) >= number(&process["io_ns"]));
        let latency = &process["latency_ns"];
        let names = ["min", "p50", "p90", "p95", "p99", "p999", "max"];
        let times = names.map(|name| number(&latency[name]));
        assert!(times.is_sorted(), "{latency}");
        assert!(number(&latency["mean"]) * 10 <= number(&process["io_ns"]), "{process}");
    }
}

/// Half of the processes by way of another path to the directory, on files of an earlier call.
#[test]
fn files_that_were_left_are_read_again_by_several_ways() {
    let room = tempfile::tempdir().unwrap();
    let load = ["-n", "4", "-r", "4K", "-s", "64K", "--verify", "--seed", "5"];
    json(&room, &[&load[..], &["--operation", "write", "--keep"]].concat());
    let [left] = &files(room.path())[..] else { panic!("one directory is left") };
    let other = tempfile::tempdir().unwrap();
    let way = other.path().join("way");
    std::os::unix::fs::symlink(left, &way).unwrap();
    let again = [&load[..], &["--operation", "read", "--reuse", "--also"]].concat();
    let read = |also: &Path| {
        let also = also.to_str().unwrap();
        bench(left, &[&again[..], &[also]].concat()).output().unwrap()
    };
    let output = read(&way);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(files(left).len(), 1, "the files stay");
    let refused = read(&other.path().join("elsewhere"));
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("is no other mount of"), "{told}");
}

#[test]
fn applications_run_alone_and_together() {
    let room = tempfile::tempdir().unwrap();
    let applications = ["--app", "processes=2", "--app", "name=late,start=20ms,operation=read"];
    let load = ["-n", "1", "-r", "4K", "-s", "64K", "--repeat", "2", "--verify", "--seed", "5"];
    let results = json(&room, &[&applications[..], &load].concat());
    let casts = |name: Value| list(&results["runs"]).filter(|run| run["alone"] == name).count();
    assert_eq!([casts(Value::Null), casts("A".into()), casts("late".into())], [2, 2, 2]);
    let factors: Vec<_> =
        list(&results["summaries"]).filter(|one| one["metric"] == "interference").collect();
    assert_eq!(factors.len(), 3, "A writes and reads, the other one reads");
    for factor in factors {
        assert_eq!(factor["runs"], 2);
        assert!(factor["median"].as_f64().unwrap() > 0.0);
        assert_eq!(factor["interval"].as_array().unwrap().len(), 2);
    }
    assert!(is_empty(room.path()));
}

#[test]
fn periods_add_up_and_kept_files_are_named() {
    let room = tempfile::tempdir().unwrap();
    let load = ["-n", "2", "-r", "4K", "-s", "32K", "--periods", "3", "--compute", "2ms", "--keep"];
    let output = bench(room.path(), &[&load[..], &["--format", "csv"]].concat()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name| rows[0].iter().position(|it| *it == name).unwrap();
    let all: Vec<_> = rows.iter().filter(|row| row[column("process")] == "all").collect();
    assert_eq!(all.len(), 2, "{text}");
    for row in all {
        let number = |name| row[column(name)].parse::<u64>().unwrap();
        assert_eq!((number("bytes"), number("requests")), ((3 * 32) << 10, 3 * 8));
        assert!(number("makespan_ns") >= number("io_ns") + 3 * 2_000_000, "computing counts");
    }
    let kept = files(room.path());
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::metadata(kept[0].join("A.shared")).unwrap().len(), 32 << 10);
}

/// The program is halted when its files have been prepared, and a byte is flipped. If it was
/// faster than the halt, that shows, and it is done again.
#[test]
fn a_flipped_byte_is_found_and_named() {
    let room = tempfile::tempdir().unwrap();
    let load = ["-n", "2", "-r", "64K", "-s", "32M", "--operation", "read", "--verify"];
    for _ in 0..20 {
        let program = bench(room.path(), &load).spawn().unwrap();
        let file = until(|| made(room.path()).filter(|it| length(it) > 0));
        let file = file.expect("the preparation writes");
        let pid = Pid::from_raw(program.id() as i32);
        kill(pid, Signal::SIGSTOP).unwrap();
        until(|| children(program.id()).iter().all(|it| has_ended(*it)).then_some(()));
        let flipped = flip(&file, (20 << 20) + 4321);
        kill(pid, Signal::SIGCONT).unwrap();
        let output = program.wait_with_output().unwrap();
        if output.status.success() {
            println!("halted too late (flipped: {flipped}); once more");
            continue;
        }
        let told = String::from_utf8(output.stderr).unwrap();
        for part in ["A.shared", "wrong byte at offset 20975841", "1 wrong bytes in all"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(is_empty(room.path()));
        return;
    }
    panic!("never halted in time");
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let room = tempfile::tempdir().unwrap();
    let load = ["-n", "3", "-r", "4K", "-s", "12M", "--think", "1s"];
    let program = bench(room.path(), &load).spawn().unwrap();
    until(|| made(room.path())).expect("a file is written");
    let workers = children(program.id());
    assert_eq!(workers.len(), 3);
    interrupt(program, room.path());
    assert!(workers.into_iter().all(|it| !Path::new(&format!("/proc/{it}")).exists()));
}

#[test]
fn mounts_are_compared_and_unmounted() {
    if let Some(why) = cannot_mount() {
        println!("skipped: {why}");
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let compare = ["--compare", "policy=fifo,twins,unforwarded", "--mount-options", "servers=2"];
    let load = ["-n", "2", "-r", "4K", "-s", "64K", "--repeat", "2", "--verify"];
    let results = json(&room, &[&compare[..], &load].concat());
    let pairs: Vec<_> = list(&results["pairs"]).collect();
    assert_eq!(pairs.len(), 2 * 3, "three pairs, by writing and by reading");
    for pair in pairs {
        assert!(["different", "not distinguishable"].contains(&pair["verdict"].as_str().unwrap()));
        assert!((0.0..=1.0).contains(&pair["likelihood"].as_f64().unwrap()));
    }
    let runs = list(&results["runs"]).filter(|run| run["setting"] == "twins").count();
    assert_eq!((list(&results["runs"]).count(), runs), (6, 2));
    assert!(is_empty(room.path()));
    assert!(!mounts().contains(&room.path().display().to_string()));
}

#[test]
fn an_interrupted_comparison_is_unmounted() {
    if let Some(why) = cannot_mount() {
        println!("skipped: {why}");
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let load = ["-n", "2", "-r", "4K", "-s", "8M", "--think", "1s", "--repeat", "8"];
    let compare = ["--compare", "policy=fifo,twins"];
    let program = bench(room.path(), &[&load[..], &compare].concat()).spawn().unwrap();
    until(|| made(room.path())).expect("a file is written");
    assert!(mounts().contains(&room.path().display().to_string()), "it works on a mount");
    interrupt(program, room.path());
    assert!(!mounts().contains(&room.path().display().to_string()));
}

#[test]
fn bad_input_is_named_with_what_to_do() {
    let room = tempfile::tempdir().unwrap();
    let file = room.path().join("file");
    fs::write(&file, "").unwrap();
    for (path, arguments, told) in [
        (room.path(), &["-s", "1000K"][..], "--size 1048576"),
        (room.path(), &["-p", "zigzag"], "file-per-process"),
        (room.path(), &["-n", "0"], "1..=4096"),
        (room.path(), &["--compare", "policy"], "policy=fifo,twins"),
        (room.path(), &["--compare", "policy=fifo,fifo"], "twice"),
        (room.path(), &["--app", "name=A", "--app", "name=A"], "called A"),
        (room.path(), &["--direct", "-r", "1000", "-s", "4000"], "sectors"),
        (&file, &[], "not a directory"),
        (Path::new("/no/such/place"), &[], "mkdir"),
    ] {
        let output = bench(path, arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(told), "{arguments:?}: {text}");
    }
    assert_eq!(files(room.path()), [file], "nothing else was left");
}

#[test]
fn an_unknown_policy_is_refused_by_the_mount_and_told() {
    let room = tempfile::tempdir().unwrap();
    let output = bench(room.path(), &["--compare", "policy=fifo,fastest"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let told = text.contains("fastest") || cannot_mount().is_some();
    assert!(!output.status.success() && told, "{text}");
    assert!(is_empty(room.path()));
}

/// The program on a directory, with its mountpoints beside what is tested.
fn bench(path: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iofwd"));
    command.arg("bench").args(arguments).arg(path);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn json(room: &TempDir, arguments: &[&str]) -> Value {
    let output: Output =
        bench(room.path(), &[arguments, &["--format", "json"]].concat()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    serde_json::from_slice(&output.stdout).expect("the output is JSON")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

/// Sends what Ctrl-C sends, and sees that all is cleaned up.
fn interrupt(program: Child, room: &Path) {
    kill(Pid::from_raw(program.id() as i32), Signal::SIGINT).unwrap();
    let output = program.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("interrupted"), "{told}");
    assert!(is_empty(room));
}

/// Waits for something, with a bound.
fn until<T>(mut state: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let found = state();
        if found.is_some() || Instant::now() > end {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn flip(file: &Path, offset: u64) -> bool {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(file) else { return false };
    let mut byte = [0];
    let read = file.read_exact_at(&mut byte, offset);
    read.and_then(|()| file.write_all_at(&[byte[0] ^ 0x10], offset)).is_ok()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

/// The first file that the program has made.
fn made(room: &Path) -> Option<PathBuf> {
    files(room).into_iter().flat_map(|directory| files(&directory)).next()
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |it| it.len())
}

fn is_empty(directory: &Path) -> bool {
    files(directory).is_empty()
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Nobody has waited for it yet, so its number is still its own.
fn has_ended(pid: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z'))
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").unwrap()
}

fn cannot_mount() -> Option<&'static str> {
    if !Path::new("/dev/fuse").exists() {
        Some("there is no /dev/fuse here")
    } else if !nix::unistd::geteuid().is_root() {
        Some("only root may mount without a helper")
    } else {
        None
    }
}
