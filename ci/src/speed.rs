//! Speed, in one interleaved run in memory: the same jobs on the bare directory, bindfs, the
//! yardstick and the program, in random order within each round, so that whatever else the machine
//! does meets all of them alike. Medians, ratios, and which bars hold.

mod job;
pub(crate) mod load;
mod table;

use std::time::{SystemTime, UNIX_EPOCH};

use crate::area::Area;
use crate::mounted::{Cache, Mounted, Program};
use crate::site::Site;
use crate::speed::job::{JOBS, Job};
use crate::speed::table::{Bar, Table};
use crate::stage::{Outcome, Verdict};

/// What is compared, in the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Subject {
    Bare,
    Bindfs,
    BindfsUncached,
    Yardstick,
    YardstickCaching,
    Coherent,
    CloseToOpen,
}

impl Subject {
    pub(crate) const ALL: [Self; 7] = [
        Self::Bare,
        Self::Bindfs,
        Self::BindfsUncached,
        Self::Yardstick,
        Self::YardstickCaching,
        Self::Coherent,
        Self::CloseToOpen,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Bindfs => "bindfs",
            Self::BindfsUncached => "bindfs-0s",
            Self::Yardstick => "yardstick",
            Self::YardstickCaching => "yardstick-1s",
            Self::Coherent => "coherent",
            Self::CloseToOpen => "close-to-open",
        }
    }
}

pub(crate) fn measure(site: &Site) -> Verdict {
    let mounted = mount_all(site)?;
    for (_, mount) in &mounted {
        job::prepare(site, mount.path())?;
    }
    let mut table = Table::default();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
    let mut dice = Dice(seed | 1);
    for round in 1..=site.rounds {
        println!("   round {round} of {}", site.rounds);
        for (job, subject) in dice.shuffled(mounted.len()) {
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

fn judge(table: &Table) -> Verdict {
    let (held, missed): (Vec<_>, Vec<_>) =
        BARS.iter().flat_map(|bar| table.check(bar)).partition(|c| c.held);
    for check in held.iter().chain(&missed) {
        println!("   {check}");
    }
    let note = format!("{} of {} bars hold", held.len(), held.len() + missed.len());
    if missed.is_empty() { Ok(Outcome::Passed(note)) } else { Err(note) }
}

fn mount_all(site: &Site) -> Result<Vec<(Subject, Mounted<'_>)>, String> {
    let path = site.release("yardstick")?;
    let judged = site.program()?;
    let mount = |&subject: &Subject| {
        let area = Area::in_memory(site, &format!("speed-{}", subject.name()))?;
        let path = path.clone();
        let (program, cache) = match subject {
            Subject::Bare => (Program::Bare, Cache::Coherent),
            Subject::Bindfs => (Program::Bindfs { as_it_comes: true }, Cache::Coherent),
            Subject::BindfsUncached => (Program::Bindfs { as_it_comes: false }, Cache::Coherent),
            Subject::Yardstick => (Program::Yardstick { path, ttl: 0 }, Cache::Coherent),
            Subject::YardstickCaching => (Program::Yardstick { path, ttl: 1 }, Cache::Coherent),
            Subject::Coherent => (judged.clone(), Cache::Coherent),
            Subject::CloseToOpen => (judged.clone(), Cache::CloseToOpen),
        };
        Ok((subject, Mounted::with(site, &program, &area, cache)?))
    };
    Subject::ALL.iter().map(mount).collect()
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
    fn shuffled(&mut self, subjects: usize) -> Vec<(&'static Job, usize)> {
        let mut order = Vec::new();
        for job in self.shuffle(JOBS.len()) {
            order.extend(self.shuffle(subjects).into_iter().map(|subject| (&JOBS[job], subject)));
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

/// What the mount must reach.
const BARS: &[Bar] = &[
    Bar {
        jobs: &["4k-", "metadata-"],
        of: Subject::Coherent,
        over: Subject::Yardstick,
        ratio: 0.9,
    },
    Bar { jobs: &["1m-"], of: Subject::Coherent, over: Subject::Yardstick, ratio: 0.95 },
    Bar {
        jobs: &["4k-", "1m-", "metadata-"],
        of: Subject::Coherent,
        over: Subject::Bindfs,
        ratio: 1.5,
    },
    Bar { jobs: &["re-read"], of: Subject::CloseToOpen, over: Subject::Bare, ratio: 0.8 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_measures_each_cell_once() {
        let mut cells: Vec<_> = Dice(7)
            .shuffled(Subject::ALL.len())
            .iter()
            .map(|(job, subject)| (job.name, *subject))
            .collect();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), JOBS.len() * Subject::ALL.len());
    }
}
