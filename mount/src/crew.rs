//! Threads that serve: there is always one that listens; another joins when all are busy, so that
//! a slow request holds up no other. Whoever has joined stays: to start a thread and to make its
//! buffers costs as much as many requests, and one that waits costs nothing but its memory.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What the threads of a crew do.
pub trait Duty: Send + Sync + 'static {
    /// What each thread has for itself.
    type Tools: Send + 'static;

    /// The name of the threads.
    fn name(&self) -> &'static str;

    /// Tools for one more thread, made from those of one that is there.
    fn equip(&self, from: &Self::Tools) -> io::Result<Self::Tools>;

    /// Wait for something to do, call `begin`, and do it. `false` when there will be nothing more.
    fn serve(&self, tools: &mut Self::Tools, begin: &dyn Fn(&Self::Tools)) -> bool;
}

/// The threads of one duty.
#[derive(Debug)]
pub struct Crew<D> {
    duty: D,
    most: usize,
    idle: AtomicUsize,
    members: Mutex<usize>,
    gone: Condvar,
}

impl<D: Duty> Crew<D> {
    /// Begin, with one thread; there will be `most` at most.
    pub fn start(duty: D, most: usize, tools: D::Tools) -> io::Result<Arc<Crew<D>>> {
        let crew = Arc::new(Crew {
            duty,
            most: most.max(1),
            idle: AtomicUsize::new(0),
            members: Mutex::new(0),
            gone: Condvar::new(),
        });
        crew.enlist(tools)?;
        Ok(crew)
    }

    /// What they do.
    pub fn duty(&self) -> &D {
        &self.duty
    }

    /// Wait until the last thread has left.
    pub fn wait(&self) {
        let mut members = self.members();
        while *members > 0 {
            members = self.gone.wait(members).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One more thread, unless there are enough.
    fn enlist(self: &Arc<Crew<D>>, tools: D::Tools) -> io::Result<()> {
        let mut members = self.members();
        if *members >= self.most {
            return Ok(());
        }
        let crew = Arc::clone(self);
        thread::Builder::new().name(self.duty.name().into()).spawn(move || {
            crew.work(tools);
            *crew.members() -= 1;
            crew.gone.notify_all();
        })?;
        *members += 1;
        Ok(())
    }

    fn work(self: &Arc<Crew<D>>, mut tools: D::Tools) {
        loop {
            self.idle.fetch_add(1, Ordering::Relaxed);
            let begun = std::cell::Cell::new(false);
            let goes_on = self.duty.serve(&mut tools, &|tools| {
                begun.set(true);
                if self.idle.fetch_sub(1, Ordering::Relaxed) == 1 {
                    self.reinforce(tools);
                }
            });
            if !begun.get() {
                self.idle.fetch_sub(1, Ordering::Relaxed);
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Nobody listens any more: let one more join.
    fn reinforce(self: &Arc<Crew<D>>, tools: &D::Tools) {
        if *self.members() >= self.most {
            return;
        }
        let joined = self.duty.equip(tools).and_then(|tools| self.enlist(tools));
        if let Err(error) = joined {
            tracing::warn!(%error, "cannot start another thread; going on with those there are");
        }
    }

    fn members(&self) -> MutexGuard<'_, usize> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
