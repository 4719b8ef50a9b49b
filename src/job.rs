//! To which job a process belongs, by its environment.
//!
//! The number of a job says by its first bits where it comes from:
//!
//! | first bits | the rest | from |
//! |---|---|---|
//! | `00` | the job's number | a variable that holds a number below 2^62 |
//! | `1` | 63 bits of a hash | a variable that holds any other text |
//! | `01` | the user id | no variable is set, or it cannot be known: the user counts as a job |
//!
//! The hash is the beginning of SHA-256, the same everywhere and always.
//!
//! What the environment says is what the process says: it is for accounting and fair shares, never
//! for permission.

mod environment;
mod process;
mod readers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::DashMap;

use environment::Named;
use process::{Incarnation, Processes};
use readers::{Readers, Told};

/// A job: what requests of one application have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number; see the table above.
    pub id: u64,
    /// What people call it: the variable's text, or `uid 1000`. Printable, and not long.
    pub name: Arc<str>,
}

/// The jobs of recent callers.
///
/// What is known of a process is taken for granted for a second, then it is checked that it still is
/// the same process with the same environment. Asking never fails and never waits for long: who
/// cannot be read in time counts by user.
#[derive(Debug)]
pub struct Jobs {
    readers: Readers,
    known: DashMap<(u32, u32), Known>,
}

#[derive(Debug)]
struct Known {
    incarnation: Option<Incarnation>,
    checked: Instant,
    job: Job,
}

impl Job {
    /// The job that all processes of a user without one belong to.
    pub fn of_user(uid: u32) -> Job {
        Job { id: USER | u64::from(uid), name: format!("uid {uid}").into() }
    }

    fn named(named: Named) -> Job {
        let id = match named.number {
            Some(number) if number < USER => number,
            _ => HASHED | named.hash,
        };
        Job { id, name: named.name.into() }
    }
}

impl Jobs {
    /// Recognise jobs by these variables; the first that is set and not empty counts.
    pub fn new(variables: Vec<String>) -> Jobs {
        Jobs::below(PathBuf::from("/proc"), variables, PATIENCE)
    }

    fn below(proc: PathBuf, variables: Vec<String>, patience: Duration) -> Jobs {
        let readers = Readers::new(Processes::new(proc), variables, patience);
        Jobs { readers, known: DashMap::new() }
    }

    /// The job of a process or thread that acts as this user.
    pub fn of(&self, pid: u32, uid: u32) -> Job {
        self.of_at(pid, uid, Instant::now())
    }

    fn of_at(&self, pid: u32, uid: u32, now: Instant) -> Job {
        // The kernel itself, or a process that this one cannot see.
        if pid == 0 {
            return Job::of_user(uid);
        }
        if let Some(job) = self.trusted(pid, uid, now) {
            return job;
        }
        let known = self.known.get(&(pid, uid)).and_then(|known| known.incarnation);
        match self.readers.ask(pid, known) {
            Some(Told::Same) => self.confirm(pid, uid, now),
            Some(Told::New(incarnation, named)) => {
                let job = named.map_or_else(|| Job::of_user(uid), Job::named);
                self.remember(pid, uid, Known { incarnation: Some(incarnation), checked: now, job })
            }
            // Who did not answer in time is asked again when the trust is over.
            Some(Told::Gone) | None => {
                let job = Job::of_user(uid);
                self.remember(pid, uid, Known { incarnation: None, checked: now, job })
            }
        }
    }

    fn trusted(&self, pid: u32, uid: u32, now: Instant) -> Option<Job> {
        let known = self.known.get(&(pid, uid))?;
        let trusted = now.saturating_duration_since(known.checked) < TRUSTED;
        trusted.then(|| known.job.clone())
    }

    /// It is the process that is known.
    fn confirm(&self, pid: u32, uid: u32, now: Instant) -> Job {
        match self.known.get_mut(&(pid, uid)) {
            Some(mut known) => {
                known.checked = now;
                known.job.clone()
            }
            None => Job::of_user(uid),
        }
    }

    fn remember(&self, pid: u32, uid: u32, known: Known) -> Job {
        self.make_room(known.checked);
        let job = known.job.clone();
        self.known.insert((pid, uid), known);
        job
    }

    /// Forget those who have not asked for a while; everybody, if all have asked just now.
    fn make_room(&self, now: Instant) {
        if self.known.len() < MOST {
            return;
        }
        self.known.retain(|_, known| now.saturating_duration_since(known.checked) < TRUSTED);
        if self.known.len() >= MOST {
            self.known.clear();
        }
    }
}

/// First bits of the number of a user.
const USER: u64 = 1 << 62;
/// First bit of a hash.
const HASHED: u64 = 1 << 63;
/// How long what is known is taken for granted.
const TRUSTED: Duration = Duration::from_secs(1);
/// How long one waits for a process to be looked at, which usually takes a thousandth of it.
const PATIENCE: Duration = Duration::from_millis(50);
/// More processes than these are not remembered.
const MOST: usize = 16_384;

#[cfg(test)]
mod tests;
