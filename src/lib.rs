//! iofwd: a FUSE-mounted I/O forwarding file system.
//!
//! * [`cli`]: what can be typed, and one file for each subcommand
//! * [`agent`]: nodes, open files, locks, and the engine that asks the scheduler
//! * [`client`]: the other side of a mount whose agent is elsewhere
//! * [`backend`]: where the data lie; [`layout`]: on which of its servers
//! * [`device`]: a disk of known speed, to be put in front of them
//! * [`control`], [`report`]: asking a mount what it has done, and the answer
//! * [`introspect`]: files of a mount that tell of it
//! * [`crowd`]: which agents are at a data server at the same time
//! * [`budget`]: a bound on memory; [`process`]: who a calling process is
//! * [`mounts`]: the system's table of mounts
//! * [`settings`]: the agent's settings file
//! * [`key`]: the key that an agent and its clients share
//! * [`handshake`]: how both prove that they have it
//! * [`penalty`]: whoever shows a wrong key again and again has to wait
//! * [`tls`]: TLS for TCP connections
//! * [`job`]: to which job a process belongs
//! * `ranges`: the ranges of a file that somebody has locked
//! * [`quantity`]: sizes and times as people type them
//! * [`telemetry`]: what an agent does, for people and the tools that watch it
//! * [`trace`]: recordings of a scheduler
//! * [`wire`]: what clients and agents say to each other
//! * [`link`]: connections that carry it
//! * [`bench`]: the literature's load, and what it shows
//! * [`sim`]: simulations as users run them, and what was published beside them
//!
//! The mount itself is the crate `iofwd-mount`, the scheduling policies are `iofwd-scheduler`; this
//! crate introduces them to each other. `ARCHITECTURE.md` has the whole picture.

pub mod agent;
pub mod backend;
pub mod bench;
pub mod budget;
pub mod cli;
pub mod client;
pub mod control;
pub mod crowd;
pub mod device;
pub mod handshake;
pub mod introspect;
pub mod job;
pub mod key;
pub mod layout;
pub mod link;
pub mod mounts;
pub mod penalty;
pub mod process;
pub mod quantity;
mod ranges;
pub mod report;
pub mod settings;
pub mod sim;
pub mod striped;
pub mod telemetry;
pub mod tls;
pub mod trace;
pub mod wire;
