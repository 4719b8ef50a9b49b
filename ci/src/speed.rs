//! Speed, in one interleaved run in memory: the same jobs on all that is compared, in random order
//! within each round, so that whatever else the machine does meets all of them alike. Medians,
//! ratios, and which bars hold.

mod job;
pub(crate) mod load;
mod local;
mod remote;
mod subject;
mod table;

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use local::local;
pub(crate) use remote::remote;

use crate::mounted::Mounted;
use crate::site::Site;
use crate::speed::job::Job;
use crate::speed::subject::Subject;
use crate::speed::table::{Bar, Table};
use crate::stage::{Outcome, Verdict};

/// What is measured on what, and what is to be reached.
pub(crate) struct Comparison {
    /// In the order of the table's columns.
    pub(crate) subjects: &'static [Subject],
    pub(crate) jobs: &'static [Job],
    /// What the others are shown relative to.
    pub(crate) base: Subject,
    pub(crate) bars: &'static [Bar],
}

impl Comparison {
    fn measure(&'static self, site: &Site) -> Verdict {
        let mounted = self.mount_all(site)?;
        for (_, mount) in &mounted {
            job::prepare(site, mount.path())?;
        }
        let mut table = Table::new(self);
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
        let mut dice = Dice(seed | 1);
        for round in 1..=site.rounds {
            println!("   round {round} of {}", site.rounds);
            for (job, subject) in dice.shuffled(self.jobs, mounted.len()) {
                let (subject, mount) = &mounted[subject];
                table.add(job, *subject, job.run(site, mount.path())?);
            }
        }
        for (_, mount) in mounted {
            mount.finish()?;
        }
        println!("{table}");
        judge(&table)
    }

    fn mount_all<'a>(&self, site: &'a Site) -> Result<Vec<(Subject, Mounted<'a>)>, String> {
        self.subjects.iter().map(|subject| Ok((*subject, subject.mount(site)?))).collect()
    }
}

fn judge(table: &Table) -> Verdict {
    let (held, missed): (Vec<_>, Vec<_>) = table.checks().into_iter().partition(|c| c.held);
    for check in held.iter().chain(&missed) {
        println!("   {check}");
    }
    let note = format!("{} of {} bars hold", held.len(), held.len() + missed.len());
    if missed.is_empty() && !held.is_empty() { Ok(Outcome::Passed(note)) } else { Err(note) }
}

/// A small generator: the order must only be unrelated to anything, not unpredictable.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    /// Jobs in random order, and within each job the subjects, so that the values to be compared
    /// are measured close together.
    fn shuffled<'a>(&mut self, jobs: &'a [Job], subjects: usize) -> Vec<(&'a Job, usize)> {
        let mut order = Vec::new();
        for job in self.shuffle(jobs.len()) {
            order.extend(self.shuffle(subjects).into_iter().map(|subject| (&jobs[job], subject)));
        }
        order
    }

    fn shuffle(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.roll(last + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::job::JOBS;

    #[test]
    fn every_round_measures_each_cell_once() {
        let mut cells: Vec<_> =
            Dice(7).shuffled(JOBS, 7).iter().map(|(job, subject)| (job.name, *subject)).collect();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), JOBS.len() * 7);
    }
}
