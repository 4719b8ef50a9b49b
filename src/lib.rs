//! iofwd: a FUSE-mounted I/O forwarding file system.
//!
//! * [`cli`]: what can be typed, and one file for each subcommand
//! * [`agent`]: nodes, open files, locks, and the engine that asks the scheduler
//! * [`backend`]: where the data lie
//! * [`mounts`]: the system's table of mounts
//! * [`settings`]: the agent's settings file
//! * [`key`]: the key that an agent and its clients share
//! * [`handshake`]: how both prove that they have it
//! * [`penalty`]: whoever shows a wrong key again and again has to wait
//! * [`tls`]: TLS for TCP connections
//! * [`job`]: to which job a process belongs
//! * [`quantity`]: sizes and times as people type them
//! * [`trace`]: recordings of a scheduler
//! * [`bench`]: the literature's load, and what it shows
//!
//! The mount itself is the crate `iofwd-mount`, the scheduling policies are `iofwd-scheduler`; this
//! crate introduces them to each other. `ARCHITECTURE.md` has the whole picture.

pub mod agent;
pub mod backend;
pub mod bench;
pub mod cli;
pub mod handshake;
pub mod job;
pub mod key;
pub mod mounts;
pub mod penalty;
pub mod quantity;
pub mod settings;
pub mod tls;
pub mod trace;
