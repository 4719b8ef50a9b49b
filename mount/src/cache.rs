//! The cache modes: what the kernel of this node may remember, and for how long.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dashmap::DashMap;

use crate::store::{Attr, NodeId, Timestamp};

/// How much the kernel of this node may cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// Nothing: every client sees every completed change of every other at once.
    #[default]
    Coherent,
    /// Data stay cached while a file is unchanged; whoever opens a file sees what was closed before.
    CloseToOpen,
    /// Everything is cached and written back late: for one client that has the tree to itself.
    Exclusive,
}

impl Cache {
    /// All modes, in the order of their promises, strongest first.
    pub const ALL: [Cache; 3] = [Cache::Coherent, Cache::CloseToOpen, Cache::Exclusive];

    /// The name users type.
    pub const fn name(self) -> &'static str {
        match self {
            Cache::Coherent => "coherent",
            Cache::CloseToOpen => "close-to-open",
            Cache::Exclusive => "exclusive",
        }
    }

    /// How long the kernel may trust an attribute and a name.
    pub(crate) fn timeouts(self) -> Timeouts {
        let (attr, entry) = match self {
            Cache::Coherent => (Duration::ZERO, Duration::ZERO),
            // A name is asked for at every open, and its answer refreshes the attributes.
            Cache::CloseToOpen => (Duration::from_secs(1), Duration::ZERO),
            Cache::Exclusive => (Duration::from_secs(3600), Duration::from_secs(3600)),
        };
        Timeouts { attr, entry }
    }
}

impl FromStr for Cache {
    type Err = String;

    fn from_str(text: &str) -> Result<Cache, String> {
        Cache::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            format!("no cache mode '{text}': choose coherent, close-to-open or exclusive")
        })
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How long the kernel may use an answer without asking again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) attr: Duration,
    pub(crate) entry: Duration,
}

/// Remembers in which state a file was when it was last seen, to tell at the next open whether the
/// pages the kernel has kept are still true.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    seen: DashMap<NodeId, Version>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    size: u64,
    mtime: Timestamp,
    ctime: Timestamp,
}

impl Freshness {
    /// Whether the file is as it was at the last call; remembers how it is now.
    ///
    /// A change within the clock tick of the last one cannot be told apart by time stamps, so a
    /// file that changed a moment ago is never called unchanged.
    pub(crate) fn unchanged(&self, attr: &Attr, now: Timestamp) -> bool {
        let version = Version { size: attr.size, mtime: attr.mtime, ctime: attr.ctime };
        let before = self.seen.insert(attr.node, version);
        before == Some(version) && now.seconds_since(attr.ctime) >= TICK_SECS
    }

    /// The kernel has dropped the node and with it its pages.
    pub(crate) fn forget(&self, node: NodeId) {
        self.seen.remove(&node);
    }
}

/// Time stamps of every file system in use are finer than this.
const TICK_SECS: i64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(size: u64, ctime: i64) -> Attr {
        let stamp = Timestamp { secs: ctime, nanos: 0 };
        Attr { node: NodeId(7), size, ctime: stamp, mtime: stamp, ..Attr::default() }
    }

    #[test]
    fn names_round_trip_and_nonsense_is_explained() {
        for mode in Cache::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert!("fast".parse::<Cache>().unwrap_err().contains("coherent"));
    }

    #[test]
    fn a_file_is_fresh_only_if_nothing_changed_and_the_last_change_is_old() {
        let freshness = Freshness::default();
        let now = Timestamp { secs: 100, nanos: 0 };
        assert!(!freshness.unchanged(&attr(5, 10), now), "never seen before");
        assert!(freshness.unchanged(&attr(5, 10), now));
        assert!(!freshness.unchanged(&attr(6, 10), now), "another size");
        assert!(!freshness.unchanged(&attr(6, 99), now), "another time");
        assert!(!freshness.unchanged(&attr(6, 99), now), "too recent to tell");
        freshness.forget(NodeId(7));
        assert!(!freshness.unchanged(&attr(6, 10), now));
    }
}
