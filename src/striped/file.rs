//! A striped file as this agent knows it, and open files of it.

use std::io::{IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::{ArcSwap, Guard};

use iofwd_mount::Errno;
use iofwd_mount::store::{HandleId, NodeId, OpenHow, Timestamp};
use iofwd_scheduler::layout::Piece as Stretch;
use iofwd_scheduler::request::{FileId, Request, ServerId};

use crate::agent::engine::{Target, Ticket};
use crate::agent::latch::{Latch, Seen};
use crate::agent::layouts::Known;
use crate::layout::{Description, Engine, Server, Shape, Stripes as Dealt};
use crate::wire::answer::Value;
use crate::wire::stripe::{Epoch, FileCall, ObjectCall, ObjectId, Standing, Stripes};

use super::data::Data;
use super::geometry::Geometry;

/// A striped file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) node: NodeId,
    pub(super) object: ObjectId,
    pub(super) geometry: Geometry,
    /// The servers, by turn.
    servers: Vec<u32>,
    known: ArcSwap<Known>,
    epoch: AtomicU64,
    pub(super) data: Arc<Data>,
    pub(super) late_errors: Latch,
    /// One append of this agent at a time.
    pub(super) appending: Mutex<()>,
}

/// An open file.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) node: NodeId,
    pub(super) handle: HandleId,
    how: OpenHow,
    file: OnceLock<(Arc<File>, Seen)>,
    /// How often the server that has the names was found again when it was last seen to be open there.
    seen_at: AtomicU64,
}

impl Open {
    pub(super) fn new(node: NodeId, handle: HandleId, how: OpenHow, now: u64) -> Open {
        Open { node, handle, how, file: OnceLock::new(), seen_at: AtomicU64::new(now) }
    }

    /// Open as somebody says who had it open with another agent.
    pub(super) fn again(node: NodeId, handle: HandleId, how: OpenHow) -> Open {
        Open::new(node, handle, how, u64::MAX)
    }

    pub(super) fn seen_at(&self) -> u64 {
        self.seen_at.load(Ordering::Acquire)
    }

    pub(super) fn see_at(&self, now: u64) {
        self.seen_at.store(now, Ordering::Release);
    }

    /// What it is a file of, once that is known; kept for as long as it is open.
    pub(super) fn file(
        &self,
        find: impl FnOnce() -> Result<Arc<File>, Errno>,
    ) -> Result<Arc<File>, Errno> {
        if let Some((file, _)) = self.file.get() {
            return Ok(Arc::clone(file));
        }
        let file = find()?;
        let seen = file.late_errors.opened();
        Ok(Arc::clone(&self.file.get_or_init(|| (file, seen)).0))
    }

    /// Report an error that came too late for the call that caused it, once.
    pub(super) fn late_error(&self) -> Result<(), Errno> {
        self.file.get().map_or(Ok(()), |(file, seen)| file.late_errors.check(seen))
    }

    pub(super) fn check_readable(&self) -> Result<(), Errno> {
        let write_only = self.how.flags & libc::O_ACCMODE == libc::O_WRONLY;
        if write_only && !self.how.readable { Err(Errno::EBADF) } else { Ok(()) }
    }

    pub(super) fn check_writable(&self) -> Result<(), Errno> {
        let read_only = self.how.flags & libc::O_ACCMODE == libc::O_RDONLY;
        if read_only { Err(Errno::EBADF) } else { Ok(()) }
    }

    /// Whether every write is to be durable when it returns.
    pub(super) fn is_durable(&self) -> bool {
        self.how.flags & libc::O_DSYNC != 0
    }
}

impl File {
    pub(super) fn new(
        node: NodeId,
        stripes: Stripes,
        cost: u64,
        data: Arc<Data>,
    ) -> Result<File, Errno> {
        let servers = stripes.servers.iter().map(|number| Server::Numbered(*number)).collect();
        let shape = Shape::Stripes(Dealt { unit: stripes.unit, servers });
        let description = Description { engine: Engine::Iofwd, generation: 0, shape };
        let number = |server: &Server| {
            if let Server::Numbered(number) = server { ServerId(*number) } else { ServerId(0) }
        };
        let layout = description.layout(&number).map_err(|_| Errno::EIO)?;
        let changed = Timestamp::default();
        let known = Known { layout, description, asked: Engine::Iofwd, changed, cost };
        let count = stripes.servers.len() as u64;
        Ok(File {
            node,
            object: stripes.object,
            geometry: Geometry { unit: stripes.unit, count },
            servers: stripes.servers,
            known: ArcSwap::from_pointee(known),
            epoch: AtomicU64::new(if stripes.cut.is_some() { 0 } else { stripes.epoch }),
            data,
            late_errors: Latch::default(),
            appending: Mutex::default(),
        })
    }

