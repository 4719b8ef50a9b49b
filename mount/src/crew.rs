//! Threads that serve: few while requests are quick, more when they are slow, so that one that
//! takes long holds up no other.
//!
//! A thread that finds the next request as soon as it has answered one costs nothing to wake. So
//! nobody joins merely because all are busy for a moment; a look-out sees whether they are held up.
//! Whoever has joined stays: to start a thread and to make its buffers costs as much as many
//! requests, and one that waits costs nothing but its memory.

mod lookout;

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lookout::is_held_up;
pub use lookout::{Lookout, Watched};
use nix::unistd::{Pid, gettid};

/// What the threads of a crew do.
pub trait Duty: Send + Sync + 'static {
    /// What each thread has for itself.
    type Tools: Send + 'static;

    /// The name of the threads.
    fn name(&self) -> &'static str;

    /// Tools for one more thread.
    fn equip(&self) -> io::Result<Self::Tools>;

    /// Wait for something to do, call `begin`, and do it. `false` when there will be nothing more.
    fn serve(&self, tools: &mut Self::Tools, begin: &dyn Fn()) -> bool;
}

/// How many threads a crew has.
#[derive(Clone, Copy, Debug)]
pub struct Strength {
    /// So many join as soon as there is work for them, and so many more as are held up.
    pub few: usize,
    /// But never more than this.
    pub most: usize,
}

/// The threads of one duty.
#[derive(Debug)]
pub struct Crew<D> {
    duty: D,
    strength: Strength,
    lookout: Arc<Lookout>,
    /// Threads that wait for something to do.
    idle: AtomicUsize,
    served: AtomicU64,
    /// How much was served when the look-out looked last.
    seen: AtomicU64,
    members: Mutex<Members>,
    gone: Condvar,
}

/// The threads of a crew: how many there are, and those that have come to work.
#[derive(Debug, Default)]
struct Members {
    count: usize,
    threads: Vec<Pid>,
}

impl<D: Duty> Crew<D> {
    /// Begin, with one thread.
    pub fn start(duty: D, strength: Strength, lookout: &Arc<Lookout>) -> io::Result<Arc<Crew<D>>> {
        let crew = Arc::new(Crew {
            duty,
            strength,
            lookout: Arc::clone(lookout),
            idle: AtomicUsize::new(0),
            served: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            members: Mutex::default(),
            gone: Condvar::new(),
        });
        crew.enlist(1)?;
        let watched: Arc<dyn Watched> = Arc::clone(&crew) as Arc<dyn Watched>;
        lookout.watch(&watched);
        Ok(crew)
    }

    /// What they do.
    pub fn duty(&self) -> &D {
        &self.duty
    }

    /// Wait until the last thread has left.
    pub fn wait(&self) {
        let mut members = self.members();
        while members.count > 0 {
            members = self.gone.wait(members).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One more thread, unless there are so many.
    fn enlist(self: &Arc<Crew<D>>, most: usize) -> io::Result<()> {
        let mut members = self.members();
        if members.count >= most {
            return Ok(());
        }
        let tools = self.duty.equip()?;
        let crew = Arc::clone(self);
        thread::Builder::new().name(self.duty.name().into()).spawn(move || {
            crew.members().threads.push(gettid());
            crew.work(tools);
            let mut members = crew.members();
            members.count -= 1;
            members.threads.retain(|thread| *thread != gettid());
            crew.gone.notify_all();
        })?;
        members.count += 1;
        Ok(())
    }

    fn work(self: &Arc<Crew<D>>, mut tools: D::Tools) {
        loop {
            self.idle.fetch_add(1, Ordering::Relaxed);
            let begun = std::cell::Cell::new(false);
            let goes_on = self.duty.serve(&mut tools, &|| {
                begun.set(true);
                if self.idle.fetch_sub(1, Ordering::Relaxed) == 1 {
                    self.nobody_listens();
                }
            });
            if begun.get() {
                self.served.fetch_add(1, Ordering::Relaxed);
            } else {
                self.idle.fetch_sub(1, Ordering::Relaxed);
            }
            if !goes_on {
                return;
            }
        }
    }

    fn nobody_listens(self: &Arc<Crew<D>>) {
        if self.members().count < self.strength.few {
            self.reinforce(self.strength.few);
        } else {
            self.lookout.alert();
        }
    }

    fn reinforce(self: &Arc<Crew<D>>, most: usize) {
        if let Err(error) = self.enlist(most) {
            tracing::warn!(%error, "cannot start another thread; going on with those there are");
        }
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Duty> Watched for Crew<D> {
    fn look(self: Arc<Self>, since: Duration) {
        let served = self.served.load(Ordering::Relaxed);
        let quick = served.wrapping_sub(self.seen.swap(served, Ordering::Relaxed));
        if self.idle.load(Ordering::Relaxed) > 0 {
            return;
        }
        let threads = self.members().threads.clone();
        let enough = since.as_micros() as u64 * threads.len() as u64 / SLOW.as_micros() as u64;
        if quick >= enough {
            return;
        }
        let held_up = threads.iter().filter(|thread| is_held_up(**thread)).count();
        if threads.len() - held_up < self.strength.few {
            // Half as many again each time: a burst of slow requests is met within milliseconds.
            for _ in 0..held_up.div_ceil(2) {
                self.reinforce(self.strength.most);
            }
        }
    }
}

/// What takes longer than this on the average may be waiting for something.
const SLOW: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    /// Does jobs; a job is something to wait for.
    struct Waiting {
        jobs: Mutex<Receiver<Receiver<()>>>,
        begun: Sender<()>,
    }

    impl Duty for Waiting {
        type Tools = ();

        fn name(&self) -> &'static str {
            "waiting"
        }

        fn equip(&self) -> io::Result<()> {
            Ok(())
        }

        fn serve(&self, (): &mut (), begin: &dyn Fn()) -> bool {
            let job = self.jobs.lock().expect("nobody panics").recv();
            let Ok(job) = job else { return false };
            begin();
            self.begun.send(()).expect("the test listens");
            let _ = job.recv();
            true
        }
    }

    fn crew(strength: Strength) -> (Arc<Crew<Waiting>>, Sender<Receiver<()>>, Receiver<()>) {
        let (give, jobs) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let duty = Waiting { jobs: Mutex::new(jobs), begun };
        let lookout = Lookout::start().expect("a thread");
        (Crew::start(duty, strength, &lookout).expect("a thread"), give, begins)
    }

    #[test]
    fn requests_that_take_long_hold_up_no_other() {
        let (crew, give, begins) = crew(Strength { few: 1, most: 8 });
        let mut ends = Vec::new();
        for _ in 0..8 {
            let (end, job) = mpsc::channel();
            ends.push(end);
            give.send(job).expect("the crew listens");
        }
        for nth in 0..8 {
            let begun = begins.recv_timeout(Duration::from_secs(20));
            assert!(begun.is_ok(), "request {nth} waits for another");
        }
        drop((give, ends));
        crew.wait();
    }

    #[test]
    fn quick_requests_leave_the_crew_small() {
        let (crew, give, begins) = crew(Strength { few: 1, most: 8 });
        for _ in 0..1000 {
            let (end, job) = mpsc::channel();
            drop(end);
            give.send(job).expect("the crew listens");
            begins.recv_timeout(Duration::from_secs(20)).expect("served");
        }
        let threads = crew.members().count;
        assert!(threads <= 2, "{threads} threads");
        drop(give);
        crew.wait();
    }
}
