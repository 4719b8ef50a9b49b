//! Jobs of real processes, and of made-up ones that do not answer.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use super::*;

fn jobs() -> Jobs {
    real(&["IOFWD_TEST_JOB", "IOFWD_TEST_OTHER"])
}

/// Jobs of real processes, on a machine that may be busy.
fn real(variables: &[&str]) -> Jobs {
    let variables = variables.iter().copied().map(String::from).collect();
    Jobs::below("/proc".into(), variables, Duration::from_secs(60))
}

/// Jobs of made-up processes.
fn made_up(table: &Path, patience: Duration) -> Jobs {
    Jobs::below(table.into(), vec!["IOFWD_TEST_JOB".into()], patience)
}

/// A process that waits, and ends with the test.
struct Process(Child);

impl Process {
    fn with(variables: &[(&str, &str)]) -> Process {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).env_clear();
        command.env("PATH", "/usr/bin:/bin").envs(variables.iter().copied());
        Process::start(&mut command)
    }

    /// Start it, and wait until it has an environment: that comes a little later.
    fn start(command: &mut Command) -> Process {
        let process = Process(command.spawn().expect("cat and sh are everywhere"));
        let environment = format!("/proc/{}/environ", process.pid());
        for _ in 0..1000 {
            if std::fs::read(&environment).is_ok_and(|bytes| !bytes.is_empty()) {
                return process;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("process {} has no environment after 10 s", process.pid());
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A table of processes with one entry.
fn table(pid: u32, started: u64, environment: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(directory.path().join(pid.to_string())).expect("a process");
    set(directory.path(), pid, started, environment);
    directory
}

fn set(table: &Path, pid: u32, started: u64, environment: &[u8]) {
    let place = table.join(pid.to_string());
    let zeros = "0 ".repeat(18);
    let stat = format!("{pid} (x) S {zeros}{started} 0\n");
    std::fs::write(place.join("stat"), stat).expect("a file");
    std::fs::write(place.join("environ"), environment).expect("a file");
}

#[test]
fn numbers_texts_and_users_have_spaces_of_their_own() {
    let number = Process::with(&[("IOFWD_TEST_JOB", "42")]);
    let text = Process::with(&[("IOFWD_TEST_OTHER", "42.head")]);
    let none = Process::with(&[("IOFWD_TEST_JOB", "")]);
    let jobs = jobs();
    let job = jobs.of(number.pid(), 1000);
    assert_eq!((job.id, &*job.name), (42, "42"));
    let job = jobs.of(text.pid(), 1000);
    assert_eq!((job.id >> 63, &*job.name), (1, "42.head"));
    assert_eq!(jobs.of(none.pid(), 42), Job::of_user(42));
    assert_eq!(Job::of_user(42).id, 1 << 62 | 42);
    assert_eq!(&*Job::of_user(42).name, "uid 42");
}

#[test]
fn numbers_that_would_reach_into_another_space_are_texts() {
    let job = |value: &str| {
        let named = environment::find(format!("J={value}").as_bytes(), &["J".into()]);
        Job::named(named.expect("it is set")).id
    };
    assert_eq!(job(&(USER - 1).to_string()), USER - 1);
    for number in [USER, USER | 1000, HASHED, u64::MAX] {
        assert_eq!(job(&number.to_string()) & HASHED, HASHED);
        assert_ne!(job(&number.to_string()), number);
    }
}

#[test]
fn a_thread_has_the_job_of_its_process() {
    let (tell, told) = mpsc::channel();
    let (stop, stopped) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let _ = tell.send(nix::unistd::gettid().as_raw() as u32);
        let _ = stopped.recv();
    });
    let tid = told.recv().expect("its number");
    // Cargo sets this for every test.
    let jobs = real(&["CARGO_PKG_NAME"]);
    assert_eq!(&*jobs.of(tid, 0).name, "iofwd");
    assert_eq!(jobs.of(tid, 0), jobs.of(std::process::id(), 0));
    drop(stop);
    thread.join().expect("no panic");
}

#[test]
fn who_is_gone_or_unknown_counts_by_user() {
    let process = Process::with(&[("IOFWD_TEST_JOB", "42")]);
    let pid = process.pid();
    drop(process);
    assert_eq!(jobs().of(pid, 7), Job::of_user(7));
    assert_eq!(jobs().of(0, 7), Job::of_user(7));
    assert_eq!(jobs().of(u32::MAX, 7), Job::of_user(7));
    let process = Process::with(&[("IOFWD_TEST_JOB", "42")]);
    assert_eq!(Jobs::new(Vec::new()).of(process.pid(), 7), Job::of_user(7));
}

#[test]
fn a_job_is_trusted_for_a_second_and_then_checked() {
    let table = table(7, 100, b"IOFWD_TEST_JOB=1\0");
    let jobs = made_up(table.path(), Duration::from_secs(60));
    let start = Instant::now();
    let at = |milliseconds| jobs.of_at(7, 0, start + Duration::from_millis(milliseconds)).id;
    assert_eq!(at(0), 1);
    // The same number is another process now, but nobody looks yet.
    set(table.path(), 7, 200, b"IOFWD_TEST_JOB=2\0");
    assert_eq!(at(999), 1);
    assert_eq!(at(1000), 2);
    // The same process is not read again.
    set(table.path(), 7, 200, b"IOFWD_TEST_JOB=3\0");
    assert_eq!(at(5000), 2);
    assert_eq!(at(5999), 2);
    // A process that is gone has no job.
    std::fs::remove_file(table.path().join("7/stat")).expect("it was there");
    assert_eq!(at(5999), 2);
    assert_eq!(at(6000), Job::of_user(0).id);
}

#[test]
fn a_process_that_becomes_another_program_is_read_again() {
    let mut command = Command::new("sh");
    command.args(["-c", "read line; export IOFWD_TEST_JOB=43; exec cat"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).env("IOFWD_TEST_JOB", "42");
    let mut process = Process::start(&mut command);
    let jobs = jobs();
    let start = Instant::now();
    assert_eq!(jobs.of_at(process.pid(), 0, start).id, 42);
    use std::io::{Read, Write};
    let mut input = process.0.stdin.take().expect("piped");
    input.write_all(b"go on\nsay this back").expect("written");
    let mut said = [0; 13];
    process.0.stdout.take().expect("piped").read_exact(&mut said).expect("cat answers");
    assert_eq!(jobs.of_at(process.pid(), 0, start).id, 42, "trusted");
    assert_eq!(jobs.of_at(process.pid(), 0, start + TRUSTED).id, 43);
}

#[test]
fn nobody_waits_long_for_an_environment_that_cannot_be_read() {
    let table = table(7, 100, b"");
    let environ = table.path().join("7/environ");
    std::fs::remove_file(&environ).expect("it was there");
    // To open a pipe that nobody writes to takes for ever, as a lock that is not released does.
    nix::unistd::mkfifo(&environ, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    std::fs::create_dir(table.path().join("8")).expect("a process");
    set(table.path(), 8, 100, b"IOFWD_TEST_JOB=5\0");
    let jobs = made_up(table.path(), Duration::from_secs(1));
    let start = Instant::now();
    assert_eq!(jobs.of_at(7, 9, start), Job::of_user(9));
    // Others are not held up by it.
    assert_eq!(jobs.of_at(8, 9, start).id, 5);
    // It is not asked for again at once, but later.
    assert_eq!(jobs.of_at(7, 9, start), Job::of_user(9));
    let writer = std::fs::OpenOptions::new().write(true).open(&environ).expect("a reader waits");
    drop(writer);
    std::fs::remove_file(&environ).expect("it was there");
    set(table.path(), 7, 100, b"IOFWD_TEST_JOB=6\0");
    assert_eq!(jobs.of_at(7, 9, start + TRUSTED).id, 6);
}

#[test]
fn what_is_remembered_is_bounded() {
    let table = tempfile::tempdir().expect("a directory");
    let jobs = made_up(table.path(), Duration::from_secs(60));
    let start = Instant::now();
    for pid in 1..=MOST as u32 + 10 {
        jobs.of_at(pid, 0, start);
    }
    assert!(jobs.known.len() <= MOST);
    let later = start + TRUSTED;
    for pid in 1..=MOST as u32 + 10 {
        jobs.of_at(pid, 0, later);
    }
    assert!(jobs.known.len() <= MOST);
}

#[test]
fn many_ask_at_once() {
    let processes: Vec<Process> = (0..8)
        .map(|number| Process::with(&[("IOFWD_TEST_JOB", &(100 + number).to_string())]))
        .collect();
    let jobs = jobs();
    std::thread::scope(|scope| {
        for (number, process) in (100..).zip(&processes) {
            let jobs = &jobs;
            scope.spawn(move || {
                let start = Instant::now();
                for round in 0..50 {
                    let now = start + TRUSTED * round;
                    assert_eq!(jobs.of_at(process.pid(), 0, now).id, number);
                }
            });
        }
    });
}
