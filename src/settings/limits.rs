//! How much an agent serves at a time.

use std::time::Duration;

use super::section::Section;

/// Bounds on what clients may ask for. The table of fields has their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients served at a time.
    pub clients: u32,
    /// Bytes of requests and answers held for all clients together.
    pub memory: u64,
    /// Bytes of requests and answers held for one client.
    pub memory_per_client: u64,
    /// A client that is silent for so long is given up.
    pub idle: Duration,
    /// What a client held is kept for so long when its connections are gone.
    pub grace: Duration,
}

impl Limits {
    pub(super) fn read(section: &Section<'_>) -> Limits {
        let limits = Limits {
            clients: section.number("clients"),
            memory: section.number("memory"),
            memory_per_client: section.number("memory_per_client"),
            idle: Duration::from_nanos(section.number("idle")),
            grace: Duration::from_nanos(section.number("grace")),
        };
        if limits.memory_per_client > limits.memory {
            let what = "one client is given more than all together: write at most limits.memory";
            section.refuse("memory_per_client", what.into());
        }
        section.refuse_unknown();
        limits
    }
}
