//! The wire as bytes: what every message has always looked like, and what becomes of bytes that are
//! none.

#![expect(clippy::print_stdout, reason = "seeds are for whoever runs it")]

#[path = "wire/allocations.rs"]
mod allocations;
#[path = "wire/fuzz.rs"]
mod fuzz;
#[path = "wire/golden.rs"]
mod golden;
#[path = "wire/samples.rs"]
mod samples;
