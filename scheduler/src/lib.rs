//! Decides and never acts: policies, queues, hazards, aggregation, stripe arithmetic, a simulator.
//!
//! No clock, thread, lock, file, socket or log; time is an argument and there are no dependencies.

#![deny(unsafe_code)]

pub mod batch;
mod hazard;
pub mod layout;
pub mod policy;
pub mod queue;
pub mod record;
pub mod request;
pub mod room;
pub mod scheduler;
pub mod sim;
pub mod stats;
pub mod time;

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
