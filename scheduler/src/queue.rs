//! Shapes a policy may build its queue from: none of them costs more as the queue grows than it must.
//!
//! Slots are small dense numbers into a [`Pool`] or into [`Pages`]; lists, tables and trees hold slots,
//! never requests.

mod ahead;
mod boxes;
mod cabinets;
mod front;
mod heap;
mod lanes;
mod lines;
mod lobby;
mod neighbours;
mod packed;
mod pages;
mod pool;
mod roll;
mod rotation;
mod runs;
mod shelf;
mod slab;
mod sorted;
mod table;
mod timeline;

pub(crate) use ahead::ask;
pub use front::Front;
pub use heap::Heap;
pub use lanes::{LaneKey, Lanes, Ring};
pub use lines::{Lines, Queue};
pub use lobby::{CACHED, Lobby, advance, approach};
pub use neighbours::Neighbours;
pub use pages::{Line, Pages};
pub use pool::Pool;
pub use roll::List;
pub use rotation::Rotation;
pub use runs::Runs;
pub use shelf::{Row, Shelf};
pub use slab::Slab;
pub use sorted::{Sorted, triple};
pub use table::{Table, mix, spread};
pub use timeline::Timeline;

/// Stands for "no slot" in links.
pub const NIL: u32 = u32::MAX;
