//! What applications see of an agent that is lost for good, or for long.

use std::fs;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::e2e::faults::phases::{go, result};
use crate::e2e::faults::worker::{Work, Worker, stop};
use crate::e2e::harness::{Agent, DataServers, Mount, eventually};

fn one(options: &[&str], work: Work) -> Option<(Agent, Mount, Worker)> {
    let agent = Agent::start("")?;
    let mount = Mount::remote(&agent, &agent.over_unix(), options);
    let worker = Worker::start(work, 0, mount.path(), mount.plain(), 1);
    eventually("it is ready", || worker.done() == 1);
    Some((agent, mount, worker))
}

#[test]
fn a_file_without_a_name_outlives_the_agent() {
    let Some((mut agent, mount, worker)) = one(&[], Work::Unlinked) else { return };
    let kept = agent.state().join("kept");
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 1);
    agent.start_again();
    go(mount.plain());
    worker.end(Duration::from_secs(20));
    assert!(result(mount.plain(), "closed").is_some());
    eventually("nothing is left of it", || fs::read_dir(&kept).unwrap().count() == 0);
}

#[test]
fn whoever_is_killed_while_there_is_no_agent_is_gone() {
    let Some((mut agent, mount, worker)) = one(&[], Work::Writing) else { return };
    agent.kill();
    go(mount.plain());
    // It is on its way into the mount; before or after, it must go.
    std::thread::sleep(Duration::from_millis(300));
    assert!(result(mount.plain(), "result-1").is_none(), "it waits");
    let took = worker.kill();
    assert!(took < Duration::from_secs(5), "{took:?}");
    agent.start_again();
}

#[test]
fn errors_are_for_those_who_asked_for_them_until_there_is_an_agent_again() {
    for options in [&["--on-loss=error"][..], &["--loss-bound=1"]] {
        let Some((mut agent, mount, worker)) = one(options, Work::Writing) else { return };
        agent.kill();
        go(mount.plain());
        eventually("it got an error", || result(mount.plain(), "result-1").is_some());
        let got = result(mount.plain(), "result-1").unwrap();
        assert_eq!(got, format!("{}\n", nix::libc::EIO), "{options:?}");
        agent.start_again();
        stop(mount.plain());
        worker.end(Duration::from_secs(20));
    }
}

/// Everything that was written down of it is gone: the client begins anew. What it may have lost it
/// is told of, and nothing else is.
#[test]
fn a_client_that_nobody_knows_any_more_loses_its_locks_and_says_so() {
    let Some((mut agent, mount, worker)) = one(&[], Work::Holding) else { return };
    agent.kill();
    for entry in fs::read_dir(agent.state().join("sessions")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    agent.start_again();
    go(mount.plain());
    worker.end(Duration::from_secs(20));
    let eio = format!("{}\n", nix::libc::EIO);
    let results = ["free", "whole", "range"].map(|n| result(mount.plain(), &format!("result-{n}")));
    assert_eq!(results, [Some("done\n".into()), Some(eio.clone()), Some(eio)]);
}

/// A program beside the mount takes what the agent held, in the moment in which nobody does.
#[test]
fn a_lock_that_somebody_else_has_taken_is_lost_and_its_holder_is_told() {
    let Some((mut agent, mount, worker)) = one(&[], Work::Holding) else { return };
    agent.kill();
    let file = fs::File::options().write(true).open(mount.backing().join("whole")).unwrap();
    crate::e2e::harness::lock(&file).unwrap();
    agent.start_again();
    go(mount.plain());
    worker.end(Duration::from_secs(20));
    let eio = format!("{}\n", nix::libc::EIO);
    let results = ["free", "whole", "range"].map(|n| result(mount.plain(), &format!("result-{n}")));
    assert_eq!(results, [Some("done\n".into()), Some(eio), Some("done\n".into())]);
}

/// Large writes leave from where they were read. What the agent still finds of one that was given up must
/// not be what later requests put there.
#[test]
fn an_agent_that_wakes_up_writes_what_was_written_or_nothing() {
    let Some(mut agent) = Agent::start("[limits]\nidle = \"2s\"") else { return };
    for source in [agent.over_unix(), agent.over_tcp()] {
        let mount = Mount::remote(&agent, &source, &["--loss-bound=1"]);
        let large = |byte: u8| vec![byte; 1 << 20];
        let path = mount.path().join("file");
        fs::write(&path, large(1)).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        agent.signal(Signal::SIGSTOP);
        for byte in 2..40 {
            assert!(file.write_at(&large(byte), 0).is_err(), "nobody is there");
        }
        agent.signal(Signal::SIGCONT);
        eventually("it is there again", || fs::metadata(&path).is_ok());
        let found = fs::read(mount.backing().join("file")).unwrap();
        // The kernel may have made two requests of it, of which one was sent.
        let strange: Vec<&u8> = found.iter().filter(|byte| !matches!(byte, 1 | 2)).collect();
        assert!(found.len() == 1 << 20 && strange.is_empty(), "{} bytes", strange.len());
    }
}

/// A data server, or the file system behind an agent, that does not answer: applications get an error
/// by the deadline, others go on, and so do they when it answers again.
#[test]
fn calls_of_a_server_that_does_not_answer_end_by_the_deadline() {
    let Some(mut servers) = DataServers::start(2, "64K") else { return };
    let export = format!("{}stripe_count = 1\n", servers.export());
    let agent = Agent::exporting("", &export).expect("data servers could be started");
    let mount = Mount::remote(&agent, &agent.over_tcp(), &["--deadline=2"]);
    let paths: Vec<_> = (0..12).map(|n| mount.path().join(format!("file-{n}"))).collect();
    paths.iter().for_each(|path| fs::write(path, b"data").unwrap());
    servers.signal(1, Signal::SIGSTOP);
    let tried = |path: &std::path::PathBuf| match fs::read(path) {
        Ok(data) => {
            assert_eq!(data, b"data");
            true
        }
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(nix::libc::ETIMEDOUT), "{error}");
            false
        }
    };
    let fine: Vec<bool> = std::thread::scope(|scope| {
        let all: Vec<_> = paths.iter().map(|path| scope.spawn(move || tried(path))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    servers.signal(1, Signal::SIGCONT);
    assert!(fine.contains(&true) && fine.contains(&false), "{fine:?}");
    assert!(mount.said().contains("not answered by the deadline"), "{}", mount.said());
    paths.iter().for_each(|path| {
        assert_eq!(fs::read(path).unwrap(), b"data");
        fs::write(path, b"more").unwrap();
    });
    eventually("nothing is under way", || agent.number("open_files") == 0);
}
