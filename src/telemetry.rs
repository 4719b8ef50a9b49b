//! What an agent does, for people and for the tools that watch it.
//!
//! * [`snapshot`]: everything there is to tell, at one moment, as a value that can be sent
//! * [`change`]: what happened between two of them
//! * [`health`]: what is wrong, in plain words
//! * [`metric`]: the names under which numbers are published; [`exposition`]: Prometheus' text of them
//! * [`http`]: the address where they can be read, and the page; [`log`]: lines, and few of the same
//!
//! It is called and never calls: whoever serves hands over a function that makes snapshots.

pub mod change;
pub mod exposition;
pub mod health;
pub mod http;
pub mod log;
pub mod metric;
pub mod show;
pub mod snapshot;
pub mod spread;

pub use snapshot::Snapshot;
