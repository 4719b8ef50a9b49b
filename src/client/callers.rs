//! Who asks: user, group, supplementary groups and job of a calling process, as the agent is told.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use dashmap::DashMap;

use iofwd_mount::Caller;
use iofwd_mount::caller::Introduction;

use crate::job::{Job, Jobs};
use crate::process::{groups_of, no_groups};

/// A user of this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Who {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Arc<[u32]>,
    pub(super) job: u64,
}

impl Who {
    /// The client itself.
    pub(super) fn client() -> Arc<Who> {
        static CLIENT: OnceLock<Arc<Who>> = OnceLock::new();
        Arc::clone(CLIENT.get_or_init(|| {
            let (uid, gid) = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
            Arc::new(Who { uid, gid, groups: no_groups(), job: Job::of_user(uid).id })
        }))
    }
}

impl Who {
    /// Somebody who was not introduced after all.
    fn nobody() -> Arc<Who> {
        Arc::new(Who {
            uid: NOBODY,
            gid: NOBODY,
            groups: no_groups(),
            job: Job::of_user(NOBODY).id,
        })
    }
}

/// Recent callers. What a process changes of itself, but for its user and group, is seen within
/// [`TRUSTED`].
#[derive(Debug)]
pub(super) struct Callers {
    known: DashMap<(u32, u32, u32), (Instant, Arc<Who>)>,
    jobs: Jobs,
    guests: DashMap<Introduction, Arc<Who>>,
    next: AtomicU64,
}

impl Callers {
    /// Nobody has called yet; jobs are named by these variables.
    pub(super) fn new(variables: Vec<String>) -> Callers {
        let (known, guests, next) = (DashMap::new(), DashMap::new(), AtomicU64::new(1));
        Callers { known, jobs: Jobs::new(variables), guests, next }
    }

    /// Somebody of another node who may be named as a caller from now on.
    pub(super) fn introduce(&self, who: Who) -> Introduction {
        let introduction = Introduction(self.next.fetch_add(1, Ordering::Relaxed));
        self.guests.insert(introduction, Arc::new(who));
        introduction
    }

    /// Nobody will be named so any more.
    pub(super) fn dismiss(&self, introduction: Introduction) {
        self.guests.remove(&introduction);
    }

    pub(super) fn of(&self, caller: &Caller) -> Arc<Who> {
        if let Some(introduction) = caller.introduced {
            let guest = self.guests.get(&introduction).map(|guest| Arc::clone(&guest));
            return guest.unwrap_or_else(Who::nobody);
        }
        let key = (caller.pid, caller.uid, caller.gid);
        if let Some(known) = self.known.get(&key)
            && known.0.elapsed() < TRUSTED
        {
            return Arc::clone(&known.1);
        }
        // The super-user passes every check that groups could decide.
        let groups = if caller.uid == 0 { no_groups() } else { groups_of(caller.pid) };
        let job = self.jobs.of(caller.pid, caller.uid).id;
        let who = Arc::new(Who { uid: caller.uid, gid: caller.gid, groups, job });
        if self.known.len() >= KNOWN_MOST {
            self.known.retain(|_, (since, _)| since.elapsed() < TRUSTED);
        }
        self.known.insert(key, (Instant::now(), Arc::clone(&who)));
        who
    }
}

const NOBODY: u32 = 65_534;
/// How long what a process told is taken for granted.
const TRUSTED: Duration = Duration::from_secs(1);
/// More callers than these are not remembered.
const KNOWN_MOST: usize = 16_384;
