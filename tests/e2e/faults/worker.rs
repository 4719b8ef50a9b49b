//! A worker is a process of its own: this test program, started once more. A process of which a
//! thread waits for a mount cannot start others, and the test has to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::dice::Dice;
use super::{append, churn, lock, phases, shuffle};

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Makes, renames and removes names of its own.
    Churn,
    /// Appends to a file that others append to.
    Append,
    /// Writes, reads and cuts off a file of its own.
    Shuffle,
    /// Takes locks that others take.
    Lock,
    /// Goes on, when it is told to, with a file that has lost its name.
    Unlinked,
    /// Goes on, when it is told to, with a file that it has locked, and with one that it has not.
    Holding,
    /// Writes, when it is told to.
    Writing,
}

const ALL: [Work; 7] = [
    Work::Churn,
    Work::Append,
    Work::Shuffle,
    Work::Lock,
    Work::Unlinked,
    Work::Holding,
    Work::Writing,
];

/// Where and how a worker works.
pub(crate) struct Task {
    /// On the mount.
    pub(crate) place: PathBuf,
    /// Not on it: for what is written down.
    pub(crate) plain: PathBuf,
    pub(crate) number: usize,
    pub(crate) dice: Dice,
}

impl Task {
    /// Whether it is to go on; what it has done so far is told outside.
    pub(crate) fn goes_on(&self, done: u64) -> bool {
        fs::write(self.plain.join(format!("done-{}", self.number)), done.to_string()).unwrap();
        !self.plain.join("stop").exists()
    }
}

/// A running worker.
pub(crate) struct Worker {
    child: Child,
    number: usize,
    plain: PathBuf,
}

impl Worker {
    pub(crate) fn start(work: Work, number: usize, place: &Path, plain: &Path, seed: u64) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        let log = fs::File::create(plain.join(format!("log-{number}"))).unwrap();
        command
            .args(["--exact", "--ignored", "--nocapture", "e2e::faults::worker::works"])
            .env(WORK, format!("{work:?}"))
            .env("IOFWD_WORK_PLACE", place)
            .env("IOFWD_WORK_PLAIN", plain)
            .env("IOFWD_WORK_NUMBER", number.to_string())
            .env("IOFWD_WORK_SEED", seed.to_string())
            .stdin(Stdio::null())
            .stderr(log.try_clone().unwrap())
            .stdout(log);
        let child = command.spawn().expect("this program can be started");
        Self { child, number, plain: plain.to_owned() }
    }

    /// How much it has done.
    pub(crate) fn done(&self) -> u64 {
        let text = fs::read_to_string(self.plain.join(format!("done-{}", self.number)));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// It has not ended, as it would have by an error.
    pub(crate) fn check(&mut self) {
        let ended = self.child.try_wait().expect("it is our child");
        assert!(ended.is_none(), "worker {} ended: {ended:?}\n{}", self.number, self.log());
    }

    /// Kills it; how long it takes to be gone.
    pub(crate) fn kill(mut self) -> Duration {
        let begun = Instant::now();
        self.child.kill().expect("it runs");
        while self.child.try_wait().expect("it is our child").is_none() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it cannot be killed");
            std::thread::sleep(Duration::from_millis(5));
        }
        begun.elapsed()
    }

    /// It ends when it is told to, and has met no error.
    pub(crate) fn end(mut self, patience: Duration) -> u64 {
        let end = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                assert!(status.success(), "worker {}: {status}\n{}", self.number, self.log());
                return self.done();
            }
            assert!(Instant::now() < end, "worker {} hangs\n{}", self.number, self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.plain.join(format!("log-{}", self.number))).unwrap_or_default()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Tells all workers of a place to end.
pub(crate) fn stop(plain: &Path) {
    fs::write(plain.join("stop"), "").expect("a file can be made");
}

/// What a worker process runs.
#[test]
#[ignore = "part of other tests"]
fn works() {
    let Some(work) = std::env::var(WORK).ok() else { return };
    let given = |name: &str| std::env::var(format!("IOFWD_WORK_{name}")).expect("it is given");
    let number = given("NUMBER").parse().expect("a number");
    let seed: u64 = given("SEED").parse().expect("a number");
    let dice = Dice::new(seed.wrapping_add(number as u64));
    let task = Task { place: given("PLACE").into(), plain: given("PLAIN").into(), number, dice };
    match ALL.into_iter().find(|one| format!("{one:?}") == work).expect("one of them") {
        Work::Churn => churn::work(task),
        Work::Append => append::work(task),
        Work::Shuffle => shuffle::work(task),
        Work::Lock => lock::work(task),
        Work::Unlinked => phases::unlinked(&task),
        Work::Holding => phases::holding(&task),
        Work::Writing => phases::writing(&task),
    }
}

const WORK: &str = "IOFWD_WORK";
