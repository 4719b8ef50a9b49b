//! Counters per job, for a bounded number of jobs: those not seen for longest are folded together.

use super::Counters;
use crate::queue::{Table, mix};
use crate::request::JobId;

/// Counters of the jobs seen last, and of all others together.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    tracked: Vec<Tracked>,
    names: Table,
    clock: u64,
    last: usize,
    other: Counters,
}

#[derive(Clone, Copy, Debug)]
struct Tracked {
    job: JobId,
    used: u64,
    counters: Counters,
}

impl Jobs {
    /// The jobs tracked, in no particular but always the same order.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Counters)> {
        self.tracked.iter().map(|tracked| (tracked.job, &tracked.counters))
    }

    /// The counters of a job, if it is tracked.
    pub fn get(&self, job: JobId) -> Option<&Counters> {
        self.iter().find_map(|(tracked, counters)| (tracked == job).then_some(counters))
    }

    /// Jobs that are no longer tracked, together.
    pub const fn other(&self) -> &Counters {
        &self.other
    }

    /// The counters of a job, to count on.
    pub(crate) fn of(&mut self, job: JobId) -> &mut Counters {
        self.clock += 1;
        if self.tracked.get(self.last).is_none_or(|tracked| tracked.job != job) {
            self.last = self.slot(job);
        }
        let tracked = &mut self.tracked[self.last];
        tracked.used = self.clock;
        &mut tracked.counters
    }

    fn slot(&mut self, job: JobId) -> usize {
        let tracked = &self.tracked;
        let is = |slot: u32| tracked[slot as usize].job == job;
        if let Some(slot) = self.names.find(mix(job.0), is) {
            return slot as usize;
        }
        let new = Tracked { job, used: self.clock, counters: Counters::default() };
        let slot = if self.tracked.len() < MOST {
            self.tracked.push(new);
            self.tracked.len() - 1
        } else {
            self.replace_oldest(new)
        };
        self.names.insert(mix(job.0), u32::try_from(slot).expect("fewer jobs than MOST"));
        slot
    }

    fn replace_oldest(&mut self, new: Tracked) -> usize {
        let slots = self.tracked.iter().enumerate();
        let (slot, _) = slots.min_by_key(|(_, job)| job.used).expect("MOST is not zero");
        let old = std::mem::replace(&mut self.tracked[slot], new);
        self.names.remove(mix(old.job.0), |found| found as usize == slot);
        self.other.add(&old.counters);
        slot
    }
}

/// Most jobs tracked at once: a node of a large machine forwards for tens, not for hundreds.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_the_oldest_and_loses_no_count() {
        let mut jobs = Jobs::default();
        for n in 0..1_000 {
            jobs.of(JobId(n)).failed += 1;
            jobs.of(JobId(0)).failed += 1;
        }
        assert_eq!(jobs.iter().count(), MOST);
        assert_eq!(jobs.get(JobId(0)).unwrap().failed, 1_001);
        assert_eq!(jobs.get(JobId(999)).unwrap().failed, 1);
        assert!(jobs.get(JobId(5)).is_none());
        let tracked: u64 = jobs.iter().map(|(_, counters)| counters.failed).sum();
        assert_eq!(tracked + jobs.other().failed, 2_000);
    }
}
