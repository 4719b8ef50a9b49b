//! The simulator: scenarios worked out by hand, what must hold in all of them, and what the policies do.

#![allow(clippy::unwrap_used, reason = "a scenario that cannot be run must fail its test")]

#[path = "simulator/by_hand.rs"]
mod by_hand;
#[path = "simulator/invariants.rs"]
mod invariants;
#[path = "simulator/policies.rs"]
mod policies;
#[path = "simulator/setup.rs"]
mod setup;
#[path = "simulator/thesis.rs"]
mod thesis;
