//! One object: its file, opened when it is first needed, and the last epoch it has seen.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use iofwd_mount::Errno;

use super::stamp;

/// An object. Reads and writes go side by side; a cut goes alone.
#[derive(Debug)]
pub(super) struct Object {
    place: PathBuf,
    state: RwLock<State>,
}

#[derive(Debug)]
enum State {
    /// Nobody has looked.
    Unknown,
    /// There is no file; the epoch is known if somebody told one.
    Absent {
        epoch: u64,
    },
    Open(Opened),
}

#[derive(Debug)]
struct Opened {
    file: File,
    epoch: u64,
    /// Its name may not be on disk yet.
    is_new: bool,
}

impl Object {
    pub(super) fn new(place: PathBuf) -> Object {
        Object { place, state: RwLock::new(State::Unknown) }
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let state = self.look()?;
        let State::Open(opened) = &*state else { return Ok(0) };
        let mut done = 0;
        while done < into.len() {
            match opened.file.read_at(&mut into[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(done)
    }

    pub(super) fn write(&self, epoch: u64, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.change(epoch, |file| Ok(file.write_all_at(data, offset)?))
    }

    pub(super) fn allocate(&self, epoch: u64, mode: i32, range: (u64, u64)) -> Result<(), Errno> {
        if mode & libc::FALLOC_FL_PUNCH_HOLE != 0 && matches!(*self.look()?, State::Absent { .. }) {
            return Ok(());
        }
        self.change(epoch, |file| {
            let (offset, length) = (range.0 as i64, range.1 as i64);
            // SAFETY: no memory is involved.
            let result = unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, length) };
            if result < 0 { Err(Errno::last()) } else { Ok(()) }
        })
    }

    pub(super) fn cut(&self, epoch: u64, size: u64) -> Result<(), Errno> {
        drop(self.look()?);
        let mut state = self.alone();
        match &mut *state {
            State::Open(opened) if opened.epoch <= epoch => {
                opened.reach(epoch)?;
                if opened.file.metadata()?.len() > size {
                    opened.file.set_len(size)?;
                }
            }
            State::Absent { epoch: seen } if *seen < epoch => *seen = epoch,
            State::Unknown | State::Absent { .. } | State::Open(_) => {}
        }
        Ok(())
    }

    pub(super) fn seek(&self, offset: u64, hole: bool) -> Result<u64, Errno> {
        let nothing = if hole { Ok(offset) } else { Err(Errno::from_raw(libc::ENXIO)) };
        let state = self.look()?;
        let State::Open(opened) = &*state else { return nothing };
        let whence = if hole { libc::SEEK_HOLE } else { libc::SEEK_DATA };
        // SAFETY: no memory is involved; nobody uses the position of the descriptor.
        let found = unsafe { libc::lseek(opened.file.as_raw_fd(), offset as i64, whence) };
        match u64::try_from(found) {
            Ok(found) => Ok(found),
            Err(_) if Errno::last().raw() == libc::ENXIO => nothing,
            Err(_) => Err(Errno::last()),
        }
    }

    pub(super) fn sync(&self, data_only: bool) -> Result<(), Errno> {
        let state = self.look()?;
        let State::Open(opened) = &*state else { return Ok(()) };
        if data_only {
            opened.file.sync_data()?
        } else {
            opened.file.sync_all()?
        }
        if !opened.is_new {
            return Ok(());
        }
        drop(state);
        if let Some(folder) = self.place.parent() {
            File::open(folder)?.sync_all()?;
        }
        if let State::Open(opened) = &mut *self.alone() {
            opened.is_new = false;
        }
        Ok(())
    }

    pub(super) fn remove(&self) -> Result<(), Errno> {
        let mut state = self.alone();
        *state = State::Absent { epoch: 0 };
        match std::fs::remove_file(&self.place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Change the file, which is made if it is not there, unless it has seen a later epoch.
    fn change(
        &self,
        epoch: u64,
        change: impl FnOnce(&File) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        loop {
            let state = self.look()?;
            match &*state {
                State::Open(Opened { epoch: seen, .. }) | State::Absent { epoch: seen }
                    if epoch < *seen =>
                {
                    return Err(Errno::ESTALE);
                }
                State::Open(opened) if opened.epoch == epoch => return change(&opened.file),
                State::Unknown | State::Absent { .. } | State::Open(_) => {}
            }
            drop(state);
            self.reach(epoch)?;
        }
    }

    /// Make the file if it is not there, and let it see the epoch.
    fn reach(&self, epoch: u64) -> Result<(), Errno> {
        let mut state = self.alone();
        if let State::Absent { epoch: seen } = *state {
            let mut options = File::options();
            let file = options.read(true).write(true).create(true).truncate(false);
            // No caller knows of a directory that could be missing here.
            let file = file.mode(0o600).open(&self.place).map_err(|error| {
                if error.kind() == io::ErrorKind::NotFound { Errno::EIO } else { error.into() }
            })?;
            *state = State::Open(Opened { file, epoch: seen, is_new: true });
        }
        match &mut *state {
            State::Open(opened) => opened.reach(epoch),
            State::Unknown | State::Absent { .. } => Ok(()),
        }
    }

    /// The state, with the file open if there is one.
    fn look(&self) -> Result<RwLockReadGuard<'_, State>, Errno> {
        loop {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if !matches!(*state, State::Unknown) {
                return Ok(state);
            }
            drop(state);
            let mut state = self.alone();
            if matches!(*state, State::Unknown) {
                *state = self.find()?;
            }
        }
    }

    fn find(&self) -> Result<State, Errno> {
        match File::options().read(true).write(true).open(&self.place) {
            Ok(file) => {
                let epoch = stamp::read(&file)?;
                // Whoever made it may have died before its name was on disk.
                Ok(State::Open(Opened { file, epoch, is_new: true }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::Absent { epoch: 0 }),
            Err(error) => Err(error.into()),
        }
    }

    fn alone(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    fn reach(&mut self, epoch: u64) -> Result<(), Errno> {
        if self.epoch < epoch {
            stamp::write(&self.file, epoch)?;
            self.epoch = epoch;
        }
        Ok(())
    }
}
