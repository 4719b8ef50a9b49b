//! Clients in network namespaces of their own: they reach the agent, and a link that is cut, a slow
//! one, and a client that vanishes harm nobody else.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;

use super::harness::{Agent, Mount, Network, eventually};

#[test]
fn clients_in_two_networks_see_one_tree() {
    let Some((_network, _agent, clients)) = two_clients("") else { return };
    let [one, two] = &clients;
    for round in 0..50 {
        let (here, there) = if round % 2 == 0 { (one, two) } else { (two, one) };
        let name = format!("file-{round}");
        fs::write(here.path().join(&name), &name).unwrap();
        assert_eq!(fs::read_to_string(there.path().join(&name)).unwrap(), name);
        fs::remove_file(there.path().join(&name)).unwrap();
        assert!(!here.path().join(&name).exists());
    }
}

#[test]
fn who_is_cut_off_waits_and_nobody_else_does() {
    let Some((network, _agent, clients)) = two_clients("") else { return };
    let [one, two] = &clients;
    let (rounds, end) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let busy = scope.spawn(|| {
            while !end.load(Ordering::Relaxed) {
                small_work(&one.path().join("one")).expect("it only waits");
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        eventually("it works", || rounds.load(Ordering::Relaxed) > 10);
        network.cut(0);
        let during = rounds.load(Ordering::Relaxed);
        let slowest = work_for(CUT, &two.path().join("two"));
        let done = rounds.load(Ordering::Relaxed) - during;
        network.mend(0);
        assert!(done <= 1, "{done} rounds went through a link that was cut");
        assert!(slowest < CUT / 2, "another client waited for {slowest:?}");
        let before = rounds.load(Ordering::Relaxed);
        eventually("it goes on", || rounds.load(Ordering::Relaxed) > before + 10);
        end.store(true, Ordering::Relaxed);
        busy.join().expect("no operation failed");
    });
}

#[test]
fn a_slow_link_slows_nobody_else() {
    let Some((network, _agent, clients)) = two_clients("") else { return };
    let [slow, quick] = &clients;
    let alone = rounds_in(QUICK, &quick.path().join("quick"));
    network.shape(0, "100mbit");
    let (written, end) = (AtomicUsize::new(0), AtomicBool::new(false));
    let beside = thread::scope(|scope| {
        for writer in 0..4 {
            let (path, written, end) = (slow.path().join(format!("{writer}")), &written, &end);
            scope.spawn(move || {
                let file = File::create(path).unwrap();
                while !end.load(Ordering::Relaxed) {
                    file.write_all_at(&vec![1; 1 << 20], 0).unwrap();
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        eventually("the slow link is full", || written.load(Ordering::Relaxed) > 4);
        let beside = rounds_in(QUICK, &quick.path().join("quick"));
        end.store(true, Ordering::Relaxed);
        beside
    });
    println!("{alone} rounds alone, {beside} beside a slow client");
    assert!(beside * 10 > alone, "{alone} rounds alone, {beside} beside a slow client");
}

/// The cable is pulled first, so that the agent hears nothing of its end.
#[test]
fn locks_of_a_client_that_vanished_are_free_when_it_was_silent_for_long_enough() {
    let Some((mut network, _agent, clients)) = two_clients("[limits]\nidle = \"5s\"") else {
        return;
    };
    let [mut gone, left] = clients;
    let [ours, theirs] = [&gone, &left].map(|mount| File::create(mount.path().join("f")).unwrap());
    lock(&ours).unwrap();
    assert_eq!(lock(&theirs), Err(Errno::EWOULDBLOCK));
    network.cut(0);
    gone.server().kill().unwrap();
    gone.ended();
    drop((ours, gone));
    network.remove(0);
    let slowest = work_for(Duration::from_secs(1), &left.path().join("left"));
    assert!(slowest < CUT / 2, "another client waited for {slowest:?}");
    eventually("its lock is free", || lock(&theirs).is_ok());
}

/// Two clients of an agent, each behind a link of its own. What is named last is dropped first.
fn two_clients(settings: &str) -> Option<(Network, Agent, [Mount; 2])> {
    let network = Network::start(2)?;
    let agent = Agent::in_network(&network, settings);
    let clients = [0, 1].map(|number| Mount::across(&network, number, &agent));
    Some((network, agent, clients))
}

/// Works for a time; how long the slowest round took.
fn work_for(time: Duration, path: &Path) -> Duration {
    let end = Instant::now() + time;
    let mut slowest = Duration::ZERO;
    while Instant::now() < end {
        let start = Instant::now();
        small_work(path).unwrap();
        slowest = slowest.max(start.elapsed());
    }
    slowest
}

fn rounds_in(time: Duration, path: &Path) -> usize {
    let end = Instant::now() + time;
    std::iter::repeat_with(|| small_work(path).unwrap())
        .take_while(|()| Instant::now() < end)
        .count()
}

/// A name, a little data, and both again.
fn small_work(path: &Path) -> std::io::Result<()> {
    fs::write(path, [7; 4096])?;
    let read = fs::read(path)?;
    assert!(read == [7; 4096], "what was written is read");
    fs::remove_file(path)
}

fn lock(file: &File) -> nix::Result<i32> {
    // SAFETY: no memory is involved.
    Errno::result(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })
}

const CUT: Duration = Duration::from_secs(3);
const QUICK: Duration = Duration::from_secs(2);
