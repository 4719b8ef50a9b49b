//! The results: medians by job and subject, their ratios, and whether the bars hold.

use std::collections::HashMap;
use std::fmt;

use crate::speed::Comparison;
use crate::speed::job::Job;
use crate::speed::subject::Subject;

/// All that was measured.
pub(crate) struct Table {
    comparison: &'static Comparison,
    values: HashMap<(&'static str, &'static str), Vec<f64>>,
}

/// What one subject must reach relative to another, in the jobs whose names begin so.
pub(crate) struct Bar {
    pub(crate) jobs: &'static [&'static str],
    pub(crate) of: Subject,
    pub(crate) over: Subject,
    pub(crate) ratio: f64,
}

/// A bar in one job.
pub(crate) struct Check {
    pub(crate) held: bool,
    text: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.held { "holds" } else { "MISSED" };
        write!(f, "{verdict:6} {}", self.text)
    }
}

impl Table {
    pub(crate) fn new(comparison: &'static Comparison) -> Self {
        Self { comparison, values: HashMap::new() }
    }

    pub(crate) fn add(&mut self, job: &Job, subject: Subject, value: f64) {
        self.values.entry((job.name, subject.name())).or_default().push(value);
    }

    /// All bars, in each job that they are about.
    pub(crate) fn checks(&self) -> Vec<Check> {
        self.comparison.bars.iter().flat_map(|bar| self.check(bar)).collect()
    }

    fn check(&self, bar: &Bar) -> Vec<Check> {
        let about = |job: &&Job| bar.jobs.iter().any(|start| job.name.starts_with(start));
        let check = |job: &Job| {
            let ratio = self.median(job.name, bar.of)? / self.median(job.name, bar.over)?;
            let (of, over) = (bar.of.name(), bar.over.name());
            let text = format!("{}: {of} {ratio:.2}x {over}, bar {:.2}x", job.name, bar.ratio);
            Some(Check { held: ratio >= bar.ratio, text })
        };
        self.comparison.jobs.iter().filter(about).filter_map(check).collect()
    }

    fn median(&self, job: &'static str, subject: Subject) -> Option<f64> {
        let mut values = self.values.get(&(job, subject.name()))?.clone();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        Some(if values.len() % 2 == 1 {
            values[middle]
        } else {
            (values[middle - 1] + values[middle]) / 2.0
        })
    }

    fn row(
        &self,
        f: &mut fmt::Formatter<'_>,
        job: &Job,
        cell: impl Fn(f64) -> String,
    ) -> fmt::Result {
        write!(f, "   {:28}", format!("{} {}", job.name, job.unit))?;
        for subject in self.comparison.subjects {
            let value = self.median(job.name, *subject).map_or_else(|| "-".into(), &cell);
            write!(f, "{value:>15}")?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { subjects, jobs, base, .. } = self.comparison;
        let relative_to = format!("relative to {}", base.name());
        for (title, relative) in [("medians", false), (&*relative_to, true)] {
            write!(f, "   {title:28}")?;
            for subject in *subjects {
                write!(f, "{:>15}", subject.name())?;
            }
            writeln!(f)?;
            for job in *jobs {
                let base = self.median(job.name, *base).filter(|_| relative);
                self.row(f, job, |value| match base {
                    Some(base) => format!("{:.2}", value / base),
                    None => format!("{value:.0}"),
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::job::JOBS;

    static TWO: Comparison = Comparison {
        subjects: &[Subject::Coherent, Subject::Bindfs],
        jobs: JOBS,
        base: Subject::Bindfs,
        bars: &[],
    };

    fn table(coherent: &[f64], bindfs: &[f64]) -> Table {
        let mut table = Table::new(&TWO);
        for value in coherent {
            table.add(&JOBS[0], Subject::Coherent, *value);
        }
        for value in bindfs {
            table.add(&JOBS[0], Subject::Bindfs, *value);
        }
        table
    }

    #[test]
    fn a_bar_is_about_medians() {
        let table = table(&[3.0, 100.0, 2.9], &[1.0, 2.0, 2.0, 300.0]);
        let bar = Bar { jobs: &["4k-"], of: Subject::Coherent, over: Subject::Bindfs, ratio: 1.5 };
        let checks = table.check(&bar);
        assert_eq!(checks.len(), 1);
        assert!(checks[0].held);
        let higher = Bar { ratio: 1.51, ..bar };
        assert_eq!(
            table.check(&higher)[0].to_string(),
            "MISSED 4k-random-read-1: coherent 1.50x bindfs, bar 1.51x"
        );
    }

    #[test]
    fn a_cell_that_was_not_measured_is_empty() {
        let text = table(&[3.0], &[]).to_string();
        assert!(text.lines().nth(1).is_some_and(|row| row.contains(" 3") && row.contains(" -")));
    }
}
