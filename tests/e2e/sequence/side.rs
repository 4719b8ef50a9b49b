//! One client of one of the directories that are compared: does a step, and answers in words that
//! can be compared, an error as its name.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{self, AT_FDCWD, AtFlags, FallocateFlags, OFlag, RenameFlags};
use nix::sys::stat::{self, FchmodatFlags, Mode, UtimensatFlags};
use nix::sys::time::TimeSpec;
use nix::sys::uio::{pread, pwrite};
use nix::unistd::{self, Gid, Uid};

use super::attribute;
use super::lock::{self, LockStep};
use super::operation::{AttributeStep, DataStep, FileStep, NameStep, Operation, PATHS, SLOTS};
use super::state::{self, State};

/// A directory, and the files open in it.
pub(crate) struct Side {
    /// What is compared; a link may lead from the tree to here, and no further.
    room: PathBuf,
    /// Where the names are.
    tree: PathBuf,
    slots: [Option<OwnedFd>; SLOTS],
    /// Whether a lock was tried for on the open file.
    locked: [bool; SLOTS],
}

type Answer = Result<String, Errno>;

impl Side {
    /// A new directory with a little in it.
    pub(crate) fn new(room: &Path) -> Self {
        let side = Self::of(room);
        for directory in ["d/e", "f"] {
            fs::create_dir_all(side.tree.join(directory)).expect("the directory is new");
        }
        fs::write(side.tree.join("a"), "something to begin with").expect("the directory is new");
        side
    }

    /// Another client of a directory that another one has made.
    pub(crate) fn of(room: &Path) -> Self {
        let (room, tree) = (room.to_owned(), room.join("tree"));
        Self { room, tree, slots: Default::default(), locked: Default::default() }
    }

    /// What is compared.
    pub(crate) fn room(&self) -> &Path {
        &self.room
    }

    /// Does it, and says what came of it.
    pub(crate) fn apply(&mut self, operation: &Operation) -> String {
        let answer = match operation {
            Operation::File(step) => self.on_file(step),
            Operation::Data(step) => self.on_data(step),
            Operation::Name(step) => self.on_name(step),
            Operation::Attribute(step) => self.on_attribute(step),
            Operation::Lock(step) => self.on_lock(step),
        };
        answer.unwrap_or_else(|error| format!("{error:?}"))
    }

    /// All that can be seen of it.
    pub(crate) fn state(&self) -> State {
        state::read(&self.room, &self.slots)
    }

    fn on_file(&mut self, step: &FileStep) -> Answer {
        match *step {
            FileStep::Open { slot, name, flags, mode } => {
                self.take(slot);
                // Opening a pipe would wait for the other end.
                let flags = OFlag::from_bits_retain(flags | libc::O_NONBLOCK | libc::O_CLOEXEC);
                let opened = fcntl::open(&self.path(name), flags, Mode::from_bits_truncate(mode));
                self.slots[slot] = Some(opened?);
                Ok("opened".into())
            }
            FileStep::Temporary { slot, name } => {
                self.take(slot);
                let flags = OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC;
                self.slots[slot] = Some(fcntl::open(&self.path(name), flags, Mode::S_IRWXU)?);
                Ok("opened".into())
            }
            FileStep::Close { slot } => {
                let fd = self.take(slot).ok_or(Errno::EBADF)?;
                done(unistd::close(fd))
            }
            FileStep::Sync { slot, data_only: true } => done(unistd::fdatasync(self.file(slot)?)),
            FileStep::Sync { slot, data_only: false } => done(unistd::fsync(self.file(slot)?)),
            FileStep::Seek { slot, offset, whence } => seek(self.file(slot)?, offset, whence),
        }
    }

    fn on_data(&mut self, step: &DataStep) -> Answer {
        match *step {
            DataStep::Read { slot, length } => {
                let mut buffer = vec![0; length];
                let read = unistd::read(self.file(slot)?, &mut buffer)?;
                Ok(state::describe(&buffer[..read]))
            }
            DataStep::ReadAt { slot, offset, length } => {
                let mut buffer = vec![0; length];
                let read = pread(self.file(slot)?, &mut buffer, offset)?;
                Ok(state::describe(&buffer[..read]))
            }
            DataStep::Write { slot, length, fill } => {
                let written = unistd::write(self.file(slot)?, &vec![fill; length])?;
                Ok(format!("wrote {written}"))
            }
            DataStep::WriteAt { slot, offset, length, fill } => {
                let written = pwrite(self.file(slot)?, &vec![fill; length], offset)?;
                Ok(format!("wrote {written}"))
            }
            DataStep::TruncateOpen { slot, length } => {
                done(unistd::ftruncate(self.file(slot)?, length))
            }
            DataStep::Truncate { name, length } => done(unistd::truncate(&self.path(name), length)),
            DataStep::Allocate { slot, mode, offset, length } => {
                let mode = FallocateFlags::from_bits_retain(mode);
                done(fcntl::fallocate(self.file(slot)?, mode, offset, length))
            }
            DataStep::Copy { from, from_offset, to, to_offset, length } => {
                let (from, to) = (self.file(from)?.as_raw_fd(), self.file(to)?.as_raw_fd());
                copy((from, from_offset), (to, to_offset), length)
            }
        }
    }

