//! Shapes a policy may build its queue from: none of them costs more as the queue grows than it must.
//!
//! Slots are small dense numbers into a [`Pool`]; lists, tables and trees hold slots, never requests.

mod lanes;
mod neighbours;
mod pool;
mod rotation;
mod runs;
mod shelf;
mod slab;
mod table;
mod timeline;

pub use lanes::{LaneKey, Lanes, Ring};
pub use neighbours::Neighbours;
pub use pool::{List, Pool};
pub use rotation::Rotation;
pub use runs::Runs;
pub use shelf::Shelf;
pub use slab::Slab;
pub use table::{Table, mix, spread};
pub use timeline::Timeline;

/// Stands for "no slot" in links.
pub const NIL: u32 = u32::MAX;
