//! What can be wrong with the parameters of a layout.

use std::fmt;

/// Why a layout was refused. The parameters come from a file system's metadata or a settings file, so
/// each message says which number is wrong and what it would have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The stripe unit is zero.
    ZeroUnit,
    /// The list of servers is empty.
    NoServers,
    /// A range ends where it starts, or before.
    EmptyRange {
        /// Where it starts.
        start: u64,
        /// Where it ends, exclusive.
        end: u64,
    },
    /// Two ranges of a composite layout share bytes.
    OverlappingRanges {
        /// Where the first of the two ends.
        end: u64,
        /// Where the second one starts, though the first still goes on.
        start: u64,
    },
    /// Objects are dealt out to no column at all.
    ZeroCount,
    /// The object size is not a multiple of the stripe unit, or zero.
    UnevenObject {
        /// The object size.
        object_size: u64,
        /// The stripe unit.
        unit: u64,
    },
    /// The objects are so small or so large that local offsets would not fit their 64 bits.
    ObjectOutOfBounds {
        /// The object size.
        object_size: u64,
        /// The number of objects that are filled in turn.
        count: u64,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::ZeroUnit => write!(f, "the stripe unit is 0 bytes; it must be at least 1"),
            LayoutError::NoServers => write!(f, "the list of servers is empty"),
            LayoutError::EmptyRange { start, end } => {
                write!(f, "the range from {start} to {end} holds no byte")
            }
            LayoutError::OverlappingRanges { end, start } => {
                write!(f, "a range starts at {start} though the one before it ends at {end}")
            }
            LayoutError::ZeroCount => write!(f, "the stripe count is 0; it must be at least 1"),
            LayoutError::UnevenObject { object_size, unit } => {
                write!(
                    f,
                    "the object size {object_size} is not a multiple of the stripe unit {unit}"
                )
            }
            LayoutError::ObjectOutOfBounds { object_size, count } => {
                write!(
                    f,
                    "{count} objects of {object_size} bytes: an object must have at least 2 bytes"
                )?;
                write!(f, " and a set of them at most 2^61")
            }
        }
    }
}

impl std::error::Error for LayoutError {}
