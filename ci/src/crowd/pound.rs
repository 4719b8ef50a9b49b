//! One process of a crowd: writes, reads back and compares, makes, looks at, renames and removes,
//! from one moment to another. It says how many operations that were.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::step::Step;

/// What is to be done where, and when.
pub(crate) struct Pound {
    directory: PathBuf,
    window: Window,
}

/// From one moment to another, in milliseconds since 1970, so that all processes mean the same.
pub(crate) struct Window {
    start: u64,
    end: u64,
}

impl Window {
    /// As soon as so many processes can have been started.
    pub(crate) fn soon(processes: usize, length: Duration) -> Self {
        let start = now() + 1000 + processes as u64 * 15;
        Self { start, end: start + length.as_millis() as u64 }
    }

    pub(crate) fn wait_for_the_end(&self) {
        wait_until(self.end);
    }
}

impl Pound {
    pub(crate) fn parse(words: &[OsString]) -> Result<Self, String> {
        let usage = || "usage: pound DIRECTORY START END".to_owned();
        let [directory, start, end] = words else { return Err(usage()) };
        let number = |word: &OsString| word.to_str().and_then(|w| w.parse().ok()).ok_or_else(usage);
        let window = Window { start: number(start)?, end: number(end)? };
        Ok(Self { directory: directory.into(), window })
    }
}

/// The process, to be started.
pub(crate) fn step(directory: &Path, window: &Window) -> Result<Step, String> {
    let own = std::env::current_exe().map_err(|e| format!("own path: {e}"))?;
    let times = [window.start.to_string(), window.end.to_string()];
    Ok(Step::new(own).arg("pound").arg(directory).args(times))
}

/// Works and prints how much was done.
pub(crate) fn run(pound: &Pound) -> Result<(), String> {
    let operations = work(pound).map_err(|e| format!("{}: {e}", pound.directory.display()))?;
    println!("{operations}");
    Ok(())
}

fn work(pound: &Pound) -> io::Result<u64> {
    fs::create_dir(&pound.directory)?;
    let [data, name, renamed] = ["data", "name", "renamed"].map(|file| pound.directory.join(file));
    let file = File::options().read(true).write(true).create_new(true).open(data)?;
    wait_until(pound.window.start);
    let (mut round, mut back) = (0u64, vec![0; BLOCK]);
    while now() < pound.window.end {
        let (place, block) = (round % BLOCKS * BLOCK as u64, vec![round as u8; BLOCK]);
        file.write_all_at(&block, place)?;
        file.read_exact_at(&mut back, place)?;
        if back != block {
            return Err(io::Error::other("what was written is not what is read"));
        }
        drop(File::create_new(&name)?);
        fs::metadata(&name)?;
        fs::rename(&name, &renamed)?;
        fs::remove_file(&renamed)?;
        round += 1;
    }
    Ok(round * OPERATIONS)
}

fn wait_until(moment: u64) {
    thread::sleep(Duration::from_millis(moment.saturating_sub(now())));
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

const BLOCK: usize = 32 << 10;
const BLOCKS: u64 = 8;
/// In each round.
const OPERATIONS: u64 = 6;
