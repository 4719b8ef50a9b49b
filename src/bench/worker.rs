//! What each process of a run does: wait at a gate, go through its requests, tell how it went.
//! Nothing in the loop allocates, locks or logs; the clock is read once for each request.

mod buffer;
#[cfg(test)]
mod tests;
mod wrong;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use super::Failure;
use super::board::Board;
use super::content::{Content, Place};
use super::plan::{Application, Caches, Plan};
use super::step::{Step, Task};
use buffer::Buffer;
use wrong::Wrong;

/// Where the files are.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The directory in which the processes work, by way of each mount of it.
    pub(super) directories: Vec<PathBuf>,
    /// The same directory below the mount, if there is one: it has a cache of its own.
    pub(super) backing: Option<PathBuf>,
}

/// One process, and what it has to know.
#[derive(Clone, Copy)]
pub(super) struct Worker<'a> {
    pub(super) plan: &'a Plan,
    pub(super) site: &'a Site,
    pub(super) board: &'a Board,
    /// Zero of the run's clock, the same in all processes.
    pub(super) clock: Instant,
    pub(super) steps: &'a [Step],
    /// Its application, and the number of it in this run.
    pub(super) application: usize,
    pub(super) gate: usize,
    /// Its number in the application, and in this run.
    pub(super) rank: u64,
    pub(super) slot: usize,
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Everything done, or told to stop.
    Well,
    /// Everything done, and found bytes to be wrong.
    Wrong(Failure),
}

