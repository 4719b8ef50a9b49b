//! `iofwd bench` against fio: the same requests on the same directories. The two take turns within
//! each round, so that what drifts meanwhile hits both alike, and are shown to make the same calls.

mod job;
mod trace;

use std::fs;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::packages;
use crate::program::Program;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

use job::{JOBS, Job, Place, Tool};

pub(crate) fn agreement(site: &Site) -> Verdict {
    let (Program::Iofwd(program) | Program::Remote { path: program, .. }) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself has a benchmark".into()));
    };
    packages::install_comparison(site)?;
    let areas = [Area::in_memory(site, "agreement")?, Area::new(site, "agreement")?];
    let [memory, disk] = &areas;
    let bench = Bench { site, program: &program, memory: &memory.backing, disk: &disk.backing };
    let left = [bench.lay_out(Place::Memory)?, bench.lay_out(Place::Disk)?];
    for job in JOBS {
        bench.compare_calls(job, &left)?;
    }
    let mut found: Vec<_> = JOBS.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    for round in 0..site.rounds {
        println!("   round {} of {}", round + 1, site.rounds);
        for (job, [ours, theirs]) in JOBS.iter().zip(&mut found) {
            // Who comes second finds the processor awake: each does so every other time.
            if round % 2 == 0 {
                ours.push(bench.measure(job, Tool::Bench, &left)?);
            }
            theirs.push(bench.measure(job, Tool::Fio, &left)?);
            if round % 2 == 1 {
                ours.push(bench.measure(job, Tool::Bench, &left)?);
            }
        }
    }
    areas.into_iter().for_each(Area::clear);
    judge(&found)
}

/// Where both tools work.
struct Bench<'a> {
    site: &'a Site,
    program: &'a Path,
    memory: &'a Path,
    disk: &'a Path,
}

impl Bench<'_> {
    fn directory(&self, place: Place) -> &Path {
        match place {
            Place::Memory => self.memory,
            Place::Disk => self.disk,
        }
    }

    /// Writes the file that both will read: the same one, because where its pages lie makes a difference.
    fn lay_out(&self, place: Place) -> Result<PathBuf, String> {
        let directory = self.directory(place);
        let words = ["-n", "1", "-p", "contiguous", "-r", "1M", "-s", job::READ_SIZE];
        let step = Step::new(self.program).arg("bench").args(words);
        step.args(["--operation", "write", "--fsync", "--keep"]).arg(directory).run(self.site)?;
        let explain = |e: std::io::Error| format!("{}: {e}", directory.display());
        let made = fs::read_dir(directory).map_err(explain)?.next();
        made.ok_or("nothing was kept")?.map(|entry| entry.path()).map_err(explain)
    }

    /// Bytes a second, in millions.
    fn measure(&self, job: &Job, tool: Tool, left: &[PathBuf; 2]) -> Result<f64, String> {
        let step = job.step(tool, self.program, self.directory(job.place), left, job.full());
        let output = step.quiet().run(self.site)?;
        self.remove_written(job)?;
        job::rate(tool, &output).ok_or_else(|| format!("{}: no rate in:\n{output}", job.name))
    }

    /// Only tools that ask the kernel for the same can be compared: shown once, on little data.
    fn compare_calls(&self, job: &Job, left: &[PathBuf; 2]) -> Result<(), String> {
        let mut calls = Vec::new();
        for tool in [Tool::Bench, Tool::Fio] {
            let directory = self.directory(job.place);
            let step = job.step(tool, self.program, directory, left, job.little());
            calls.push(trace::calls(self.site, step, job)?);
            self.remove_written(job)?;
        }
        let [ours, theirs] = &calls[..] else { return Err("two tools".into()) };
        if ours.is_empty() || ours != theirs {
            return Err(format!(
                "{}: the calls differ: {} of bench, {} of fio",
                job.name,
                ours.len(),
                theirs.len()
            ));
        }
        println!("   {:24} {} calls of both, the same", job.name, ours.len());
        Ok(())
    }

    /// Every run that writes begins without the file of the one before.
    fn remove_written(&self, job: &Job) -> Result<(), String> {
        let written = self.directory(job.place).join(job::WRITTEN);
        if !written.exists() {
            return Ok(());
        }
        fs::remove_file(&written).map_err(|e| format!("{}: {e}", written.display()))
    }
}

/// Prints what was found, and says which jobs agree: the middle one of the ratios of neighbours in time,
/// because a machine that others share is faster at one moment than at the next.
fn judge(found: &[[Vec<f64>; 2]]) -> Verdict {
    let rounds = found.first().map_or(0, |[ours, _]| ours.len());
    println!("   one process, {rounds} rounds; MB/s are medians, ratios those within a round");
    println!("   {:24} {:>8} {:>8} {:>7}  half of them lie in", "", "bench", "fio", "ratio");
    let mut apart = Vec::new();
    for (job, [ours, theirs]) in JOBS.iter().zip(found) {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(one, other)| one / other).collect();
        let [low, ratio, high] = [1, 2, 3].map(|quarters| quartile(&ratios, quarters));
        let agrees = (ratio - 1.0).abs() <= TOLERANCE;
        println!(
            "   {:24} {:>8.0} {:>8.0} {ratio:>7.3}  {low:.3} to {high:.3}  {}{}",
            job.name,
            quartile(ours, 2),
            quartile(theirs, 2),
            if agrees { "agrees" } else { "APART" },
            if high - low > NOISY { ", but noisy: more rounds, or a quieter machine" } else { "" }
        );
        if !agrees {
            apart.push(job.name);
        }
    }
    let note = format!("{} of {} jobs within 5 %", JOBS.len() - apart.len(), JOBS.len());
    if apart.is_empty() { Ok(Outcome::Passed(note)) } else { Err(note) }
}

/// The value below which this many quarters of them lie; between two if none lies there.
fn quartile(values: &[f64], quarters: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let steps = values.len().saturating_sub(1) * quarters;
    match (values.get(steps / 4), values.get(steps.div_ceil(4))) {
        (Some(lower), Some(upper)) => lower + (upper - lower) * (steps % 4) as f64 / 4.0,
        _ => f64::NAN,
    }
}

const TOLERANCE: f64 = 0.05;
/// Where half of the ratios lie further apart than this, their middle says little.
const NOISY: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_are_apart_make_it_fail() {
        let found = |ours: f64| JOBS.iter().map(|_| [vec![ours; 3], vec![100.0; 3]]).collect();
        let judged = |ours| judge(&Vec::from_iter::<Vec<_>>(found(ours)));
        assert!(judged(104.9).is_ok() && judged(95.1).is_ok());
        assert!(judged(106.0).is_err() && judged(94.0).is_err());
    }

    #[test]
    fn quartiles_lie_where_they_should() {
        let values = [100.0, 1.0, 101.0, 99.0, 102.0];
        assert_eq!([1, 2, 3].map(|quarters| quartile(&values, quarters)), [99.0, 100.0, 101.0]);
        assert_eq!(quartile(&[2.0, 1.0], 2), 1.5);
        assert!(quartile(&[], 2).is_nan());
    }

    #[test]
    fn a_machine_that_slows_down_meanwhile_moves_no_ratio() {
        let pair = || [vec![100.0, 50.0, 10.0], vec![100.0, 50.0, 10.0]];
        assert!(judge(&JOBS.iter().map(|_| pair()).collect::<Vec<_>>()).is_ok());
    }
}
