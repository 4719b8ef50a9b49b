//! The metadata load: each thread creates, looks at, renames and removes files in a directory of
//! its own, for a time. It runs as a process of its own, like fio.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::site::Site;
use crate::step::Step;

/// What is to be done where.
pub(crate) struct Load {
    directory: PathBuf,
    threads: usize,
    seconds: f64,
}

impl Load {
    pub(crate) fn parse(words: &[OsString]) -> Result<Self, String> {
        let usage = || "usage: load DIRECTORY THREADS SECONDS".to_owned();
        let [directory, threads, seconds] = words else { return Err(usage()) };
        Ok(Self {
            directory: PathBuf::from(directory),
            threads: threads.to_str().and_then(|w| w.parse().ok()).ok_or_else(usage)?,
            seconds: seconds.to_str().and_then(|w| w.parse().ok()).ok_or_else(usage)?,
        })
    }
}

/// Starts the load, and takes its result: operations per second.
pub(crate) fn measure(
    site: &Site,
    directory: &Path,
    threads: usize,
    seconds: f64,
) -> Result<f64, String> {
    let own = std::env::current_exe().map_err(|e| format!("own path: {e}"))?;
    let step = Step::new(own).arg("load").arg(directory);
    let output = step.args([threads.to_string(), seconds.to_string()]).quiet().run(site)?;
    output.trim().parse().map_err(|_| format!("the load gave no result: {output}"))
}

/// Runs the load and prints its result.
pub(crate) fn run(load: &Load) -> Result<(), String> {
    let end = AtomicBool::new(false);
    let start = Instant::now();
    let operations = thread::scope(|scope| {
        let started: Vec<_> = (0..load.threads)
            .map(|number| {
                let (directory, end) = (load.directory.join(format!("load-{number}")), &end);
                scope.spawn(move || work(&directory, end))
            })
            .collect();
        thread::sleep(Duration::from_secs_f64(load.seconds));
        end.store(true, Ordering::Relaxed);
        let joined = started.into_iter().map(|one| one.join().expect("the work does not panic"));
        joined.sum::<io::Result<u64>>()
    });
    let operations = operations.map_err(|e| format!("{}: {e}", load.directory.display()))?;
    println!("{:.0}", operations as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

fn work(directory: &Path, end: &AtomicBool) -> io::Result<u64> {
    fs::create_dir_all(directory)?;
    let (name, renamed) = (directory.join("file"), directory.join("renamed"));
    let mut operations = 0;
    while !end.load(Ordering::Relaxed) {
        drop(fs::File::create_new(&name)?);
        fs::metadata(&name)?;
        fs::rename(&name, &renamed)?;
        fs::remove_file(&renamed)?;
        operations += 4;
    }
    fs::remove_dir(directory)?;
    Ok(operations)
}
