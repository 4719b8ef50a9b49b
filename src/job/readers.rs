//! Threads that read environments, so that nobody waits long for one.
//!
//! To read the environment of a process the system takes a lock on its memory. Another thread of
//! that process may hold it and wait for a page of a file on our own mount: if the one who has to
//! bring that page waited here, both would wait for ever. So others read, and whoever asks waits for
//! a bounded time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::environment::{self, Named};
use super::process::Processes;

/// The threads, at most [`MOST`] of them. Another one is started when those there are stuck.
#[derive(Debug)]
pub(super) struct Readers {
    processes: Processes,
    variables: Arc<[String]>,
    questions: SyncSender<Question>,
    waiting: Arc<Mutex<Receiver<Question>>>,
    started: Mutex<usize>,
    patience: Duration,
}

struct Question {
    pid: u32,
    answer: SyncSender<Option<Named>>,
}

impl Readers {
    /// Readers for whoever waits no longer than this.
    pub(super) fn new(processes: Processes, variables: Vec<String>, patience: Duration) -> Readers {
        let (questions, waiting) = sync_channel(QUESTIONS);
        let waiting = Arc::new(Mutex::new(waiting));
        let variables = variables.into();
        Readers { processes, variables, questions, waiting, started: Mutex::new(0), patience }
    }

    /// The job that a process names: `Some(None)` if it names none or may not be read, `None` if
    /// there was no answer in time.
    pub(super) fn ask(&self, pid: u32) -> Option<Option<Named>> {
        if self.variables.is_empty() {
            return Some(None);
        }
        self.start_if(|started| started == 0);
        let (answer, answered) = sync_channel(1);
        match self.questions.try_send(Question { pid, answer }) {
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return None,
            Ok(()) => {}
        }
        match answered.recv_timeout(self.patience) {
            Ok(named) => Some(named),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.start_if(|started| started < MOST);
                None
            }
        }
    }

    /// Start a thread if so many are not enough. That none can be started is no failure: users count
    /// as jobs then.
    fn start_if(&self, too_few: impl Fn(usize) -> bool) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if !too_few(*started) {
            return;
        }
        let (processes, variables) = (self.processes.clone(), Arc::clone(&self.variables));
        let waiting = Arc::clone(&self.waiting);
        let thread = thread::Builder::new().name("iofwd-jobs".into());
        if thread.spawn(move || serve(&processes, &variables, &waiting)).is_ok() {
            *started += 1;
        }
    }
}

/// Answer until nobody can ask any more.
fn serve(processes: &Processes, variables: &[String], waiting: &Mutex<Receiver<Question>>) {
    loop {
        let question = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Question { pid, answer }) = question else { return };
        let environment = processes.environment(pid).unwrap_or_default();
        // Whoever asked may have gone on without the answer.
        let _ = answer.try_send(environment::find(&environment, variables));
    }
}

/// Threads at most.
const MOST: usize = 4;
/// Questions that may wait for a thread.
const QUESTIONS: usize = 256;
