//! What can be set of TWINS.

use crate::policy::OutOfRange;
use crate::time::Span;

/// What happens in a window whose server has nothing queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Wait, as published: the other servers belong to other agents.
    Strict,
    /// Serve the fullest queue among the servers that no other agent owns in this window.
    Conserving,
}

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// On the grid of the clock that all agents share.
    Grid,
    /// At this agent's first attempt to issue, as published.
    Local,
}

/// Settings of [`Twins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwinsSettings {
    /// Length of a window. Default 1 ms, the best overall in the publication, which tried 0.125 to
    /// 8 ms; 10 us, below which no timer keeps up, to 10 s.
    pub window: Span,
    /// Default strict.
    pub mode: Mode,
    /// Default grid.
    pub phase: Phase,
    /// Servers that a window covers. Default 1; up to 65,536, where more than there are means all.
    pub group: u32,
    /// Whether a request waits within its window for those that went with the last batch, those of a
    /// file that are behind go first, and batches go whole. Default no, as published: good where
    /// processes read in step and a server takes long to get to a place.
    pub gather: bool,
    /// Bytes that may be outstanding at a server of unknown speed. Default 4 MiB: a millisecond of a
    /// fast server; 1 B to 1 GiB.
    pub blind: u64,
}

impl TwinsSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless("window", self.window.as_nanos(), 10_000, 10_000_000_000)?;
        OutOfRange::unless("group", self.group.into(), 1, 65_536)?;
        OutOfRange::unless("blind", self.blind, 1, 1 << 30)
    }
}

impl Default for TwinsSettings {
    fn default() -> Self {
        TwinsSettings {
            window: Span::from_millis(1),
            mode: Mode::Strict,
            phase: Phase::Grid,
            group: 1,
            gather: false,
            blind: 4 << 20,
        }
    }
}
