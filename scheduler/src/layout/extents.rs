//! Composite: ranges of the file, each laid out in its own way.

use super::{Layout, LayoutError, Run, Stripe};
use crate::request::ServerId;

/// One range of a composite layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// First byte of the range.
    pub start: u64,
    /// First byte behind it; anything beyond [`Layout::LIMIT`] means "to the end of the file".
    pub end: u64,
    /// How it is laid out.
    pub target: Target,
}

/// How one range of a composite layout is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// All of it on one server (data kept with the metadata, for one).
    Single(ServerId),
    /// Striped. Units are counted from the start of the **file**, as Lustre does, not of the range.
    RoundRobin(Stripe),
    /// Not given to any server yet: it will be at the first write.
    Unmapped,
}

/// Disjoint ranges in file order.
///
/// Each range has objects of its own, so the same server may be in several. Local offsets of a range
/// begin at the range's start, and count densely from there: they never reach into the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extents(Vec<Part>);

/// A range with what is needed to number its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    range: Component,
    /// For each slot of a stripe, the bytes that its server would hold before the range's start.
    before: Vec<u64>,
}

impl Extents {
    pub(super) fn new(mut components: Vec<Component>) -> Result<Extents, LayoutError> {
        components.sort_by_key(|component| component.start);
        for &Component { start, end, .. } in &components {
            if start >= end {
                return Err(LayoutError::EmptyRange { start, end });
            }
        }
        for pair in components.windows(2) {
            let (end, start) = (pair[0].end, pair[1].start);
            if end > start {
                return Err(LayoutError::OverlappingRanges { end, start });
            }
        }
        Ok(Extents(components.into_iter().map(Part::new).collect()))
    }

    pub(super) fn run(&self, offset: u64) -> Run {
        let following = self.0.partition_point(|part| part.range.start <= offset);
        match following.checked_sub(1).map(|at| &self.0[at]) {
            Some(part) if offset < part.range.end => part.run(offset),
            _ => {
                let next = self.0.get(following).map_or(Layout::LIMIT, |part| part.range.start);
                Run::unmapped(offset, next.min(Layout::LIMIT))
            }
        }
    }

    pub(super) fn file_offset(&self, server: ServerId, local: u64) -> Option<u64> {
        let following = self.0.partition_point(|part| part.range.start <= local);
        self.0[following.checked_sub(1)?].file_offset(server, local)
    }
}

impl Part {
    fn new(range: Component) -> Part {
        let before = match &range.target {
            Target::RoundRobin(stripe) => {
                (0..stripe.width()).map(|slot| stripe.bytes_before(slot, range.start)).collect()
            }
            Target::Single(_) | Target::Unmapped => Vec::new(),
        };
        Part { range, before }
    }

    fn run(&self, offset: u64) -> Run {
        let end = self.range.end.min(Layout::LIMIT);
        match &self.range.target {
            Target::Single(server) => {
                Run { server: Some(*server), start: offset, end, local: offset }
            }
            Target::Unmapped => Run::unmapped(offset, end),
            Target::RoundRobin(stripe) => {
                let mut run = stripe.run(offset).cut(end);
                run.local = run.local - self.before[stripe.slot_of(offset)] + self.range.start;
                run
            }
        }
    }

    fn file_offset(&self, server: ServerId, local: u64) -> Option<u64> {
        let offset = match &self.range.target {
            Target::Single(only) => (*only == server).then_some(local),
            Target::Unmapped => None,
            Target::RoundRobin(stripe) => {
                let before = self.before[stripe.slot_of_server(server)?];
                stripe.file_offset(server, (local - self.range.start).checked_add(before)?)
            }
        };
        offset.filter(|&offset| offset < self.range.end)
    }
}
