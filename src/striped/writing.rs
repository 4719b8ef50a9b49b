//! Writing: the data to their servers, then the news to the one that has the names.
//!
//! A write carries the epoch that was known when it began. If the file was cut meanwhile, the data may
//! have been cut off with it: then they are written again, under the new epoch.

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

use arc_swap::Guard;

use iofwd_mount::store::WriteAt;
use iofwd_mount::{Caller, Errno, Reply};
use iofwd_scheduler::layout::Piece as Stretch;
use iofwd_scheduler::request::{Extent, FileId, Request};

use crate::agent::engine::{Target, Ticket};
use crate::agent::layouts::Known;
use crate::wire::stripe::{Epoch, FileCall};

use super::Striped;
use super::file::{File, Open, messages};

/// A file that is written to under an epoch.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) file: Arc<File>,
    pub(super) epoch: Epoch,
}

impl Target for Writing {
    fn file(&self) -> FileId {
        Target::file(&*self.file)
    }

    fn layout(&self) -> Guard<Arc<Known>> {
        self.file.layout()
    }

    fn doubt(&self) {}

    fn name(&self) -> String {
        self.file.name()
    }

    fn failed_late(&self, errno: Errno) {
        self.file.failed_late(errno);
    }

    fn joins(&self, left: &Request, right: &Request) -> bool {
        self.file.joins(left, right)
    }

    fn read(&self, _at: &[Stretch], _into: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
        Err(Errno::EBADF)
    }

    fn append_once(&self, _once: &Ticket, _data: &[u8]) -> Result<usize, Errno> {
        // Appends over data servers are done once by their turns.
        Err(Errno::EBADF)
    }

    fn write(&self, at: &[Stretch], from: &[IoSlice<'_>], _append: bool) -> Result<usize, Errno> {
        let (mut done, mut next) = (0, 0);
        for count in messages(at) {
            let range = next..next + count;
            let server = at[next].server.map_or(0, |server| server.0);
            let local = at[next].local;
            done += match &from[range] {
                [only] => self.file.write_at(self.epoch, server, local, only)?,
                several => {
                    let bytes: Vec<u8> =
                        several.iter().flat_map(|part| part.iter().copied()).collect();
                    self.file.write_at(self.epoch, server, local, &bytes)?
                }
            };
            next += count;
        }
        Ok(done)
    }
}

/// A write of an application, from its data being sent to its being acknowledged.
struct Write {
    file: Arc<File>,
    open: Arc<Open>,
    /// Who is told of it; nobody for pages that the kernel writes back.
    caller: Option<Caller>,
    epoch: Epoch,
    offset: u64,
    data: Box<[u8]>,
}

impl Striped {
    /// Write, and answer when it is acknowledged.
    pub(super) fn write_file(&self, caller: &Caller, at: WriteAt, data: &[u8], reply: Reply<u32>) {
        let found = self.handle(at.handle).and_then(|open| {
            open.check_writable()?;
            let file = open.file(|| self.file(open.node))?;
            open.late_error()?;
            Ok((open, file))
        });
        let (open, file) = match found {
            Ok(found) => found,
            Err(errno) => return reply.send(Err(errno)),
        };
        if data.is_empty() {
            return reply.send(Ok(0));
        }
        if at.append {
            return reply.send(self.append(caller, &open, &file, data));
        }
        let epoch = match file.epoch() {
            0 => file.refresh(),
            epoch => Ok(epoch),
        };
        let epoch = match epoch {
            Ok(epoch) => epoch,
            Err(errno) => return reply.send(Err(errno)),
        };
        let writing = Arc::new(Writing { file: Arc::clone(&file), epoch });
        let caller_told = (!at.late).then_some(*caller);
        let write =
            Write { file, open, caller: caller_told, epoch, offset: at.offset, data: data.into() };
        let late = at.late;
        // What fails late is told here, when writing again was in vain too.
        let at = WriteAt { late: false, ..at };
        let finish = Reply::call(move |written: Result<u32, Errno>| {
            let result = write.finish(written);
            if let (true, Err(errno)) = (late, &result) {
                write.file.failed_late(*errno);
            }
            reply.send(result);
        });
        self.common.engine.write(self.asker(caller), None, writing, &at, data, finish);
    }
}

impl Write {
    /// The data are there, or not: say so, and write again if that was in vain.
    fn finish(&self, written: Result<u32, Errno>) -> Result<u32, Errno> {
        let mut written = written.map(|count| count as usize);
        let mut epoch = self.epoch;
        for _ in 0..TRIES {
            match written {
                Ok(count) => {
                    let end = self.offset + count as u64;
                    let wrote =
                        FileCall::Wrote { handle: self.open.handle, end, epoch, append: false };
                    let standing = self.file.data.standing(self.caller.as_ref(), wrote)?;
                    if standing.accepted {
                        settle(&self.open, &self.file, self.caller.as_ref())?;
                        return Ok(count as u32);
                    }
                    epoch = self.file.heed(standing)?;
                }
                Err(errno) if errno == Errno::ESTALE => epoch = self.file.refresh()?,
                Err(errno) => return Err(errno),
            }
            written = self.file.write_all(epoch, self.offset, &self.data);
        }
        Err(Errno::EIO)
    }
}

/// Of a file that was opened so, every write is durable.
pub(super) fn settle(open: &Open, file: &File, caller: Option<&Caller>) -> Result<(), Errno> {
    if open.is_durable() { file.sync(open.node, open.handle, true, caller) } else { Ok(()) }
}

impl File {
    /// Write past the queues: for what was there already, and for appends.
    pub(super) fn write_all(
        self: &Arc<File>,
        epoch: Epoch,
        offset: u64,
        data: &[u8],
    ) -> Result<usize, Errno> {
        let writing = Writing { file: Arc::clone(self), epoch };
        let known = self.layout();
        for stretch in known.layout.split(Extent::new(offset, data.len() as u64)) {
            let start = (stretch.extent.offset - offset) as usize;
            let part = &data[start..start + stretch.extent.length as usize];
            writing.write(&[stretch], &[IoSlice::new(part)], false)?;
        }
        Ok(data.len())
    }
}

/// A write that is in vain so often would be so for ever.
const TRIES: usize = 1_000;
