//! Who the callers are: their supplementary groups, which the kernel does not send along.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dashmap::DashMap;

use iofwd_mount::Caller;
use iofwd_mount::caller::Introduction;
use iofwd_scheduler::request::JobId;

use crate::backend::posix::Identity;
use crate::job::Jobs;
use crate::process::{groups_of, no_groups};

/// Identities of recent callers. A process that changes its supplementary groups, and neither its
/// user nor its group, is seen with the old ones for as long as [`TRUSTED`].
#[derive(Debug)]
pub(super) struct Callers {
    known: DashMap<(u32, u32, u32), (Instant, Identity)>,
    jobs: Jobs,
    guests: DashMap<Introduction, Guest>,
    next: AtomicU64,
}

/// A caller from another node: who it is there was told by its client.
#[derive(Clone, Debug)]
pub struct Guest {
    /// As whom it acts.
    pub identity: Identity,
    /// The job it belongs to.
    pub job: JobId,
}

impl Callers {
    /// Nobody has called yet; jobs of this node's processes are named by these variables.
    pub(super) fn new(variables: Vec<String>) -> Callers {
        let (known, guests, next) = (DashMap::new(), DashMap::new(), AtomicU64::new(1));
        Callers { known, jobs: Jobs::new(variables), guests, next }
    }

    /// Somebody who may be named as a caller from now on.
    pub(super) fn introduce(&self, guest: Guest) -> Introduction {
        let introduction = Introduction(self.next.fetch_add(1, Ordering::Relaxed));
        self.guests.insert(introduction, guest);
        introduction
    }

    /// Nobody will be named so any more.
    pub(super) fn dismiss(&self, introduction: Introduction) {
        self.guests.remove(&introduction);
    }

    /// The job that a caller belongs to.
    pub(super) fn job(&self, caller: &Caller) -> JobId {
        match caller.introduced.and_then(|introduction| self.guests.get(&introduction)) {
            Some(guest) => guest.job,
            None => JobId(self.jobs.of(caller.pid, caller.uid).id),
        }
    }

    /// The identity of a caller.
    pub(super) fn identity(&self, caller: &Caller) -> Identity {
        if let Some(introduction) = caller.introduced {
            let guest = self.guests.get(&introduction).map(|guest| guest.identity.clone());
            return guest.unwrap_or_else(|| Identity::new(NOBODY, NOBODY, no_groups()));
        }
        // The super-user passes every check that groups could decide.
        if caller.uid == 0 {
            return Identity::new(0, caller.gid, no_groups());
        }
        let key = (caller.pid, caller.uid, caller.gid);
        if let Some(known) = self.known.get(&key)
            && known.0.elapsed() < TRUSTED
        {
            return known.1.clone();
        }
        let identity = Identity::new(caller.uid, caller.gid, groups_of(caller.pid));
        if self.known.len() >= KNOWN_MOST {
            self.known.retain(|_, (since, _)| since.elapsed() < TRUSTED);
        }
        self.known.insert(key, (Instant::now(), identity.clone()));
        identity
    }
}

/// Who a caller is that was not introduced after all.
const NOBODY: u32 = 65_534;
/// How long the groups of a process are taken for granted.
const TRUSTED: Duration = Duration::from_secs(1);
/// More callers than these are not remembered.
const KNOWN_MOST: usize = 16_384;
