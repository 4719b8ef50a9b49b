//! What the system tells about a process.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// The table of processes.
#[derive(Clone, Debug)]
pub(super) struct Processes {
    /// `/proc`, but for tests.
    place: Arc<PathBuf>,
}

/// Which process a number stands for, and which program it runs: the time it was started, and where
/// its environment lies in its memory. The latter changes when it becomes another program, and is
/// zero for those whose environment we may not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incarnation {
    started: u64,
    environment: (u64, u64),
}

impl Processes {
    pub(super) fn new(place: PathBuf) -> Processes {
        Processes { place: Arc::new(place) }
    }

    /// Which process a number stands for now; `None`: it is gone. The system
    /// may have to wait for a process that is about to become another program.
    pub(super) fn incarnation(&self, pid: u32) -> Option<Incarnation> {
        let stat = self.read(pid, "stat", STAT_MOST).ok()?;
        parse(&stat)
    }

    /// The environment that the process was started with, or the beginning of it. The system may
    /// have to wait for a lock on the memory of the process.
    pub(super) fn environment(&self, pid: u32) -> io::Result<Vec<u8>> {
        self.read(pid, "environ", ENVIRONMENT_MOST)
    }

    fn read(&self, pid: u32, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let file = File::open(self.place.join(pid.to_string()).join(name))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// `PID (NAME) STATE PPID ...`: the name may hold anything, so that the fields are counted from its
/// end.
fn parse(stat: &[u8]) -> Option<Incarnation> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // proc(5) counts from 1, and the first one here is its third.
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse().ok());
    Some(Incarnation {
        started: field(22)?,
        environment: (field(50).unwrap_or(0), field(51).unwrap_or(0)),
    })
}

const STAT_MOST: u64 = 4096;
/// More than any environment has that is not made to annoy.
const ENVIRONMENT_MOST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, started: u64, environment: u64) -> String {
        let before: String = (4..22).map(|_| "0 ").collect();
        let between: String = (23..50).map(|_| "0 ").collect();
        format!("7 ({name}) S {before}{started} {between}{environment} {} 0\n", environment + 9)
    }

    #[test]
    fn fields_are_counted_behind_the_name() {
        let expected = Incarnation { started: 1234, environment: (5000, 5009) };
        for name in ["bash", "a b", ") S 1 2 3 (", "\n"] {
            assert_eq!(parse(stat(name, 1234, 5000).as_bytes()), Some(expected), "{name}");
        }
        for wrong in ["", "7", "7 (x", "7 (x) S 1 2", "7 (x) S a b c"] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn this_process_and_its_threads_are_there_and_others_are_not() {
        let processes = Processes::new("/proc".into());
        let pid = std::process::id();
        let own = processes.incarnation(pid).expect("this process");
        assert_ne!(own.environment, (0, 0));
        assert_eq!(processes.incarnation(pid), Some(own));
        let thread = std::thread::spawn(|| nix::unistd::gettid().as_raw() as u32);
        let gone = thread.join().expect("no panic");
        assert_eq!(processes.incarnation(gone), None);
        let tid = nix::unistd::gettid().as_raw() as u32;
        assert_eq!(
            processes.incarnation(tid).map(|found| found.environment),
            Some(own.environment)
        );
    }
}
