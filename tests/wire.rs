//! The wire as bytes: what every message has always looked like, and what becomes of bytes that are
//! none.

#[path = "wire/allocations.rs"]
mod allocations;
#[path = "wire/fuzz.rs"]
mod fuzz;
#[path = "wire/golden.rs"]
mod golden;
#[path = "wire/samples.rs"]
mod samples;
#[path = "wire/stripes.rs"]
mod stripes;
