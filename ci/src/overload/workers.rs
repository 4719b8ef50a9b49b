//! Who uses the servers: writers that are let through a gate, and others whose operations are counted.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Lets writers through, or not.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(super) fn open(&self) {
        self.set(true);
    }

    pub(super) fn close(&self) {
        self.set(false);
    }

    fn set(&self, is_open: bool) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = is_open;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let is_open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = self.0.1.wait_while(is_open, |is_open| !*is_open);
        drop(passed.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Threads that work until they are told to end, and say what went wrong.
struct Workers {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), String>>>,
}

impl Workers {
    fn start(
        paths: &[PathBuf],
        work: impl Fn(&File, u64) -> std::io::Result<()> + Clone + Send + 'static,
    ) -> Result<Self, String> {
        let end = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for path in paths {
            let explain = |e: std::io::Error, path: &PathBuf| format!("{}: {e}", path.display());
            let file = File::options().read(true).write(true).open(path);
            let file = file.map_err(|e| explain(e, path))?;
            let (end, work, path) = (Arc::clone(&end), work.clone(), path.clone());
            threads.push(thread::spawn(move || {
                let mut rounds = (0..).take_while(|_| !end.load(Ordering::Relaxed));
                rounds.try_for_each(|round| work(&file, round)).map_err(|e| explain(e, &path))
            }));
        }
        Ok(Self { end, threads })
    }

    fn have_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    fn finish(self) -> Result<(), String> {
        self.end.store(true, Ordering::Relaxed);
        // All of them, whatever the first says.
        let ended: Vec<_> = self.threads.into_iter().map(JoinHandle::join).collect();
        let mut ended = ended.into_iter();
        ended.try_for_each(|ended| ended.unwrap_or(Err("a worker panicked".into())))
    }
}

/// Writers of a slow server.
pub(super) struct Slow {
    workers: Workers,
    busy: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
}

impl Slow {
    pub(super) fn start(paths: &[PathBuf], gate: &Gate) -> Result<Self, String> {
        let (busy, written) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (gate, at_work, done) = (gate.clone(), Arc::clone(&busy), Arc::clone(&written));
        let workers = Workers::start(paths, move |file, round| {
            gate.pass();
            at_work.fetch_add(1, Ordering::Relaxed);
            let result = file.write_all_at(&vec![round as u8; MIB], round % 4 * MIB as u64);
            at_work.fetch_sub(1, Ordering::Relaxed);
            done.fetch_add(1, Ordering::Relaxed);
            result
        })?;
        Ok(Self { workers, busy, written })
    }

    pub(super) fn wait_until_idle(&self, bound: Duration) -> Result<(), String> {
        self.wait(bound, "no writer is done", |busy, _| busy == 0)
    }

    /// Until as many write as there are.
    pub(super) fn wait_until_busy(&self, bound: Duration) -> Result<(), String> {
        self.wait(bound, "not all writers write", |busy, all| busy == all)
    }

    fn wait(
        &self,
        bound: Duration,
        why: &str,
        holds: impl Fn(u64, u64) -> bool,
    ) -> Result<(), String> {
        let (end, all) = (Instant::now() + bound, self.workers.threads.len() as u64);
        while !holds(self.busy.load(Ordering::Relaxed), all) {
            if Instant::now() > end || self.workers.have_failed() {
                return Err(why.into());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Mebibytes that were written.
    pub(super) fn finish(self) -> Result<u64, String> {
        self.workers.finish()?;
        Ok(self.written.load(Ordering::Relaxed))
    }
}

/// Whoever uses the other server.
pub(super) struct Quick {
    workers: Workers,
    done: Arc<AtomicU64>,
}

impl Quick {
    pub(super) fn start(paths: &[PathBuf]) -> Result<Self, String> {
        let done = Arc::<AtomicU64>::default();
        let count = Arc::clone(&done);
        let workers = Workers::start(paths, move |file, round| {
            let (place, block) = (round % 16 * BLOCK as u64, vec![round as u8; BLOCK]);
            let mut back = vec![0; BLOCK];
            file.write_all_at(&block, place)?;
            file.read_exact_at(&mut back, place)?;
            if back != block {
                return Err(std::io::Error::other("what was written is not what is read"));
            }
            count.fetch_add(2, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(Self { workers, done })
    }

    /// Operations in a second, over so long.
    pub(super) fn rate_over(&self, time: Duration) -> Result<f64, String> {
        let (begun, before) = (Instant::now(), self.done.load(Ordering::Relaxed));
        thread::sleep(time);
        if self.workers.have_failed() {
            return Err("whoever uses the other server got an error".into());
        }
        let done = self.done.load(Ordering::Relaxed) - before;
        Ok(done as f64 / begun.elapsed().as_secs_f64())
    }

    pub(super) fn finish(self) -> Result<(), String> {
        self.workers.finish()
    }
}

const MIB: usize = 1 << 20;
const BLOCK: usize = 64 << 10;
const POLL: Duration = Duration::from_millis(5);
