//! Shapes a policy may build its queue from: none of them costs more as the queue grows than it must.
//!
//! Slots are small dense numbers into a [`Pool`]; lists, tables and trees hold slots, never requests.

mod neighbours;
mod pool;
mod slab;
mod table;

pub use neighbours::Neighbours;
pub use pool::{List, Pool};
pub use slab::Slab;
pub use table::{Table, mix, spread};

/// Stands for "no slot" in links.
pub const NIL: u32 = u32::MAX;
