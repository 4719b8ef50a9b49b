//! Objects: units dealt out to a set of objects until they are full, each object on any server (Ceph).

use std::collections::BTreeMap;

use super::{LayoutError, Run};
use crate::request::ServerId;

/// The striping of a file over objects, and the servers of those objects that are known.
///
/// Units of `unit` bytes go in turn to `count` objects; when those are full (`object_size`), to the next
/// `count`. Which server has an object is not computed but learned, object by object, from the file
/// system; until then its bytes are unmapped.
///
/// Local offsets number the objects one after the other with a gap of one byte between them: requests
/// that touch are inside one object, so nothing is ever merged across an object's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objects {
    unit: u64,
    count: u64,
    object_size: u64,
    /// By object number. Sparse: a file may begin anywhere.
    table: BTreeMap<u64, ServerId>,
}

impl Objects {
    /// A layout of which no object's server is known yet.
    pub fn new(unit: u64, count: u64, object_size: u64) -> Result<Objects, LayoutError> {
        if unit == 0 {
            return Err(LayoutError::ZeroUnit);
        }
        if count == 0 {
            return Err(LayoutError::ZeroCount);
        }
        if object_size == 0 || !object_size.is_multiple_of(unit) {
            return Err(LayoutError::UnevenObject { object_size, unit });
        }
        let fits = count.checked_mul(object_size).is_some_and(|set| set <= SET_MAX);
        if object_size < 2 || !fits {
            return Err(LayoutError::ObjectOutOfBounds { object_size, count });
        }
        Ok(Objects { unit, count, object_size, table: BTreeMap::new() })
    }

    /// Notes the server of an object; returns what was known before.
    pub fn learn(&mut self, object: u64, server: ServerId) -> Option<ServerId> {
        self.table.insert(object, server)
    }

    /// Forgets all servers: the file system has moved objects about.
    pub fn forget(&mut self) {
        self.table.clear();
    }

    /// The number of the object that holds the byte at `offset`.
    pub const fn object_of(&self, offset: u64) -> u64 {
        let block = offset / self.unit;
        let row = block / self.count;
        (row / self.rows()) * self.count + block % self.count
    }

    pub(super) fn run(&self, offset: u64) -> Run {
        let object = self.object_of(offset);
        let row = offset / self.unit / self.count;
        let within = (row % self.rows()) * self.unit + offset % self.unit;
        let end = if self.count == 1 {
            offset.saturating_add(self.object_size - within)
        } else {
            offset.saturating_add(self.unit - offset % self.unit)
        };
        match self.table.get(&object) {
            None => Run::unmapped(offset, end),
            Some(&server) => {
                let local = object * (self.object_size + GAP) + within;
                Run { server: Some(server), start: offset, end, local }
            }
        }
    }

    pub(super) fn file_offset(&self, server: ServerId, local: u64) -> Option<u64> {
        let (object, within) = (local / (self.object_size + GAP), local % (self.object_size + GAP));
        if within >= self.object_size || self.table.get(&object) != Some(&server) {
            return None;
        }
        let (set, column) = (object / self.count, object % self.count);
        let row = set.checked_mul(self.rows())?.checked_add(within / self.unit)?;
        row.checked_mul(self.count)?
            .checked_add(column)?
            .checked_mul(self.unit)?
            .checked_add(within % self.unit)
    }

    /// How many units fit into one object.
    const fn rows(&self) -> u64 {
        self.object_size / self.unit
    }
}

/// Bytes left out between the local offsets of one object and those of the next.
const GAP: u64 = 1;

/// The largest set of objects for which no local offset below the file offset limit can overflow.
///
/// An object number is at most `offset / object_size + count`, so a local offset is at most
/// `offset + offset / object_size + count * (object_size + 1)`, which with objects of two bytes or more
/// is at most 1.5 * 2^63 + 1.5 * 2^61, below 2^64.
const SET_MAX: u64 = 1 << 61;
