//! The look-out: sees which crews stay busy, and asleep when there is nothing to see.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What a look-out looks at.
pub trait Watched: Send + Sync {
    /// How is it going, after so long?
    fn look(self: Arc<Self>, since: Duration);
}

/// One thread that looks after any number of crews.
pub struct Lookout {
    mood: AtomicU8,
    thread: OnceLock<Thread>,
    crews: Mutex<Vec<Weak<dyn Watched>>>,
}

/// Nobody has called for a while: it sleeps until somebody does.
const ASLEEP: u8 = 0;
/// Nobody has called since it looked last.
const QUIET: u8 = 1;
/// Somebody has.
const ALERT: u8 = 2;

impl std::fmt::Debug for Lookout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookout").field("mood", &self.mood).finish_non_exhaustive()
    }
}

impl Lookout {
    /// Begin. The thread ends when nobody holds the look-out any more.
    pub fn start() -> io::Result<Arc<Lookout>> {
        let lookout = Arc::new(Lookout {
            mood: AtomicU8::new(QUIET),
            thread: OnceLock::new(),
            crews: Mutex::default(),
        });
        let weak = Arc::downgrade(&lookout);
        let thread = thread::Builder::new().name("iofwd-lookout".into()).spawn(move || {
            let mut looked = Instant::now();
            let mut quiet = 0;
            while let Some(lookout) = weak.upgrade() {
                quiet = if lookout.look(looked.elapsed()) { 0 } else { quiet + 1 };
                looked = Instant::now();
                let sleeps = quiet > PATIENCE && lookout.fall_asleep();
                drop(lookout);
                if sleeps {
                    thread::park();
                } else {
                    thread::sleep(EVERY);
                }
            }
        })?;
        let _ = lookout.thread.set(thread.thread().clone());
        Ok(lookout)
    }

    /// Everybody is busy: look whether they stay so.
    pub fn alert(&self) {
        if self.mood.load(Ordering::Relaxed) == ALERT {
            return;
        }
        if self.mood.swap(ALERT, Ordering::AcqRel) == ASLEEP
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Look after this one too, as long as it is there.
    pub fn watch(&self, crew: &Arc<dyn Watched>) {
        let mut crews = self.crews.lock().unwrap_or_else(PoisonError::into_inner);
        crews.retain(|crew| crew.strong_count() > 0);
        crews.push(Arc::downgrade(crew));
    }

    /// Look at all; whether somebody had called.
    fn look(&self, since: Duration) -> bool {
        let called = self.mood.compare_exchange(ALERT, QUIET, Ordering::AcqRel, Ordering::Relaxed);
        let crews = self.crews.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for crew in crews.iter().filter_map(Weak::upgrade) {
            crew.look(since);
        }
        called.is_ok()
    }

    fn fall_asleep(&self) -> bool {
        self.mood.compare_exchange(QUIET, ASLEEP, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// How often it looks while there is something to see.
const EVERY: Duration = Duration::from_millis(2);
/// So many looks without a call, and it goes to sleep.
const PATIENCE: u32 = 50;