impl Worker<'_> {
    /// Does all steps.
    pub(super) fn work(&self) -> Result<End, Failure> {
        let mut wrong = Wrong::default();
        let mut buffer = Buffer::new(self.buffer_bytes());
        let slot = self.board.slot(self.slot);
        for (number, step) in (0_u32..).zip(self.steps) {
            // Files are opened between two gates: after everybody has closed theirs, so that a
            // close is seen by an open, and before anybody begins, so that it costs no time.
            self.board.arrive(slot);
            if !self.board.pass(self.gate, 2 * number) {
                return Ok(End::Well);
            }
            let file = self.open(step.task)?;
            self.board.arrive(slot);
            if !self.board.pass(self.gate, 2 * number + 1) {
                return Ok(End::Well);
            }
            self.perform(*step, &file, buffer.bytes(), &mut wrong)?;
        }
        self.board.arrive(slot);
        Ok(wrong.end(self))
    }

    fn application(&self) -> &Application {
        &self.plan.applications[self.application]
    }

    fn buffer_bytes(&self) -> usize {
        let request = self.application().shape.request();
        let prepares = self.steps.iter().any(|step| step.task == Task::Prepare);
        usize::try_from(if prepares { request.max(CHUNK) } else { request })
            .expect("a request fits in memory: its size was checked")
    }

    fn perform(
        &self,
        step: Step,
        file: &File,
        buffer: &mut [u8],
        wrong: &mut Wrong,
    ) -> Result<(), Failure> {
        let request = self.application().shape.request() as usize;
        match step.task {
            Task::Prepare => self.prepare(step, file, buffer),
            Task::Settle => self.settle(file),
            Task::Write | Task::Read | Task::Check => {
                self.transfer(step, file, &mut buffer[..request], wrong)
            }
        }
    }

    /// A measured step: computing, all requests, and making them durable if that is wanted.
    fn transfer(
        &self,
        step: Step,
        file: &File,
        buffer: &mut [u8],
        wrong: &mut Wrong,
    ) -> Result<(), Failure> {
        let slot = self.board.slot(self.slot);
        self.board.rest(self.application().compute);
        slot.begin.store(self.now(), Relaxed);
        self.go_through(step, file, buffer, wrong)?;
        if step.task == Task::Write && self.plan.fsync {
            file.sync_all().map_err(|error| self.explain("fsync", 0, &error))?;
        }
        slot.end.store(self.now(), Relaxed);
        Ok(())
    }

    /// The measured loop.
    fn go_through(
        &self,
        step: Step,
        file: &File,
        buffer: &mut [u8],
        wrong: &mut Wrong,
    ) -> Result<(), Failure> {
        let (one, slot) = (self.application(), self.board.slot(self.slot));
        let (content, verify) = (Content::new(self.plan.seed), self.plan.verify);
        let writes = step.task.writes();
        // Whoever does something else between two requests needs the clock a second time.
        let pauses = verify || !one.think.is_zero();
        let mut place = Place { pass: step.pass, file: self.file_number(), offset: 0 };
        let mut moved = slot.moved.load(Relaxed);
        let mut begin = self.now();
        for round in 0..one.shape.rounds() {
            if self.board.is_stopped() {
                break;
            }
            place.offset = one.shape.access(self.rank, round).offset;
            if verify && writes {
                content.fill(buffer, place);
            }
            if pauses {
                begin = self.now();
            }
            self.issue(step.task, file, place.offset, buffer)?;
            let end = self.now();
            slot.latency.record(end - begin);
            begin = end;
            moved += buffer.len() as u64;
            slot.moved.store(moved, Relaxed);
            if verify && !writes {
                wrong.count(content.check(buffer, place), step);
            }
            if !one.think.is_zero() {
                self.board.rest(one.think);
            }
        }
        Ok(())
    }

    /// One request. A short answer is none: the loop counts whole requests.
    #[inline]
    fn issue(&self, task: Task, file: &File, at: u64, buffer: &mut [u8]) -> Result<(), Failure> {
        let (result, wanted) = match task.writes() {
            true => (file.write_at(buffer, at), buffer.len()),
            false => (file.read_at(buffer, at), buffer.len()),
        };
        match result {
            Ok(bytes) if bytes == wanted => Ok(()),
            Ok(bytes) => Err(format!(
                "{}: {} of {wanted} bytes at offset {at} ended after {bytes}: is the disk full, \
                 or was the file cut off?",
                self.path().display(),
                task.name()
            )),
            Err(error) => Err(self.explain(task.name(), at, &error)),
        }
    }

    /// Lays out this process's share in order, so that readers find files as others left them.
    fn prepare(&self, step: Step, file: &File, buffer: &mut [u8]) -> Result<(), Failure> {
        let (shape, slot) = (self.application().shape, self.board.slot(self.slot));
        let share = shape.rounds() * shape.request();
        let first = if shape.files() == 1 { self.rank * share } else { 0 };
        let content = Content::new(self.plan.seed);
        let mut done = 0;
        while done < share && !self.board.is_stopped() {
            let length = (share - done).min(buffer.len() as u64);
            let part = &mut buffer[..length as usize];
            if self.plan.verify {
                let offset = first + done;
                content.fill(part, Place { pass: step.pass, file: self.file_number(), offset });
            }
            self.issue(step.task, file, first + done, part)?;
            done += length;
            slot.moved.fetch_add(length, Relaxed);
        }
        file.sync_data().map_err(|error| self.explain("fsync", 0, &error))
    }

    /// One process for each file, so that a shared one is not settled by everybody.
    fn settle(&self, file: &File) -> Result<(), Failure> {
        if self.rank < self.application().shape.files() {
            forget(file).map_err(|error| self.explain("drop the cache", 0, &error))?;
            if let Some(backing) = &self.site.backing {
                let below = backing.join(self.file_name());
                let dropped = File::open(&below).and_then(|file| forget(&file));
                dropped.map_err(|error| self.explain("drop the cache below", 0, &error))?;
            }
        }
        if self.rank == 0 && self.plan.caches == Caches::All {
            nix::unistd::sync();
            std::fs::write(DROP_CACHES, "3")
                .map_err(|error| format!("cannot write {DROP_CACHES}: {error}"))?;
        }
        Ok(())
    }

    fn open(&self, task: Task) -> Result<File, Failure> {
        let mut options = OpenOptions::new();
        options.read(!task.writes()).write(task.writes()).create(task.writes());
        let direct = self.plan.direct && (task.is_measured() || task == Task::Check);
        if direct {
            options.custom_flags(libc::O_DIRECT);
        }
        options.open(self.path()).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) if direct => format!(
                "{} cannot be opened with O_DIRECT: the file system has none; leave out --direct",
                self.path().display()
            ),
            _ => format!("cannot open {}: {error}", self.path().display()),
        })
    }

    fn now(&self) -> u64 {
        self.clock.elapsed().as_nanos() as u64
    }

    fn file_number(&self) -> u64 {
        self.plan.first_file(self.application) + self.application().shape.file_of(self.rank)
    }

    fn file_name(&self) -> String {
        self.application().file_name(self.application().shape.file_of(self.rank))
    }

    fn path(&self) -> PathBuf {
        // Neighbours share a mount, as they share a node in a cluster.
        let ways = self.site.directories.len() as u64;
        let way = self.rank * ways / self.application().shape.processes();
        self.site.directories[way as usize].join(self.file_name())
    }

    fn explain(&self, what: &str, offset: u64, error: &io::Error) -> Failure {
        let advice = match error.raw_os_error() {
            Some(libc::EINVAL) if self.plan.direct => {
                "; --direct may need a request size that is a multiple of 4096"
            }
            Some(libc::ENOSPC | libc::EDQUOT) => "; choose a smaller --size",
            _ => "",
        };
        let path = self.path();
        format!("{}: cannot {what} at offset {offset}: {error}{advice}", path.display())
    }
}

/// Makes a file durable, because only clean pages can be forgotten, and forgets them.
fn forget(file: &File) -> io::Result<()> {
    file.sync_data()?;
    // SAFETY: changes nothing but what the kernel keeps of the file.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What a preparation writes at a time.
const CHUNK: u64 = 1 << 20;
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
