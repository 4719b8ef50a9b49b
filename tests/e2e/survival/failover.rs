//! Two agents over one directory: clients of the one go on with the other.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::e2e::faults::append;
use crate::e2e::faults::worker::{Work, Worker, stop};
use crate::e2e::harness::{Agent, Mount, eventually};

#[test]
fn clients_go_on_with_another_agent_whenever_theirs_is_killed() {
    let Some(mut first) = Agent::start("") else { return };
    let mut second = first.successor("");
    let sources = [first.or(&second), second.or(&first)];
    let mounts = sources.map(|source| Mount::remote(&first, &source, &[]));
    let plain = mounts[0].plain().to_owned();
    let works = [Work::Churn, Work::Append, Work::Append, Work::Lock, Work::Lock, Work::Shuffle];
    let start = |(number, work): (usize, &Work)| {
        Worker::start(*work, number, mounts[number % 2].path(), &plain, 7)
    };
    let mut workers: Vec<Worker> = works.iter().enumerate().map(start).collect();
    for round in 0..6 {
        get_on(&mut workers);
        let [gone, left] =
            if round % 2 == 0 { [&mut first, &mut second] } else { [&mut second, &mut first] };
        gone.kill();
        get_on(&mut workers);
        assert_eq!(left.number("clients"), 2);
        gone.start_again();
    }
    stop(&plain);
    let done: Vec<u64> =
        workers.into_iter().map(|worker| worker.end(Duration::from_secs(20))).collect();
    let appended: BTreeMap<usize, u64> =
        done.iter().copied().enumerate().filter(|(n, _)| works[*n] == Work::Append).collect();
    append::check(mounts[0].backing(), &appended);
}

/// An agent that only looks dead must not wake up and do what another one has done since.
#[test]
fn a_client_leaves_an_agent_that_does_not_answer_and_it_does_no_harm() {
    let limits = "[limits]\nidle = \"2s\"";
    let Some(mut first) = Agent::start(limits) else { return };
    let second = first.successor(limits);
    let mount = Mount::remote(&first, &first.or(&second), &[]);
    let plain = mount.plain().to_owned();
    let works = [Work::Churn, Work::Append, Work::Shuffle];
    let start =
        |(number, work): (usize, &Work)| Worker::start(*work, number, mount.path(), &plain, 3);
    let mut workers: Vec<Worker> = works.iter().enumerate().map(start).collect();
    get_on(&mut workers);
    first.signal(Signal::SIGSTOP);
    eventually("the client has looked for another agent", || {
        std::fs::read_dir(second.state().join("wanted")).unwrap().count() > 0
    });
    first.signal(Signal::SIGCONT);
    get_on(&mut workers);
    eventually("the client is at the other agent", || second.number("clients") == 1);
    assert_eq!(first.number("clients"), 0);
    stop(&plain);
    let done: Vec<u64> =
        workers.into_iter().map(|worker| worker.end(Duration::from_secs(20))).collect();
    append::check(mount.backing(), &BTreeMap::from([(1, done[1])]));
}

/// Every worker does a little more.
fn get_on(workers: &mut [Worker]) {
    let before: Vec<u64> = workers.iter().map(Worker::done).collect();
    eventually("every worker gets on", || {
        workers.iter_mut().for_each(Worker::check);
        workers.iter().zip(&before).all(|(worker, before)| worker.done() > before + 10)
    });
}
