//! Where the bytes of a file live: which data server holds each range, and where on that server.
//!
//! The one question is [`Layout::split`]. Behind it stand the shapes that real file systems use. The
//! **server-local offset** of a byte is how many bytes of the file the same server holds before it, so
//! that two ranges which touch server-locally can be served in one sweep though they are far apart in
//! the file. (Where objects must not be merged across their ends, a gap is left: see [`Objects`].)

mod error;
mod extents;
mod objects;
mod stripe;

pub use error::LayoutError;
pub use extents::{Component, Target};
pub use objects::Objects;
pub use stripe::Stripe;

use crate::request::{Extent, ServerId};
use extents::Extents;

/// The layout of one file, as fetched when it was opened.
///
/// A wrong or stale layout may cost a scheduling window, never correctness: the bytes are always
/// addressed by their offset in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    generation: u64,
}

/// One part of a request: a range of the file that lies in one stretch on one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Who holds these bytes; `None` while nobody is known to (ask the file system again).
    pub server: Option<ServerId>,
    /// The bytes, as offsets in the file.
    pub extent: Extent,
    /// Server-local offset of the first byte; the file offset where the server is not known.
    pub local: u64,
}

impl Layout {
    /// Offsets reach up to here, exclusive: a file offset is a signed 64-bit number to the kernel.
    pub const LIMIT: u64 = i64::MAX as u64;

    /// The whole file on one server: a plain directory, NFS, or a file system that does not say.
    pub const fn single(server: ServerId) -> Layout {
        Layout::of(Shape::Single(server))
    }

    /// Units of `unit` bytes dealt out to `servers` in turn (OrangeFS, BeeGFS, Lustre v1 and v3).
    pub fn round_robin(unit: u64, servers: Vec<ServerId>) -> Result<Layout, LayoutError> {
        Ok(Layout::of(Shape::RoundRobin(Stripe::new(unit, servers)?)))
    }

    /// Ranges that each have their own layout (Lustre composite). Bytes in no range are unmapped.
    pub fn extents(components: Vec<Component>) -> Result<Layout, LayoutError> {
        Ok(Layout::of(Shape::Extents(Extents::new(components)?)))
    }

    /// Objects that are each on a server of their own (Ceph).
    pub const fn objects(objects: Objects) -> Layout {
        Layout::of(Shape::Objects(objects))
    }

    /// The same layout, known to the file system by this generation.
    #[must_use]
    pub fn with_generation(mut self, generation: u64) -> Layout {
        self.generation = generation;
        self
    }

    /// The object table of a layout made of objects, to look up and to learn from.
    pub const fn objects_mut(&mut self) -> Option<&mut Objects> {
        match &mut self.shape {
            Shape::Objects(objects) => Some(objects),
            Shape::Single(_) | Shape::RoundRobin(_) | Shape::Extents(_) => None,
        }
    }

    /// The generation the file system gave it; zero if it has none.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The pieces of a range, in file order: one per stripe unit, but units that follow one another both
    /// in the file and on their server are one piece.
    ///
    /// Nothing is allocated. An empty range has no pieces; a range that reaches beyond [`Layout::LIMIT`]
    /// is cut there.
    pub fn split(&self, extent: Extent) -> Pieces<'_> {
        let end = extent.end().min(Layout::LIMIT);
        let ahead = (extent.offset < end).then(|| self.shape.run(extent.offset).cut(end));
        Pieces { shape: &self.shape, ahead, end }
    }

    /// The pieces of a range, those of one server together and in the order of their local offsets.
    ///
    /// A request over several rows of stripes has on each server units that are neighbours there though
    /// not in the file. Submitted in this order they stand next to one another for aggregation.
    pub fn gather(&self, extent: Extent) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = self.split(extent).collect();
        pieces.sort_by_key(|piece| (piece.server, piece.local));
        pieces
    }

    /// The server of one byte; `None` if it is not known (yet).
    pub fn server_of(&self, offset: u64) -> Option<ServerId> {
        (offset < Layout::LIMIT).then(|| self.shape.run(offset).server).flatten()
    }

    /// The file offset of the byte at this local offset of this server; `None` if the server has no such
    /// byte of the file.
    pub fn file_offset(&self, server: ServerId, local: u64) -> Option<u64> {
        let offset = match &self.shape {
            Shape::Single(only) => (*only == server).then_some(local),
            Shape::RoundRobin(stripe) => stripe.file_offset(server, local),
            Shape::Extents(extents) => extents.file_offset(server, local),
            Shape::Objects(objects) => objects.file_offset(server, local),
        };
        offset.filter(|&offset| offset < Layout::LIMIT)
    }

    const fn of(shape: Shape) -> Layout {
        Layout { shape, generation: 0 }
    }
}

/// The pieces of one range; made by [`Layout::split`].
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    shape: &'a Shape,
    /// The run that begins where the last piece ended; `None` at the end.
    ahead: Option<Run>,
    end: u64,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let mut run = self.ahead.take()?;
        while run.end < self.end {
            let following = self.shape.run(run.end).cut(self.end);
            if !run.continues_in(&following) {
                self.ahead = Some(following);
                break;
            }
            run.end = following.end;
        }
        Some(run.piece())
    }
}

/// A layout without its generation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Single(ServerId),
    RoundRobin(Stripe),
    Extents(Extents),
    Objects(Objects),
}

impl Shape {
    fn run(&self, offset: u64) -> Run {
        match self {
            Shape::Single(server) => {
                Run { server: Some(*server), start: offset, end: Layout::LIMIT, local: offset }
            }
            Shape::RoundRobin(stripe) => stripe.run(offset),
            Shape::Extents(extents) => extents.run(offset),
            Shape::Objects(objects) => objects.run(offset),
        }
    }
}

/// How far the file goes on, from `start`, in one stretch on one server.
#[derive(Clone, Copy, Debug)]
struct Run {
    server: Option<ServerId>,
    start: u64,
    end: u64,
    local: u64,
}

impl Run {
    /// A stretch that nobody is known to hold.
    const fn unmapped(start: u64, end: u64) -> Run {
        Run { server: None, start, end, local: start }
    }

    fn cut(mut self, end: u64) -> Run {
        self.end = self.end.min(end);
        self
    }

    /// Whether `following`, which begins where this ends, does so on the server too.
    fn continues_in(&self, following: &Run) -> bool {
        self.server.is_some()
            && self.server == following.server
            && self.local + (self.end - self.start) == following.local
    }

    const fn piece(self) -> Piece {
        let extent = Extent::new(self.start, self.end - self.start);
        Piece { server: self.server, extent, local: self.local }
    }
}
