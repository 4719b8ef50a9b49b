//! Whether there is an agent: which one, since when, and if not, since when not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::greeting::{Bytes32, Welcome};

/// The agent, as far as is known.
#[derive(Debug)]
pub(super) struct Presence {
    state: Mutex<State>,
    /// Nobody waits for it any more.
    is_given_up: AtomicBool,
    resumed: AtomicU64,
    /// Files with writes that failed because there was no agent, and how many bytes.
    not_written: Mutex<BTreeMap<String, u64>>,
    /// Somebody looks whether those who wait still live.
    is_looking: AtomicBool,
}

#[derive(Debug)]
struct State {
    /// Which of the agents.
    at: usize,
    token: Bytes32,
    grace: Duration,
    generation: u64,
    lost: Option<(Instant, String)>,
}

impl Presence {
    /// It is there, for the first time.
    pub(super) fn new(at: usize, welcome: &Welcome) -> Presence {
        let state = State {
            at,
            token: welcome.token,
            grace: Duration::from_millis(u64::from(welcome.grace_ms)),
            generation: 0,
            lost: None,
        };
        Presence {
            state: Mutex::new(state),
            is_given_up: AtomicBool::new(false),
            resumed: AtomicU64::new(0),
            not_written: Mutex::default(),
            is_looking: AtomicBool::new(false),
        }
    }

    /// The connections are gone.
    pub(super) fn lose(&self, reason: &str) {
        self.state().lost = Some((Instant::now(), reason.into()));
    }

    /// There is an agent again.
    pub(super) fn find(&self, at: usize, welcome: &Welcome) {
        let mut state = self.state();
        state.at = at;
        state.token = welcome.token;
        state.lost = None;
        drop(state);
        self.is_given_up.store(false, Ordering::Release);
        self.resumed.fetch_add(1, Ordering::Relaxed);
    }

    /// Applications get errors until there is one again.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Acquire)
    }

    /// Since when there is none, and why.
    pub(super) fn lost(&self) -> Option<(Instant, String)> {
        self.state().lost.clone()
    }

    /// Which of the agents it is, or was.
    pub(super) fn at(&self) -> usize {
        self.state().at
    }

    /// How often one was found again.
    pub(super) fn resumed(&self) -> u64 {
        self.resumed.load(Ordering::Relaxed)
    }

    /// By what an agent knows the client again.
    pub(super) fn token(&self) -> Bytes32 {
        self.state().token
    }

    /// For how long agents wait for the client to come back; zero if it cannot.
    pub(super) fn grace(&self) -> Duration {
        self.state().grace
    }

    /// How often the client has tried to connect.
    pub(super) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// It tries once more.
    pub(super) fn next_generation(&self) -> u64 {
        let mut state = self.state();
        state.generation += 1;
        state.generation
    }

    /// So many bytes of that file were not written, because there was no agent.
    pub(super) fn not_written(&self, file: String, bytes: u64) {
        let mut files = self.not_written.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() < NOT_WRITTEN_MOST || files.contains_key(&file) {
            *files.entry(file).or_default() += bytes;
        }
    }

    /// The files that were not written as they should have been.
    pub(super) fn all_not_written(&self) -> BTreeMap<String, u64> {
        self.not_written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether nobody else looks just now.
    pub(super) fn begin_look(&self) -> bool {
        !self.is_looking.swap(true, Ordering::AcqRel)
    }

    pub(super) fn end_look(&self) {
        self.is_looking.store(false, Ordering::Release);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More files than these are not remembered.
const NOT_WRITTEN_MOST: usize = 1024;
