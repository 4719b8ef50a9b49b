//! Which ranges an owner has locked, and how: a record, with the rules of `fcntl`.

use serde::{Deserialize, Serialize};

use iofwd_mount::store::{Lock, LockKind};

/// Disjoint ranges, in no order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ranges(Vec<Lock>);

impl Ranges {
    /// A lock replaces what it covers of the ones before; an unlock only removes it.
    pub(crate) fn set(&mut self, lock: Lock) {
        let mut kept = Vec::with_capacity(self.0.len() + 2);
        for old in self.0.drain(..) {
            if old.end < lock.start || old.start > lock.end {
                kept.push(old);
                continue;
            }
            if old.start < lock.start {
                kept.push(Lock { end: lock.start - 1, ..old });
            }
            if old.end > lock.end {
                kept.push(Lock { start: lock.end + 1, ..old });
            }
        }
        if lock.kind != LockKind::Unlock {
            kept.push(lock);
        }
        self.0 = kept;
    }

    /// A range in the way of a lock that another owner asks for.
    pub(crate) fn conflict(&self, lock: &Lock) -> Option<Lock> {
        let exclusive = |one: &Lock| one.kind == LockKind::Write || lock.kind == LockKind::Write;
        let overlaps = |one: &Lock| one.start <= lock.end && lock.start <= one.end;
        self.0.iter().find(|one| overlaps(one) && exclusive(one)).copied()
    }

    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Lock> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(start: u64, end: u64, kind: LockKind) -> Lock {
        Lock { start, end, kind, pid: 1 }
    }

    #[test]
    fn unlocking_the_middle_leaves_both_ends() {
        let mut ranges = Ranges::default();
        ranges.set(lock(0, 99, LockKind::Write));
        ranges.set(lock(40, 59, LockKind::Unlock));
        assert!(ranges.conflict(&lock(40, 59, LockKind::Write)).is_none());
        assert_eq!(
            ranges.conflict(&lock(0, 200, LockKind::Read)),
            Some(lock(0, 39, LockKind::Write))
        );
        assert_eq!(ranges.conflict(&lock(60, 60, LockKind::Read)).map(|found| found.end), Some(99));
        ranges.set(lock(0, u64::MAX, LockKind::Unlock));
        assert!(ranges.is_empty());
    }

    #[test]
    fn readers_do_not_stand_in_each_others_way() {
        let mut ranges = Ranges::default();
        ranges.set(lock(10, 20, LockKind::Read));
        assert!(ranges.conflict(&lock(0, 100, LockKind::Read)).is_none());
        assert!(ranges.conflict(&lock(0, 100, LockKind::Write)).is_some());
    }
}
