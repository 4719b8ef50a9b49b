//! Two agents over one directory, or over data servers, two clients, and everything that can be done to
//! them, at random. `IOFWD_FAULTS` says for how many seconds, `IOFWD_SEED` which faults.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::append;
use super::dice::Dice;
use super::fault::Fault;
use super::scene::Scene;
use super::worker::{Work, Worker, stop};

const WORKS: [Work; 4] = [Work::Churn, Work::Append, Work::Shuffle, Work::Lock];

#[test]
fn whatever_is_killed_stopped_or_cut_off_nothing_is_lost_or_done_twice() {
    torment("directory", 0);
}

#[test]
fn whatever_is_done_to_agents_and_data_servers_nothing_is_lost_or_done_twice() {
    torment("servers", 3);
}

/// Everything at random, over a directory or over so many data servers.
fn torment(what: &str, servers: usize) {
    let Some(mut scene) = Scene::start(servers) else { return };
    let seed = number("IOFWD_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let seconds = number("IOFWD_FAULTS").unwrap_or(60);
    println!("{what}: seed {seed}, {seconds} s (IOFWD_SEED, IOFWD_FAULTS)");
    let mut dice = Dice::new(seed);
    let plain = scene.plain().to_owned();
    let start = |number: usize| {
        let place = scene.mounts[number / WORKS.len()].path();
        Worker::start(WORKS[number % WORKS.len()], number, place, &plain, seed)
    };
    let mut workers: Vec<Worker> = (0..2 * WORKS.len()).map(start).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    while Instant::now() < end {
        for fault in hit(&mut scene, &mut dice) {
            *counts.entry(fault.to_string()).or_default() += 1;
        }
        workers.iter_mut().for_each(Worker::check);
        get_on(&mut workers);
    }
    stop(&plain);
    let done: Vec<u64> =
        workers.into_iter().map(|worker| worker.end(Duration::from_secs(60))).collect();
    let total: u32 = counts.values().sum();
    println!("{what}: faults {total} {counts:?}; done {done:?}");
    let is_append = |number: &usize| WORKS[number % WORKS.len()] == Work::Append;
    let appended = done.iter().copied().enumerate().filter(|(number, _)| is_append(number));
    append::check(scene.mounts[0].path(), &appended.collect());
    scene.end();
    println!("{what}: nothing lost, nothing done twice, nothing left");
}

/// One fault, or two that overlap.
fn hit(scene: &mut Scene, dice: &mut Dice) -> Vec<Fault> {
    let first = Fault::any(scene, dice);
    let mut faults = vec![first];
    first.inflict(scene);
    std::thread::sleep(first.time(dice));
    let second = Fault::any(scene, dice);
    if dice.below(3) == 0 && first.can_join(second) {
        second.inflict(scene);
        std::thread::sleep(second.time(dice));
        faults.push(second);
    }
    faults.sort_by_key(|fault| fault.is_last());
    for fault in &faults {
        fault.undo(scene);
        std::thread::sleep(Duration::from_millis(dice.below(300) as u64));
    }
    faults
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
