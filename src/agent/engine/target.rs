//! What the engine reads from and writes to.

use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

use arc_swap::Guard;

use iofwd_mount::Errno;
use iofwd_scheduler::layout::Piece as Stretch;
use iofwd_scheduler::request::{FileId, Request};

use crate::agent::files::OpenFile;
use crate::agent::layouts::Known;
use crate::agent::once::Ticket;

/// An open file, wherever its bytes are.
pub(crate) trait Target: Send + Sync + std::fmt::Debug {
    /// Requests of one file keep their order where it matters.
    fn file(&self) -> FileId;
    /// Where its bytes are, as far as is known.
    fn layout(&self) -> Guard<Arc<Known>>;
    /// A request met bytes that nobody is known to hold.
    fn doubt(&self);
    /// What people call it.
    fn name(&self) -> String;
    /// A write that nobody waits for has failed.
    fn failed_late(&self, errno: Errno);
    /// Whether two requests of a batch, neighbours at their server, go out in one call.
    fn joins(&self, left: &Request, right: &Request) -> bool;
    /// Read these stretches, each into a buffer of its length; short only at the end of the file.
    fn read(&self, at: &[Stretch], into: &mut [IoSliceMut<'_>]) -> Result<usize, Errno>;
    /// Write these stretches, each from a buffer of its length; or all of it, one after the other,
    /// behind the end of the file.
    fn write(&self, at: &[Stretch], from: &[IoSlice<'_>], append: bool) -> Result<usize, Errno>;
    /// Append, unless that was done for this ticket before. Only what can be found again after the
    /// death of an agent has tickets.
    fn append_once(&self, _ticket: &Ticket, from: &[u8]) -> Result<usize, Errno> {
        self.write(&[], &[IoSlice::new(from)], true)
    }
}

impl Target for OpenFile {
    fn file(&self) -> FileId {
        FileId(self.node.id.0)
    }

    fn layout(&self) -> Guard<Arc<Known>> {
        self.node.layout.current()
    }

    fn doubt(&self) {
        self.node.layout.doubt();
    }

    fn name(&self) -> String {
        String::from_utf8_lossy(&self.node.inode.seen_at()).into_owned()
    }

    fn failed_late(&self, errno: Errno) {
        self.node.late_errors.set(errno);
    }

    fn joins(&self, left: &Request, right: &Request) -> bool {
        left.extent.touches(right.extent)
    }

    fn read(&self, at: &[Stretch], into: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
        self.file.read(into, offset(at))
    }

    fn write(&self, at: &[Stretch], from: &[IoSlice<'_>], append: bool) -> Result<usize, Errno> {
        self.file.write(from, offset(at), append)
    }

    fn append_once(&self, ticket: &Ticket, from: &[u8]) -> Result<usize, Errno> {
        ticket.append(self, from)
    }
}

fn offset(at: &[Stretch]) -> u64 {
    at.first().map_or(0, |first| first.extent.offset)
}