    fn on_name(&self, step: &NameStep) -> Answer {
        match *step {
            NameStep::MakeDirectory { name, mode } => {
                done(unistd::mkdir(&self.path(name), Mode::from_bits_truncate(mode)))
            }
            NameStep::MakeFifo { name, mode } => {
                done(unistd::mkfifo(&self.path(name), Mode::from_bits_truncate(mode)))
            }
            NameStep::Unlink { name } => done(unistd::unlink(&self.path(name))),
            NameStep::RemoveDirectory { name } => {
                let path = self.path(name);
                done(unistd::unlinkat(AT_FDCWD, &path, unistd::UnlinkatFlags::RemoveDir))
            }
            NameStep::Rename { from, to, flags } => {
                let (from, to) = (self.path(from), self.path(to));
                let flags = RenameFlags::from_bits_retain(flags);
                done(fcntl::renameat2(AT_FDCWD, &from, AT_FDCWD, &to, flags))
            }
            NameStep::Link { from, to } => {
                let (from, to) = (self.path(from), self.path(to));
                done(unistd::linkat(AT_FDCWD, &from, AT_FDCWD, &to, AtFlags::empty()))
            }
            NameStep::LinkOpen { slot, to } => {
                let from = format!("/proc/self/fd/{}", self.file(slot)?.as_raw_fd());
                let (to, follow) = (self.path(to), AtFlags::AT_SYMLINK_FOLLOW);
                done(unistd::linkat(AT_FDCWD, from.as_str(), AT_FDCWD, &to, follow))
            }
            NameStep::Symlink { target, name } => {
                done(unistd::symlinkat(target, AT_FDCWD, &self.path(name)))
            }
            NameStep::ReadLink { name } => {
                fcntl::readlink(&self.path(name)).map(|target| format!("{target:?}"))
            }
            NameStep::List { name } => state::list(&self.path(name)),
        }
    }

    fn on_attribute(&self, step: &AttributeStep) -> Answer {
        match *step {
            AttributeStep::ChangeMode { name, mode } => {
                let mode = Mode::from_bits_truncate(mode);
                let follow = FchmodatFlags::FollowSymlink;
                done(stat::fchmodat(AT_FDCWD, &self.path(name), mode, follow))
            }
            AttributeStep::ChangeOwner { name, user, group } => {
                let (user, group) = (Some(Uid::from(user)), Some(Gid::from(group)));
                let itself = AtFlags::AT_SYMLINK_NOFOLLOW;
                done(unistd::fchownat(AT_FDCWD, &self.path(name), user, group, itself))
            }
            AttributeStep::SetTimes { name, accessed, modified } => {
                self.set_times(&self.path(name), accessed, modified)
            }
            AttributeStep::Set { name, attribute, length, flags } => {
                let value = vec![b'v'; length];
                done(attribute::set(&self.path(name), attribute, &value, flags))
            }
            AttributeStep::Get { name, attribute } => {
                attribute::get(&self.path(name), attribute).map(|value| state::describe(&value))
            }
            AttributeStep::Remove { name, attribute } => {
                done(attribute::remove(&self.path(name), attribute))
            }
        }
    }

    fn on_lock(&mut self, step: &LockStep) -> Answer {
        let slot = step.slot();
        self.locked[slot] = true;
        step.apply(self.file(slot)?)
    }

    /// Times set by hand are the only ones that both sides must agree on.
    fn set_times(&self, path: &Path, accessed: Option<i64>, modified: Option<i64>) -> Answer {
        let time = |seconds: Option<i64>| {
            seconds.map_or(TimeSpec::UTIME_OMIT, |seconds| TimeSpec::new(seconds, NANOSECONDS))
        };
        let itself = UtimensatFlags::NoFollowSymlink;
        stat::utimensat(AT_FDCWD, path, &time(accessed), &time(modified), itself)?;
        let found = stat::lstat(path)?;
        let accessed = accessed.map(|_| (found.st_atime, found.st_atime_nsec));
        let modified = modified.map(|_| (found.st_mtime, found.st_mtime_nsec));
        Ok(format!("accessed {accessed:?}, modified {modified:?}"))
    }

    /// An open file about to be closed.
    fn take(&mut self, slot: usize) -> Option<OwnedFd> {
        let file = self.slots[slot].take();
        if std::mem::take(&mut self.locked[slot]) {
            file.iter().for_each(lock::let_go);
        }
        file
    }

    fn path(&self, name: usize) -> PathBuf {
        self.tree.join(PATHS[name])
    }

    fn file(&self, slot: usize) -> Result<&OwnedFd, Errno> {
        self.slots[slot].as_ref().ok_or(Errno::EBADF)
    }
}

fn seek(file: &OwnedFd, offset: i64, whence: i32) -> Answer {
    let is_directory = stat::fstat(file)?.st_mode & libc::S_IFMT == libc::S_IFDIR;
    if is_directory && whence != libc::SEEK_SET && whence != libc::SEEK_CUR {
        return Ok("where a directory ends is its own affair".into());
    }
    // SAFETY: the call takes no pointer.
    let at = unsafe { libc::lseek(file.as_raw_fd(), offset, whence) };
    Errno::result(at).map(|at| format!("at {at}"))
}

fn copy((from, from_at): (i32, i64), (to, to_at): (i32, i64), length: usize) -> Answer {
    let (mut from_at, mut to_at) = (from_at, to_at);
    // SAFETY: both offsets are ours and live through the call.
    let copied =
        unsafe { libc::copy_file_range(from, &raw mut from_at, to, &raw mut to_at, length, 0) };
    Errno::result(copied).map(|copied| format!("copied {copied} up to {from_at} and {to_at}"))
}

fn done(result: Result<(), Errno>) -> Answer {
    result.map(|()| "done".into())
}

const NANOSECONDS: i64 = 123_456_789;
