//! Clients in network namespaces of their own: they reach the agent, and a link that is cut, a slow
//! one, and a client that vanishes harm nobody else.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use super::harness::{Agent, Mount, Network, eventually, lock, lock_range};

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
    let mut worker = Worker::start(one.path(), one.plain());
    eventually("it works", || worker.rounds() > 10);
    network.cut(0);
    let before = worker.rounds();
    let slowest = work_for(CUT, &two.path().join("two"));
    let done = worker.rounds() - before;
    network.mend(0);
    assert!(done <= 1, "{done} rounds went through a link that was cut");
    assert!(slowest < CUT / 2, "another client waited for {slowest:?}");
    eventually("it goes on", || worker.rounds() > before + 10);
    worker.check();
}

/// Another process that writes and reads, because a process of which a thread waits for a mount
/// cannot start others: these would wait as well, when they close the files of the first.
struct Worker {
    process: Child,
    count: PathBuf,
}

impl Worker {
    fn start(place: &Path, plain: &Path) -> Self {
        let count = plain.join("count");
        let script = "n=0; while :; do \
                      echo $n > \"$1\"; read back < \"$1\"; [ $back = $n ]; \
                      n=$((n + 1)); printf x >> \"$2\"; done";
        let mut command = Command::new("sh");
        command.args(["-ec", script, "sh"]).arg(place.join("file")).arg(&count);
        Self { process: command.spawn().expect("there is a shell"), count }
    }

    fn rounds(&self) -> u64 {
        fs::metadata(&self.count).map_or(0, |count| count.len())
    }

    /// It has met no error, or it would have ended.
    fn check(&mut self) {
        let ended = self.process.try_wait().expect("it is our child");
        assert!(ended.is_none(), "it only waits, but ended with {ended:?}");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_slow_link_slows_nobody_else() {
    let Some((network, _agent, clients)) = two_clients("") else { return };
    let [slow, quick] = &clients;
    let alone = rounds_in(QUICK, &quick.path().join("quick"));
    network.shape(0, "100mbit");
    let (carried, end) = (AtomicUsize::new(0), AtomicBool::new(false));
    let beside = thread::scope(|scope| {
        for number in 0..8 {
            let (path, carried, end) = (slow.path().join(format!("{number}")), &carried, &end);
            scope.spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    large_work(&path, number % 2 == 0);
                    carried.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        eventually("the slow link is full", || carried.load(Ordering::Relaxed) > 8);
        let beside = rounds_in(QUICK, &quick.path().join("quick"));
        end.store(true, Ordering::Relaxed);
        beside
    });
    println!("{alone} rounds alone, {beside} beside a slow client");
    assert!(beside * 10 > alone, "{alone} rounds alone, {beside} beside a slow client");
}

/// A mebibyte there, or there and back.
fn large_work(path: &Path, and_back: bool) {
    let block = vec![1; 1 << 20];
    fs::write(path, &block).unwrap();
    for _ in 0..if and_back { 3 } else { 0 } {
        assert!(fs::read(path).unwrap() == block, "what was written is read");
    }
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
    lock_range(&ours).unwrap();
    assert_eq!(lock(&theirs), Err(Errno::EWOULDBLOCK));
    assert_eq!(lock_range(&theirs), Err(Errno::EAGAIN));
    network.cut(0);
    gone.server().kill().unwrap();
    gone.ended();
    drop((ours, gone));
    network.remove(0);
    let slowest = work_for(Duration::from_secs(1), &left.path().join("left"));
    assert!(slowest < CUT / 2, "another client waited for {slowest:?}");
    eventually("its flock is free", || lock(&theirs).is_ok());
    eventually("its fcntl lock is free", || lock_range(&theirs).is_ok());
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

const CUT: Duration = Duration::from_secs(3);
const QUICK: Duration = Duration::from_secs(2);
