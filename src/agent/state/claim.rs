//! Whose a client is: the agent that serves it has its file locked. Another agent gets it when that
//! one lets go, or is dead; so that no two of them ever act for one client.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

use nix::errno::Errno as Raw;
use nix::fcntl::{Flock, FlockArg};

use crate::agent::AgentId;
use crate::wire::greeting::Bytes32;

use super::verdict::Verdict;
use super::{SessionName, State, from_hex, name_of, places, private};

/// A client's file, locked.
#[derive(Debug)]
pub(crate) struct Record {
    name: SessionName,
    file: Flock<File>,
}

impl Record {
    pub(crate) fn name(&self) -> SessionName {
        self.name
    }

    /// Keep what came of a call, until the client uses the place again.
    pub(crate) fn keep(&self, place: u16, id: u64, verdict: Verdict) -> io::Result<()> {
        places::write(&self.file, place, id, verdict)
    }

    /// The agent that acts for the client elsewhere from now on; which one did before and did not say
    /// that it was done. A file is used for this or for places, never for both.
    pub(crate) fn hand_over(&self, to: AgentId) -> io::Result<Option<AgentId>> {
        let mut before = AgentId::default();
        let count = self.file.read_at(&mut before, 0)?;
        self.file.write_all_at(&to, 0)?;
        Ok(Some(before).filter(|before| count == before.len() && *before != AgentId::default()))
    }

    /// The agent that acted for the client is done with everything.
    pub(crate) fn put_down(&self) -> io::Result<()> {
        self.hand_over(AgentId::default()).map(drop)
    }

    /// What came of that call, if it was done.
    pub(crate) fn kept(&self, place: u16, id: u64) -> io::Result<Option<Verdict>> {
        places::read(&self.file, place, id)
    }
}

impl State {
    /// A client that is new.
    pub(crate) fn begin(&self, token: &Bytes32) -> io::Result<Record> {
        let name = name_of(token);
        let file = private(&self.session_path(&name))?;
        // So that a full disk does not come in the way of those who are about to make room.
        let _ = nix::fcntl::posix_fallocate(&file, 0, USUAL);
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        Ok(Record { name, file: file.map_err(|(_, errno)| errno)? })
    }

    /// A client that another agent served, or this one before it was started again. `None` if it is
    /// not known.
    pub(crate) fn take_over(
        &self,
        token: &Bytes32,
        patience: Duration,
    ) -> io::Result<Option<Record>> {
        let name = name_of(token);
        let end = Instant::now() + patience;
        loop {
            let path = self.session_path(&name);
            let file = match File::options().read(true).write(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) if file.metadata()?.nlink() == 0 => return Ok(None),
                Ok(file) => {
                    let _ = std::fs::remove_file(self.wanted_path(&name));
                    return Ok(Some(Record { name, file }));
                }
                Err((_, Raw::EWOULDBLOCK)) if Instant::now() < end => {
                    private(&self.wanted_path(&name))?;
                    std::thread::sleep(RETRY);
                }
                Err((_, errno)) => return Err(errno.into()),
            }
        }
    }

    /// The client will not come back.
    pub(crate) fn end(&self, record: &Record) {
        self.locked.release_session(&record.name);
        self.remove(&record.name);
    }

    pub(super) fn remove(&self, name: &SessionName) {
        let _ = std::fs::remove_file(self.session_path(name));
        let _ = std::fs::remove_file(self.wanted_path(name));
    }

    /// Clients that another agent waits for.
    pub(crate) fn wanted(&self) -> Vec<SessionName> {
        names_in(&self.directory.join(super::WANTED))
    }

    /// All clients that are known.
    pub(super) fn sessions(&self) -> Vec<SessionName> {
        names_in(&self.directory.join(super::SESSIONS))
    }

    /// Keep what came of a call of a client that is served by nobody, or by whoever.
    pub(crate) fn keep_for(&self, name: &SessionName, place: u16, id: u64, verdict: Verdict) {
        let file = File::options().read(true).write(true).open(self.session_path(name));
        let kept = file.and_then(|file| {
            // Used again since: the client has heard of it.
            if places::last(&file, place)? > id {
                return Ok(());
            }
            places::write(&file, place, id, verdict)
        });
        if let Err(error) = kept
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::error!(%error, "what came of a call could not be kept");
        }
    }

    /// The client's file, if nobody serves it.
    pub(super) fn unserved(&self, name: &SessionName) -> Option<Flock<File>> {
        let file = File::options().read(true).write(true).open(self.session_path(name)).ok()?;
        Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
    }
}

fn names_in(directory: &std::path::Path) -> Vec<SessionName> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| entry.file_name().to_str().and_then(from_hex);
    entries.flatten().filter_map(name).collect()
}

/// How often it is tried again.
const RETRY: Duration = Duration::from_millis(20);
/// Bytes of a client's file that are there from the beginning.
const USUAL: i64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_acted_for_a_client_and_died_is_known() {
        let room = tempfile::tempdir().unwrap();
        let state = State::open(room.path()).unwrap();
        let record = state.begin(&[5; 32]).unwrap();
        assert_eq!(record.hand_over([1; 16]).unwrap(), None);
        drop(record);
        let record = state.take_over(&[5; 32], NOW).unwrap().unwrap();
        assert_eq!(record.hand_over([2; 16]).unwrap(), Some([1; 16]));
        record.put_down().unwrap();
        assert_eq!(record.hand_over([3; 16]).unwrap(), None);
    }

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn one_agent_at_a_time_has_a_client() {
        let room = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| State::open(room.path()).unwrap());
        let token = [3; 32];
        assert!(one.take_over(&token, NOW).unwrap().is_none(), "not known yet");
        let record = one.begin(&token).unwrap();
        record.keep(1, 5, Verdict::Done).unwrap();
        assert!(other.take_over(&token, NOW).is_err());
        assert!(one.wanted().is_empty(), "nobody waits any more than it was told to");
        let waiting = std::thread::spawn(move || {
            let record = other.take_over(&token, Duration::from_secs(20)).unwrap().unwrap();
            assert_eq!(record.kept(1, 5).unwrap(), Some(Verdict::Done));
            other.end(&record);
        });
        while one.wanted() != [record.name()] {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(record);
        waiting.join().unwrap();
        assert!(one.take_over(&token, NOW).unwrap().is_none(), "it has ended");
        assert!(one.wanted().is_empty() && one.sessions().is_empty());
    }
}
