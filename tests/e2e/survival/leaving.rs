//! Unmounting, and being told to end, while there is no agent.

use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::e2e::faults::phases::{go, result};
use crate::e2e::faults::worker::{Work, Worker};
use crate::e2e::harness::{Agent, Mount, eventually, program};

#[test]
fn a_client_that_is_told_to_end_without_an_agent_names_what_was_not_written() {
    let Some(mut agent) = Agent::start("") else { return };
    let mut mount = Mount::remote(&agent, &agent.over_tcp(), &["--loss-bound=1"]);
    let worker = Worker::start(Work::Writing, 0, mount.path(), mount.plain(), 1);
    eventually("it is ready", || worker.done() == 1);
    agent.kill();
    go(mount.plain());
    eventually("it got an error", || result(mount.plain(), "result-1").is_some());
    let process = Pid::from_raw(mount.server().id() as i32);
    let begun = Instant::now();
    kill(process, Signal::SIGTERM).unwrap();
    let status = mount.ended();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(status.code(), Some(1));
    assert!(mount.said().contains("not written: written (1 bytes)"), "{}", mount.said());
    worker.kill();
    // It ended with an error on purpose, and the harness wants a good end.
    mount.forget();
}

#[test]
fn unmounting_without_an_agent_gives_up_in_time_and_the_mount_goes_on() {
    let Some(mut agent) = Agent::start("") else { return };
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    agent.kill();
    let mut command = Command::new(program());
    let output = command.args(["unmount", "--timeout=1"]).arg(mount.path()).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("not unmounted") && said.contains("waits for its agent"), "{said}");
    agent.start_again();
    std::fs::write(mount.path().join("file"), "x").unwrap();
}

/// Whoever takes the mount out of the tree does not take away what is being written.
#[test]
fn a_lazy_unmount_without_an_agent_ends_when_there_is_one() {
    let Some(mut agent) = Agent::start("") else { return };
    let mut mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let worker = Worker::start(Work::Writing, 0, mount.path(), mount.plain(), 1);
    eventually("it is ready", || worker.done() == 1);
    agent.kill();
    go(mount.plain());
    let detached = Command::new("umount").arg("-l").arg(mount.path()).status().unwrap();
    assert!(detached.success());
    crate::e2e::faults::worker::stop(mount.plain());
    agent.start_again();
    worker.end(Duration::from_secs(20));
    assert!(mount.ended().success());
    assert_eq!(std::fs::read(mount.backing().join("written")).unwrap(), b"x");
}
