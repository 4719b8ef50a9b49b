//! Which servers the current window covers, computed from the time alone.
//!
//! Nothing is counted up, so a late wake-up, a late joiner or a step of the clock needs no repair:
//! the next question gets the right answer.

use std::ops::Range;

use super::{Phase, TwinsSettings};
use crate::policy::{Setup, Window};
use crate::request::ServerId;
use crate::time::{Span, Time};

/// The windows of one agent and the groups of servers they cover.
#[derive(Debug)]
pub(super) struct Grid {
    servers: u32,
    size: u32,
    groups: u32,
    agent: u32,
    agents: u32,
    window: Span,
    /// What to add to `now` to get the clock on whose multiples windows begin.
    offset: i64,
    /// In local phase, whether the origin is still to be set.
    unset: bool,
    /// The window last asked for: its bounds in `now`'s terms, and its index modulo the groups.
    begin: Time,
    end: Time,
    turn: u32,
}

impl Grid {
    pub(super) fn new(setup: &Setup, settings: &TwinsSettings) -> Grid {
        let size = settings.group.clamp(1, setup.servers.max(1));
        let groups = setup.servers.max(1).div_ceil(size);
        Grid {
            servers: setup.servers,
            size,
            groups,
            agent: setup.agent % groups,
            agents: setup.agents,
            window: settings.window,
            offset: 0,
            unset: settings.phase == Phase::Local,
            begin: Time::ZERO,
            end: Time::ZERO,
            turn: 0,
        }
    }

    /// Moves to the window that `now` lies in.
    pub(super) fn turn(&mut self, now: Time) {
        if self.unset {
            self.offset = nanos(now).saturating_neg();
            self.unset = false;
            self.forget();
        }
        if self.begin <= now && now < self.end {
            return;
        }
        let length = self.length();
        let clock = nanos(now).saturating_add(self.offset);
        let (index, into) = (clock.div_euclid(length), clock.rem_euclid(length).unsigned_abs());
        self.turn = u32::try_from(index.rem_euclid(i64::from(self.groups)))
            .expect("the remainder is smaller than the number of groups, a u32");
        self.begin = Time::from_nanos(now.as_nanos().saturating_sub(into));
        self.end = now + Span::from_nanos(length.unsigned_abs() - into);
    }

    /// The window that `now` lies in, to be shown; nothing while windows have no origin yet.
    pub(super) fn at(&self, now: Time) -> Option<Window> {
        let clock = nanos(now).saturating_add(self.offset);
        let index = clock.div_euclid(self.length()).rem_euclid(i64::from(self.groups));
        (!self.unset).then(|| Window {
            end: self.end_of(now),
            length: self.window,
            turn: u32::try_from(index).unwrap_or(0),
            groups: self.groups,
            size: self.size,
            agent: self.agent,
            agents: self.agents,
        })
    }

    /// Follows a step of the shared clock; windows of local phase have their own and do not move.
    pub(super) fn set_offset(&mut self, offset: i64, phase: Phase) {
        if phase == Phase::Grid {
            self.offset = offset;
            self.forget();
        }
    }

    pub(super) fn set_window(&mut self, window: Span) {
        self.window = window;
        self.forget();
    }

    /// The group that is served.
    pub(super) const fn group(&self) -> u32 {
        (self.turn + self.agent) % self.groups
    }

    /// The groups of the windows to come, from the next on, for one round.
    pub(super) fn following(&self) -> impl Iterator<Item = u32> {
        let (from, groups) = (self.group(), self.groups);
        (1..=groups).map(move |ahead| (from + ahead) % groups)
    }

    /// The servers of a group.
    pub(super) fn covered(&self, group: u32) -> Range<u32> {
        group * self.size..(group + 1).saturating_mul(self.size).min(self.servers)
    }

    /// Whether another agent serves this server in the current window.
    pub(super) fn is_owned(&self, server: ServerId) -> bool {
        let group = server.0 / self.size;
        let owner = (group + self.groups - self.turn) % self.groups;
        owner < self.agents && owner != self.agent
    }

    /// When the current window began.
    pub(super) const fn begin(&self) -> Time {
        self.begin
    }

    /// When the current window ends.
    pub(super) const fn end(&self) -> Time {
        self.end
    }

    /// When the window that this time lies in ends.
    pub(super) fn end_of(&self, time: Time) -> Time {
        let clock = nanos(time).saturating_add(self.offset);
        let into = clock.rem_euclid(self.length()).unsigned_abs();
        time + Span::from_nanos(self.length().unsigned_abs() - into)
    }

    /// Number of groups, hence of windows in a round.
    pub(super) const fn groups(&self) -> u32 {
        self.groups
    }

    /// Whether every window covers all servers, so that none holds anything back.
    pub(super) const fn is_single(&self) -> bool {
        self.groups == 1
    }

    fn forget(&mut self) {
        (self.begin, self.end) = (Time::ZERO, Time::ZERO);
    }

    fn length(&self) -> i64 {
        i64::try_from(self.window.as_nanos()).unwrap_or(i64::MAX).max(1)
    }
}

/// A time as signed nanoseconds; 292 years are enough.
fn nanos(time: Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