    /// The epoch to write under; 0 if it has to be asked for.
    pub(super) fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::Acquire)
    }

    /// Its servers with their turns.
    pub(super) fn turns(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.servers.iter().enumerate().map(|(turn, number)| (turn as u64, *number))
    }

    /// Have the same done at every server.
    pub(super) fn everywhere(&self, call: ObjectCall) -> Result<(), Errno> {
        self.data.ask_all(self.turns().map(|(_, number)| (number, call)))
    }

    /// Take note of how the file stands. If objects must lose something, they do, whoever's truncation
    /// it was, until they have.
    pub(super) fn heed(&self, mut standing: Standing) -> Result<Epoch, Errno> {
        while let Some(cut) = standing.cut {
            let epoch = standing.epoch;
            self.data.ask_all(self.turns().map(|(turn, number)| {
                let size = self.geometry.share(turn, cut);
                (number, ObjectCall::Cut { object: self.object, epoch, size })
            }))?;
            let trimmed = FileCall::Trimmed { node: self.node, epoch };
            standing = self.data.standing(None, trimmed)?;
        }
        self.epoch.fetch_max(standing.epoch, Ordering::AcqRel);
        Ok(standing.epoch)
    }

    /// Ask how the file stands, and take note of it.
    pub(super) fn refresh(&self) -> Result<Epoch, Errno> {
        let stripes = self.data.stripes(self.node, None)?;
        let Stripes { epoch, cut, .. } = stripes;
        self.heed(Standing { accepted: cut.is_none(), size: 0, epoch, cut })
    }

    /// Write to one server, under an epoch.
    pub(super) fn write_at(
        &self,
        epoch: Epoch,
        server: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<usize, Errno> {
        let call = ObjectCall::Write { object: self.object, epoch, offset };
        match self.data.server(server)?.ask(call, bytes, 0)? {
            (Value::Written(count), _) => Ok(count as usize),
            _ => Err(Errno::EIO),
        }
    }

    /// Read a range of one object, as far as it goes.
    fn fetch(&self, server: u32, offset: u64, length: usize) -> Result<crate::link::Buffer, Errno> {
        let call = ObjectCall::Read { object: self.object, offset, length: length as u32 };
        match self.data.server(server)?.ask(call, &[], length)? {
            (Value::Data, bytes) if bytes.len() <= length => Ok(bytes),
            _ => Err(Errno::EIO),
        }
    }
}

impl Target for File {
    /// The same for all clients, and for ever.
    fn file(&self) -> FileId {
        let (first, _) = self.object.0.split_first_chunk().unwrap_or((&[0; 8], &[]));
        FileId(u64::from_be_bytes(*first))
    }

    fn layout(&self) -> Guard<Arc<Known>> {
        self.known.load()
    }

    fn doubt(&self) {}

    fn name(&self) -> String {
        format!("object {}", self.object)
    }

    fn failed_late(&self, errno: Errno) {
        self.late_errors.set(errno);
    }

    /// Neighbours in the object go together, wherever they are in the file.
    fn joins(&self, _left: &Request, _right: &Request) -> bool {
        true
    }

    fn read(&self, at: &[Stretch], into: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
        let mut done = 0;
        let mut from = 0;
        for count in messages(at) {
            let range = from..from + count;
            done += self.read_together(&at[range.clone()], &mut into[range])?;
            from += count;
        }
        Ok(done)
    }

    fn append_once(&self, _once: &Ticket, _data: &[u8]) -> Result<usize, Errno> {
        // Appends over data servers are done once by their turns.
        Err(Errno::EBADF)
    }

    fn write(&self, _at: &[Stretch], _from: &[IoSlice<'_>], _append: bool) -> Result<usize, Errno> {
        // Writes carry their epoch: see `Writing`.
        Err(Errno::EBADF)
    }
}

impl File {
    /// Read neighbours of one object in one message.
    fn read_together(&self, at: &[Stretch], into: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
        let Some(first) = at.first() else { return Ok(0) };
        let server = first.server.map_or(0, |server| server.0);
        let length: usize = into.iter().map(|buffer| buffer.len()).sum();
        let bytes = self.fetch(server, first.local, length)?;
        if bytes.len() == length {
            scatter(&bytes, into);
            return Ok(length);
        }
        // A hole, or the end of the file: its size tells. What was acknowledged before the size was
        // asked for is there by now, so that it is read once more.
        let size = self.data.size(self.node)?;
        let within = |at: &Stretch| size.saturating_sub(at.extent.offset).min(at.extent.length);
        let wanted: u64 = at.iter().map(within).sum();
        let bytes = if wanted == 0 { bytes } else { self.fetch(server, first.local, length)? };
        scatter(&bytes, into);
        Ok(wanted as usize)
    }
}

/// Put bytes into buffers, one after the other, and zeros behind them.
fn scatter(mut bytes: &[u8], into: &mut [IoSliceMut<'_>]) {
    for buffer in into {
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        buffer[count..].fill(0);
        bytes = &bytes[count..];
    }
}

/// How many stretches go in one message, message by message.
pub(super) fn messages(at: &[Stretch]) -> Vec<usize> {
    let (mut counts, mut bytes) = (Vec::new(), 0);
    for stretch in at {
        match counts.last_mut() {
            Some(count) if bytes + stretch.extent.length <= MESSAGE_MOST => *count += 1,
            _ => {
                counts.push(1);
                bytes = 0;
            }
        }
        bytes += stretch.extent.length;
    }
    counts
}

/// Bytes of one message, beside those of a single request that is larger.
const MESSAGE_MOST: u64 = 4 << 20;
