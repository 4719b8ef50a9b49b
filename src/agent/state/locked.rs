//! Who holds which lock, written down for the time between the death of an agent and the return of
//! its clients: the backing has forgotten their locks by then, and others must not get them.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use iofwd_mount::store::{Lock, LockKind};

use crate::backend::posix::{Identity, Key};
use crate::ranges::Ranges;

use super::{SessionName, private};

/// A file for each file that has locks.
#[derive(Debug)]
pub(crate) struct LockedFiles {
    directory: PathBuf,
}

/// The locks of one owner on one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Locked {
    session: SessionName,
    owner: u64,
    whole_file: bool,
    ranges: Ranges,
}

/// Whose a lock is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) session: SessionName,
    pub(crate) owner: u64,
    pub(crate) whole_file: bool,
}

impl LockedFiles {
    pub(super) fn new(directory: PathBuf) -> LockedFiles {
        LockedFiles { directory }
    }

    /// Take or release a lock by `act`, unless it is another client's; and write it down.
    pub(crate) fn set<T>(
        &self,
        file: Key,
        holder: Holder,
        lock: &Lock,
        act: impl FnOnce() -> Result<T, iofwd_mount::Errno>,
    ) -> Result<T, iofwd_mount::Errno> {
        let (page, mut all) = self.open(file)?;
        let theirs = |one: &&Locked| one.session != holder.session;
        let is_taken = |one: &Locked| {
            one.whole_file == holder.whole_file && one.ranges.conflict(lock).is_some()
        };
        if lock.kind != LockKind::Unlock && all.iter().filter(theirs).any(is_taken) {
            self.close(file, &page, &all)?;
            return Err(iofwd_mount::Errno::EAGAIN);
        }
        let done = act();
        if done.is_ok() {
            let ours = all.iter().position(|one| one.is_of(holder));
            let at = ours.unwrap_or_else(|| {
                all.push(Locked::of(holder));
                all.len() - 1
            });
            all[at].ranges.set(*lock);
            all.retain(|one| !one.ranges.is_empty());
            self.write(&page, &all)?;
        }
        self.close(file, &page, &all)?;
        done
    }

    /// A client is gone, and with it its locks.
    pub(crate) fn release_session(&self, session: &SessionName) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten() {
            let Some(key) = entry.file_name().to_str().and_then(key) else { continue };
            if let Err(error) = self.drop_from(key, |one| one.session == *session) {
                tracing::warn!(%error, "locks of a client that is gone stay written down");
            }
        }
    }

    /// Of what is written down for a client only that is true which it holds: `held` says what an
    /// owner has locked in a file, given what was written down.
    pub(crate) fn retain(
        &self,
        session: &SessionName,
        held: impl Fn(Key, u64, bool, &Ranges) -> Option<Ranges>,
    ) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.directory)?.flatten() {
            let Some(key) = entry.file_name().to_str().and_then(key) else { continue };
            let (page, mut all) = self.open(key)?;
            for one in all.iter_mut().filter(|one| one.session == *session) {
                one.ranges = held(key, one.owner, one.whole_file, &one.ranges).unwrap_or_default();
            }
            all.retain(|one| !one.ranges.is_empty());
            self.write(&page, &all)?;
            self.close(key, &page, &all)?;
        }
        Ok(())
    }

    /// An owner has given up everything it locked in a file.
    pub(crate) fn release(&self, file: Key, holder: Holder) -> io::Result<()> {
        self.drop_from(file, |one| one.is_of(holder))
    }

    fn drop_from(&self, file: Key, gone: impl Fn(&Locked) -> bool) -> io::Result<()> {
        let (page, mut all) = self.open(file)?;
        let before = all.len();
        all.retain(|one| !gone(one));
        if all.len() < before {
            self.write(&page, &all)?;
        }
        self.close(file, &page, &all)
    }

    fn open(&self, file: Key) -> io::Result<(Flock<File>, Vec<Locked>)> {
        Identity::assume_agent();
        let path = self.path(file);
        loop {
            let page = Flock::lock(private(&path)?, FlockArg::LockExclusive);
            let page = page.map_err(|(_, errno)| io::Error::from(errno))?;
            // Removed by the one before.
            if page.metadata()?.nlink() == 0 {
                continue;
            }
            let mut bytes = Vec::new();
            (&*page).read_to_end(&mut bytes)?;
            return Ok((page, postcard::from_bytes(&bytes).unwrap_or_default()));
        }
    }

    fn write(&self, page: &File, all: &[Locked]) -> io::Result<()> {
        let bytes = postcard::to_stdvec(all).map_err(io::Error::other)?;
        page.write_all_at(&bytes, 0)?;
        page.set_len(bytes.len() as u64)
    }

    fn close(&self, file: Key, _page: &Flock<File>, all: &[Locked]) -> io::Result<()> {
        if all.is_empty() { std::fs::remove_file(self.path(file)) } else { Ok(()) }
    }

    fn path(&self, file: Key) -> PathBuf {
        let (major, minor) = file.device;
        self.directory.join(format!("{major:x}-{minor:x}-{:x}", file.number))
    }
}

