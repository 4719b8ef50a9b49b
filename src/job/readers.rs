//! Threads that read what the system tells of a process, so that nobody waits long for it.
//!
//! To tell of a process the system takes locks of it: on its memory, and one that is held while it
//! becomes another program. Whoever holds them may wait for our own mount: another thread for a page
//! of a file, or the process itself for the files that it closes on its way. If the one who has to
//! serve that waited here, both would wait for ever. So others read, and whoever asks waits for a
//! bounded time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::environment::{self, Named};
use super::process::{Incarnation, Processes};

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
    /// The process, as it was when it was last looked at.
    known: Option<Incarnation>,
    answer: SyncSender<Told>,
}

/// What the system tells of a process.
#[derive(Debug)]
pub(super) enum Told {
    /// There is none.
    Gone,
    /// It is the one that is known.
    Same,
    /// It is another, and names this job, or none.
    New(Incarnation, Option<Named>),
}

impl Readers {
    /// Readers for whoever waits no longer than this.
    pub(super) fn new(processes: Processes, variables: Vec<String>, patience: Duration) -> Readers {
        let (questions, waiting) = sync_channel(QUESTIONS);
        let waiting = Arc::new(Mutex::new(waiting));
        let variables = variables.into();
        Readers { processes, variables, questions, waiting, started: Mutex::new(0), patience }
    }

    /// What there is to know of a process; `None` if there was no answer in time.
    pub(super) fn ask(&self, pid: u32, known: Option<Incarnation>) -> Option<Told> {
        if self.variables.is_empty() {
            return Some(Told::Gone);
        }
        self.start_if(|started| started == 0);
        let (answer, answered) = sync_channel(1);
        match self.questions.try_send(Question { pid, known, answer }) {
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return None,
            Ok(()) => {}
        }
        match answered.recv_timeout(self.patience) {
            Ok(told) => Some(told),
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
        let Ok(Question { pid, known, answer }) = question else { return };
        // Whoever asked may have gone on without the answer.
        let _ = answer.try_send(look(processes, variables, pid, known));
    }
}

fn look(processes: &Processes, variables: &[String], pid: u32, known: Option<Incarnation>) -> Told {
    let Some(incarnation) = processes.incarnation(pid) else { return Told::Gone };
    if known == Some(incarnation) {
        return Told::Same;
    }
    let environment = processes.environment(pid).unwrap_or_default();
    Told::New(incarnation, environment::find(&environment, variables))
}

/// Threads at most.
const MOST: usize = 4;
/// Questions that may wait for a thread.
const QUESTIONS: usize = 256;
