//! Two agents over one directory, two clients, and everything that can be done to them, at random.
//! `IOFWD_FAULTS` says for how many seconds, `IOFWD_SEED` which faults.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::e2e::harness::{Agent, Mount, Network, eventually};

use super::append;
use super::dice::Dice;
use super::worker::{Work, Worker, stop};

const LIMITS: &str = "[limits]\nidle = \"3s\"\ngrace = \"30s\"";
const WORKS: [Work; 4] = [Work::Churn, Work::Append, Work::Shuffle, Work::Lock];

/// What is done to an agent or a client, and undone after a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Kill,
    KillBoth,
    Restart,
    Stop,
    Cut,
}

const FAULTS: [Fault; 5] = [Fault::Kill, Fault::KillBoth, Fault::Restart, Fault::Stop, Fault::Cut];

#[test]
fn whatever_is_killed_stopped_or_cut_off_nothing_is_lost_or_done_twice() {
    let Some(network) = Network::start(2) else { return };
    let seed = number("IOFWD_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let seconds = number("IOFWD_FAULTS").unwrap_or(60);
    println!("seed {seed}, {seconds} s (IOFWD_SEED, IOFWD_FAULTS)");
    let mut dice = Dice::new(seed);
    let first = Agent::in_network(&network, LIMITS);
    let second = first.successor_in_network(&network, LIMITS);
    let mounts = [first.across_or(&second, 0), second.across_or(&first, 1)];
    let mounts = [0, 1].map(|client| {
        Mount::across_by(&network, client, &first, &mounts[client], &["--loss-bound=600"])
    });
    let (plain, backing) = (mounts[0].plain().to_owned(), mounts[0].backing().to_owned());
    let start = |number: usize| {
        let place = mounts[number / WORKS.len()].path();
        Worker::start(WORKS[number % WORKS.len()], number, place, &plain, seed)
    };
    let mut workers: Vec<Worker> = (0..2 * WORKS.len()).map(start).collect();
    let mut agents = [first, second];
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut counts: BTreeMap<Fault, u32> = BTreeMap::new();
    while Instant::now() < end {
        let fault = FAULTS[dice.below(FAULTS.len())];
        inflict(fault, &mut agents, &network, &mut dice);
        *counts.entry(fault).or_default() += 1;
        workers.iter_mut().for_each(Worker::check);
        get_on(&mut workers);
    }
    stop(&plain);
    let done: Vec<u64> =
        workers.into_iter().map(|worker| worker.end(Duration::from_secs(60))).collect();
    println!("faults {counts:?}; done {done:?}");
    let is_append = |number: &usize| WORKS[number % WORKS.len()] == Work::Append;
    let appended = done.iter().copied().enumerate().filter(|(number, _)| is_append(number));
    append::check(&backing, &appended.collect());
    let state = agents[0].state().to_owned();
    drop(mounts);
    for room in ["sessions", "wanted", "locks", "kept"] {
        let is_empty = || fs::read_dir(state.join(room)).unwrap().count() == 0;
        eventually(&format!("nothing is left in {room}"), is_empty);
    }
    drop(agents);
}

/// Do it, wait, undo it.
fn inflict(fault: Fault, agents: &mut [Agent; 2], network: &Network, dice: &mut Dice) {
    let which = dice.below(2);
    let time = Duration::from_millis(dice.below(1500) as u64);
    match fault {
        Fault::Kill => {
            agents[which].kill();
            std::thread::sleep(time);
            agents[which].start_again();
        }
        Fault::KillBoth => {
            agents.iter_mut().for_each(Agent::kill);
            std::thread::sleep(time);
            agents.iter_mut().for_each(Agent::start_again);
        }
        Fault::Restart => {
            agents[which].end();
            agents[which].start_again();
        }
        // Long enough, now and then, for clients to give it up.
        Fault::Stop => {
            agents[which].signal(Signal::SIGSTOP);
            std::thread::sleep(time * 4);
            agents[which].signal(Signal::SIGCONT);
        }
        Fault::Cut => {
            network.cut(which);
            std::thread::sleep(time * 4);
            network.mend(which);
        }
    }
}

/// Every worker does a little more: nobody hangs.
fn get_on(workers: &mut [Worker]) {
    let before: Vec<u64> = workers.iter().map(Worker::done).collect();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        workers.iter_mut().for_each(Worker::check);
        let stuck: Vec<usize> =
            (0..workers.len()).filter(|at| workers[*at].done() <= before[*at]).collect();
        if stuck.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "workers {stuck:?} do not get on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
