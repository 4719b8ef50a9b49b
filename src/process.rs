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
