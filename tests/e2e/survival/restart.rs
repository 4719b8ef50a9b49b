//! One agent, killed and started again: applications wait, and go on.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::e2e::faults::append;
use crate::e2e::faults::worker::{Work, Worker, stop};
use crate::e2e::harness::{Agent, Mount, eventually};

/// Kills it so often, each time when every worker has got on.
const KILLS: usize = 12;

#[test]
fn names_are_made_once_whenever_the_agent_is_killed() {
    under_kills(&[Work::Churn, Work::Churn]);
}

#[test]
fn appends_are_neither_lost_nor_torn_nor_doubled_whenever_the_agent_is_killed() {
    under_kills(&[Work::Append, Work::Append, Work::Append]);
}

#[test]
fn data_are_what_was_written_whenever_the_agent_is_killed() {
    under_kills(&[Work::Shuffle, Work::Shuffle]);
}

#[test]
fn locks_are_held_by_one_whenever_the_agent_is_killed() {
    under_kills(&[Work::Lock, Work::Lock, Work::Lock]);
}

/// As when a new version is installed: it is told to end, finishes what it took, and another one is
/// started.
#[test]
fn an_agent_is_replaced_by_a_new_one_under_load() {
    under(&[Work::Shuffle, Work::Append, Work::Churn, Work::Lock], |agent| {
        agent.end();
        assert!(agent.said().contains(" 0 lost"), "{}", agent.said());
        agent.start_again();
    });
}

fn under_kills(works: &[Work]) {
    under(works, Agent::start_again);
}

fn under(works: &[Work], disturb: impl Fn(&mut Agent)) {
    let Some(mut agent) = Agent::start("") else { return };
    let mounts = [(); 2].map(|()| Mount::remote(&agent, &agent.over_tcp(), &[]));
    let plain = mounts[0].plain().to_owned();
    let start = |(number, work): (usize, &Work)| {
        Worker::start(*work, number, mounts[number % 2].path(), &plain, 42)
    };
    let mut workers: Vec<Worker> = works.iter().enumerate().map(start).collect();
    for _ in 0..KILLS {
        let before: Vec<u64> = workers.iter().map(Worker::done).collect();
        eventually("every worker gets on", || {
            workers.iter_mut().for_each(Worker::check);
            workers.iter().zip(&before).all(|(worker, before)| worker.done() > before + 20)
        });
        disturb(&mut agent);
    }
    finish(workers, works, &plain, mounts[0].backing());
}

/// Everybody ends well, and what is there is what they did.
fn finish(workers: Vec<Worker>, works: &[Work], plain: &Path, backing: &Path) {
    stop(plain);
    let ends = |worker: Worker| worker.end(Duration::from_secs(20));
    let done: Vec<u64> = workers.into_iter().map(ends).collect();
    let appended: BTreeMap<usize, u64> =
        done.iter().copied().enumerate().filter(|(n, _)| works[*n] == Work::Append).collect();
    if !appended.is_empty() {
        append::check(backing, &appended);
    }
}
