//! Names that nobody sees, of files that lost their last one while they were open: for another agent, or
//! for this one when it is started again. Which of them an agent uses is seen from a lock, so that what
//! nobody came back for can be told from the rest.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};

use crate::backend::posix::Key;

use super::{KEPT, private};

/// All of them.
#[derive(Debug)]
pub(crate) struct HiddenNames {
    directory: PathBuf,
    /// A byte of it is locked for each that an agent uses.
    used: File,
    used_path: PathBuf,
}

impl HiddenNames {
    pub(super) fn open(state: &Path) -> io::Result<HiddenNames> {
        let used_path = state.join("used");
        Ok(HiddenNames { directory: state.join(KEPT), used: private(&used_path)?, used_path })
    }

    /// Where they are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The name of a file.
    pub(crate) fn path(&self, file: Key) -> PathBuf {
        let (major, minor) = file.device;
        self.directory.join(format!("{major:x}-{minor:x}-{:x}", file.number))
    }

    /// This agent uses it from now on.
    pub(crate) fn begin_use(&self, file: Key) {
        if let Err(error) = lock(&self.used, file, libc::F_RDLCK) {
            tracing::warn!(%error, "that a file without a name is in use cannot be told to others");
        }
    }

    /// This agent uses it no more.
    pub(crate) fn end_use(&self, file: Key) {
        let _ = lock(&self.used, file, libc::F_UNLCK);
    }

    /// Those that no agent uses.
    fn unused(&self) -> io::Result<Vec<PathBuf>> {
        // By another description of the file, lest our own locks be none.
        let used = private(&self.used_path)?;
        let mut unused = Vec::new();
        for entry in std::fs::read_dir(&self.directory)?.flatten() {
            let key = entry.file_name().to_str().and_then(key);
            if key.is_some_and(|key| !is_locked(&used, key)) {
                unused.push(entry.path());
            }
        }
        Ok(unused)
    }
}

/// Since when names are known to be used by nobody.
#[derive(Debug, Default)]
pub(crate) struct Unused(HashMap<PathBuf, Instant>);

impl Unused {
    /// Those that nobody used for so long.
    pub(crate) fn sweep(
        &mut self,
        names: &HiddenNames,
        now: Instant,
        grace: Duration,
    ) -> io::Result<Vec<PathBuf>> {
        let all = names.unused()?.into_iter();
        let since = |path: PathBuf| {
            let since = self.0.get(&path).copied().unwrap_or(now);
            (path, since)
        };
        let is_long = |(_, since): &(PathBuf, Instant)| now.duration_since(*since) >= grace;
        let (long, still): (Vec<_>, Vec<_>) = all.map(since).partition(is_long);
        self.0 = still.into_iter().collect();
        Ok(long.into_iter().map(|(path, _)| path).collect())
    }
}

fn range(file: Key, kind: i32) -> libc::flock {
    let (major, minor) = file.device;
    let device = u64::from(major) << 8 ^ u64::from(minor);
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: ((file.number ^ device << 40) & (i64::MAX as u64 >> 1)) as i64,
        l_len: 1,
        l_pid: 0,
    }
}

fn lock(used: &File, file: Key, kind: i32) -> io::Result<()> {
    fcntl(used.as_fd(), FcntlArg::F_OFD_SETLK(&range(file, kind)))?;
    Ok(())
}

fn is_locked(used: &File, file: Key) -> bool {
    let mut found = range(file, libc::F_WRLCK);
    let asked = fcntl(used.as_fd(), FcntlArg::F_OFD_GETLK(&mut found));
    asked.is_err() || i32::from(found.l_type) != libc::F_UNLCK
}

/// The file of a name.
fn key(name: &str) -> Option<Key> {
    let mut words = name.split('-').map(|word| u64::from_str_radix(word, 16).ok());
    let (major, minor, number) = (words.next()??, words.next()??, words.next()??);
    let device = (u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
    words.next().is_none().then_some(Key { device, number })
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn only_what_no_agent_uses_for_long_is_given_up() {
        let room = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| State::open(room.path()).unwrap());
        let file = |number| Key { device: (8, 1), number };
        for number in [5, 6, 7] {
            std::fs::write(one.hidden.path(file(number)), b"").unwrap();
        }
        one.hidden.begin_use(file(5));
        other.hidden.begin_use(file(6));
        let (begin, grace) = (Instant::now(), Duration::from_secs(10));
        for state in [&one, &other] {
            let mut unused = Unused::default();
            let nothing: [PathBuf; 0] = [];
            assert_eq!(unused.sweep(&state.hidden, begin, grace).unwrap(), nothing);
            let left = unused.sweep(&state.hidden, begin + grace, grace).unwrap();
            assert_eq!(left, [one.hidden.path(file(7))]);
        }
        one.hidden.end_use(file(5));
        drop(other);
        assert_eq!(one.hidden.unused().unwrap().len(), 3, "those of agents that are gone, too");
    }
}
