//! The literature's load against a path: real processes, access patterns, barriers, several
//! applications at once, and comparisons that say whether a difference is one.
//!
//! What is meant stands in [`plan`]. [`series`] decides which runs there are and in which order,
//! [`conductor`] leads one run, [`worker`] is what each process of it does. [`summary`] draws the
//! conclusions, [`report`] writes them down.

mod board;
mod conductor;
mod content;
mod crew;
mod interrupt;
mod latency;
mod mounted;
mod pattern;
mod permutation;
pub mod plan;
mod progress;
pub mod report;
mod room;
pub mod series;
pub(crate) mod statistics;
mod step;
mod summary;
mod worker;

pub use pattern::{Pattern, Shape};
pub use summary::Results;

/// An error as the user reads it: what is wrong, and what to do about it.
pub type Failure = String;

/// Why there are no results.
#[derive(Debug)]
pub enum Stop {
    /// The user asked for the end; everything was cleaned up.
    Interrupted,
    /// Something went wrong.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}
