//! iofwd: a FUSE-mounted I/O forwarding file system.
//!
//! * [`cli`]: what can be typed, and one file for each subcommand
//! * [`agent`]: nodes, open files, locks, and the engine that asks the scheduler
//! * [`backend`]: where the data lie
//! * [`mounts`]: the system's table of mounts
//! * [`trace`]: recordings of a scheduler
//! * [`bench`]: the literature's load, and what it shows
//! * [`sim`]: simulations as users run them, and what was published beside them
//! * [`quantity`]: sizes and times as people type them
//!
//! The mount itself is the crate `iofwd-mount`, the scheduling policies are `iofwd-scheduler`; this
//! crate introduces them to each other. `ARCHITECTURE.md` has the whole picture.

pub mod agent;
pub mod backend;
pub mod bench;
pub mod cli;
pub mod mounts;
pub mod quantity;
pub mod sim;
pub mod trace;
