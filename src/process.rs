//! What a process of this node tells about itself.

use std::sync::Arc;

/// The supplementary groups of a thread; none if it is gone or the kernel itself asks.
pub fn groups_of(pid: u32) -> Arc<[u32]> {
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

/// Nobody's groups.
pub fn no_groups() -> Arc<[u32]> {
    thread_local! {
        static NONE: Arc<[u32]> = Arc::from([]);
    }
    NONE.with(Arc::clone)
}

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

/// Whether a thread is about to end because of a signal. Not for threads that serve requests: the
/// system may make whoever asks wait.
pub(crate) fn is_killed(thread: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{thread}/status")) else {
        return true;
    };
    let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    pending.is_some_and(|mask| mask & (1 << (libc::SIGKILL - 1)) != 0)
}
