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

/// Whether a thread was killed, or is ending. Not for threads that serve requests: the system may make
/// whoever asks wait.
pub(crate) fn is_ending(thread: u32) -> bool {
    let read = |file| std::fs::read_to_string(format!("/proc/{thread}/{file}"));
    match (read("status"), read("stat")) {
        (Ok(status), Ok(stat)) => is_killed(&status) || is_exiting(&stat),
        (Err(error), _) | (_, Err(error)) => is_gone(&error),
    }
}

/// A system that has no descriptor left, say, tells nothing of whoever is asked for.
fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn is_killed(status: &str) -> bool {
    let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    pending.is_some_and(|mask| mask & (1 << (libc::SIGKILL - 1)) != 0)
}

/// The flags are the seventh word behind the name, which may have any characters in it.
fn is_exiting(stat: &str) -> bool {
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let flags = behind.split_whitespace().nth(6).and_then(|flags| flags.parse::<u32>().ok());
    flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

/// The kernel's mark of a thread that is on its way out.
const PF_EXITING: u32 = 0x4;

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

    #[test]
    fn a_thread_that_is_killed_or_on_its_way_out_is_ending() {
        assert!(is_killed("Name:\tx\nSigPnd:\t0000000000000100\nShdPnd:\t0\n"));
        assert!(!is_killed("SigPnd:\t0000000000000002\n"));
        assert!(is_exiting("7 (a) b) D 1 7 7 0 -1 4194308 0"));
        assert!(!is_exiting("7 (a) b) S 1 7 7 0 -1 4194304 4"));
        assert!(is_ending(u32::MAX), "it is gone");
        assert!(is_gone(&std::io::Error::from_raw_os_error(libc::ESRCH)));
        assert!(!is_gone(&std::io::Error::from_raw_os_error(libc::ENFILE)), "nobody knows");
        assert!(!is_ending(std::process::id()));
    }
}