impl Locked {
    fn of(holder: Holder) -> Locked {
        let Holder { session, owner, whole_file } = holder;
        Locked { session, owner, whole_file, ranges: Ranges::default() }
    }

    fn is_of(&self, holder: Holder) -> bool {
        (self.session, self.owner, self.whole_file)
            == (holder.session, holder.owner, holder.whole_file)
    }
}

fn key(name: &str) -> Option<Key> {
    let mut numbers = name.split('-').map(|number| u64::from_str_radix(number, 16).ok());
    let (major, minor, number) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(Key { device: (major.try_into().ok()?, minor.try_into().ok()?), number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iofwd_mount::Errno;

    const FILE: Key = Key { device: (0xfe, 1), number: 77 };

    fn lock(start: u64, end: u64, kind: LockKind) -> Lock {
        Lock { start, end, kind, pid: 0 }
    }

    fn holder(session: u8) -> Holder {
        Holder { session: [session; 16], owner: 5, whole_file: false }
    }

    #[test]
    fn what_one_client_holds_no_other_gets_until_it_is_released() {
        let room = tempfile::tempdir().unwrap();
        let locked = LockedFiles::new(room.path().to_owned());
        let write = lock(0, 9, LockKind::Write);
        let set = |session, lock: &Lock| locked.set(FILE, holder(session), lock, || Ok(()));
        assert_eq!(set(1, &write), Ok(()));
        assert_eq!(set(2, &write), Err(Errno::EAGAIN));
        assert_eq!(set(1, &write), Ok(()), "again, by whoever has it");
        assert_eq!(set(2, &lock(10, 19, LockKind::Write)), Ok(()), "beside it");
        let flock = Holder { whole_file: true, ..holder(2) };
        assert_eq!(locked.set(FILE, flock, &write, || Ok(())), Ok(()), "of another kind");
        assert_eq!(set(1, &lock(0, 9, LockKind::Unlock)), Ok(()));
        assert_eq!(set(2, &write), Ok(()));
        let some = |_, _, whole_file: bool, written: &Ranges| whole_file.then(|| written.clone());
        locked.retain(&[2; 16], some).unwrap();
        assert_eq!(set(1, &write), Ok(()), "what it does not hold any more is free");
        assert_eq!(set(1, &lock(0, 9, LockKind::Unlock)), Ok(()));
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 1, "what it holds stays");
        locked.release_session(&[2; 16]);
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_the_backing_refuses_is_not_written_down() {
        let room = tempfile::tempdir().unwrap();
        let locked = LockedFiles::new(room.path().to_owned());
        let write = lock(0, 9, LockKind::Write);
        let refused = locked.set(FILE, holder(1), &write, || Err::<(), _>(Errno::EAGAIN));
        assert_eq!(refused, Err(Errno::EAGAIN));
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
    }
}
