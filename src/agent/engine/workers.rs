//! Threads that do what had to wait. As many as there is work for, up to a bound; they leave when
//! there is none.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use iofwd_scheduler::request::Request;

use super::Core;
use super::call::Piece;
use super::transfer;

/// A batch, with what is to be done for each member.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) members: Vec<(Request, Piece)>,
}

/// The threads, and what they are to do next.
#[derive(Debug)]
pub(super) struct Workers {
    most: usize,
    core: OnceLock<Weak<Core>>,
    busy: AtomicUsize,
    queue: Mutex<Queue>,
    work: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: VecDeque<Task>,
    threads: usize,
    idle: usize,
    stopping: bool,
}

impl Workers {
    pub(super) fn new(most: usize) -> Workers {
        Workers {
            most,
            core: OnceLock::new(),
            busy: AtomicUsize::new(0),
            queue: Mutex::default(),
            work: Condvar::new(),
        }
    }

    /// For whom they work.
    pub(super) fn employ(&self, core: &Arc<Core>) {
        let _ = self.core.set(Arc::downgrade(core));
    }

    /// Whether any of them is at work.
    pub(super) fn are_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// Have these done, each by one thread.
    pub(super) fn push(&self, tasks: Vec<Task>) {
        if tasks.is_empty() {
            return;
        }
        self.busy.fetch_add(tasks.len(), Ordering::Relaxed);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        for task in tasks {
            queue.tasks.push_back(task);
            if queue.idle < queue.tasks.len() && queue.threads < self.most {
                queue.threads += usize::from(self.hire());
            }
            self.work.notify_one();
        }
        let helpless = queue.threads == 0;
        drop(queue);
        // Not a single thread can be had: the one that brought the work does it.
        if helpless {
            self.work_until_empty();
        }
    }

    /// No more work will come.
    pub(super) fn stop(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).stopping = true;
        self.work.notify_all();
    }

    fn hire(&self) -> bool {
        let Some(core) = self.core.get().and_then(Weak::upgrade) else { return false };
        let thread = thread::Builder::new().name("iofwd-worker".into());
        match thread.spawn(move || core.workers.work()) {
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(%error, "cannot start another worker");
                false
            }
        }
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            self.perform(task);
        }
    }

    fn work_until_empty(&self) {
        loop {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(task) = queue.tasks.pop_front() else { return };
            drop(queue);
            self.perform(task);
        }
    }

    fn perform(&self, task: Task) {
        if let Some(core) = self.core.get().and_then(Weak::upgrade) {
            transfer::run(&core, task);
        }
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// The next thing to do; `None` when there has been none for a while.
    fn next(&self) -> Option<Task> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            if queue.stopping {
                queue.threads -= 1;
                return None;
            }
            queue.idle += 1;
            let (guard, timeout) =
                self.work.wait_timeout(queue, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            queue.idle -= 1;
            if timeout.timed_out() && queue.tasks.is_empty() {
                queue.threads -= 1;
                return None;
            }
        }
    }
}

/// How long a thread waits for work before it leaves.
const PATIENCE: Duration = Duration::from_secs(10);
