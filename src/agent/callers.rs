//! Who the callers are: their supplementary groups, which the kernel does not send along.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::DashMap;

use iofwd_mount::Caller;

use crate::backend::posix::Identity;

/// Identities of recent callers. A process that changes its supplementary groups, and neither its
/// user nor its group, is seen with the old ones for as long as [`TRUSTED`].
#[derive(Debug, Default)]
pub(super) struct Callers {
    known: DashMap<(u32, u32, u32), (Instant, Identity)>,
}

impl Callers {
    /// The identity of a caller.
    pub(super) fn identity(&self, caller: &Caller) -> Identity {
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

/// The supplementary groups of a thread; none if it is gone or the kernel itself asks.
fn groups_of(pid: u32) -> Arc<[u32]> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    parse(&status)
}

fn parse(status: &str) -> Arc<[u32]> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("Groups:"))
        .map(|list| list.split_whitespace().filter_map(|group| group.parse().ok()).collect())
        .unwrap_or_else(no_groups)
}

fn no_groups() -> Arc<[u32]> {
    thread_local! {
        static NONE: Arc<[u32]> = Arc::from([]);
    }
    NONE.with(Arc::clone)
}

/// How long the groups of a process are taken for granted.
const TRUSTED: Duration = Duration::from_secs(1);
/// More callers than these are not remembered.
const KNOWN_MOST: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_from_the_status_of_a_process() {
        assert_eq!(*parse("Name:\tx\nGroups:\t4 24 1000 \nNgid:\t0\n"), [4, 24, 1000]);
        assert!(parse("Groups:\t\n").is_empty());
        assert!(parse("").is_empty());
    }

    #[test]
    fn a_process_that_is_gone_has_no_groups() {
        assert!(groups_of(u32::MAX).is_empty());
    }
}
