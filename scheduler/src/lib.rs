//! Decides and never acts: policies, queues, hazards, aggregation, stripe arithmetic, a simulator.
//!
//! No clock, thread, lock, file, socket or log; time is an argument and there are no dependencies.

pub mod layout;
pub mod request;
pub mod time;
