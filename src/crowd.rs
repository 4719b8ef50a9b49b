//! Who is at a data server at the same time, counted window by window.
//!
//! Agents that take turns are not there together: TWINS is for that, and this shows whether it works. A
//! window counts as shared if at any moment of it requests of two agents or more were queued or in service.

use std::collections::HashMap;

use iofwd_scheduler::time::{Span, Time};

use crate::report::Report;

/// The agents that have requests at a server. Time is an argument: that of the wall, so that windows are
/// those of the agents' grid.
#[derive(Debug)]
pub struct Crowd {
    window: Span,
    /// Requests that are here, by agent.
    present: HashMap<u32, u64>,
    /// The window that was last looked at, and the most agents that were here at once in it.
    current: u64,
    most: usize,
    /// When something last changed.
    changed: Time,
    counts: Counts,
}

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that came.
    pub requests: u64,
    /// Requests that came while another agent had some here.
    pub met: u64,
    /// Windows in which anybody was here.
    pub used: u64,
    /// Windows in which two agents or more were here at once.
    pub shared: u64,
    /// How long anybody was here.
    pub used_time: Span,
    /// How long two agents or more were here at once.
    pub shared_time: Span,
    /// The most agents that were here at once.
    pub most: u64,
}

impl Crowd {
    /// Nobody is here; windows have this length.
    pub fn new(window: Span) -> Crowd {
        Crowd {
            window: window.max(Span::from_nanos(1)),
            present: HashMap::new(),
            current: 0,
            most: 0,
            changed: Time::ZERO,
            counts: Counts::default(),
        }
    }

    /// A request of this agent has come.
    pub fn arrive(&mut self, now: Time, agent: u32) {
        self.turn(now);
        *self.present.entry(agent).or_default() += 1;
        let here = self.present.len();
        self.most = self.most.max(here);
        self.counts.requests += 1;
        self.counts.met += u64::from(here > 1);
        self.counts.most = self.counts.most.max(here as u64);
    }

    /// A request of this agent was answered.
    pub fn leave(&mut self, now: Time, agent: u32) {
        self.turn(now);
        if let Some(left) = self.present.get_mut(&agent) {
            *left -= 1;
            if *left == 0 {
                self.present.remove(&agent);
            }
        }
    }

    /// What was counted up to now, the current window included.
    pub fn counts(&mut self, now: Time) -> Counts {
        self.turn(now);
        let mut counts = self.counts;
        counts.add(1, self.most);
        counts
    }

    /// Begin to count anew, with windows of this length. Whoever is here stays.
    pub fn restart(&mut self, now: Time, window: Span) {
        let present = std::mem::take(&mut self.present);
        *self = Crowd { present, ..Crowd::new(window) };
        self.most = self.present.len();
        self.changed = now;
        self.current = self.index(now);
    }

    /// Counts the windows that are over.
    fn turn(&mut self, now: Time) {
        let passed = now.since(self.changed);
        let here = self.present.len();
        self.counts.used_time += if here > 0 { passed } else { Span::ZERO };
        self.counts.shared_time += if here > 1 { passed } else { Span::ZERO };
        self.changed = self.changed.max(now);
        let index = self.index(now);
        if index > self.current {
            self.counts.add(1, self.most);
            // Between that window and this one nobody came or went.
            self.counts.add(index - self.current - 1, here);
            self.current = index;
            self.most = here;
        }
    }

    const fn index(&self, now: Time) -> u64 {
        now.as_nanos() / self.window.as_nanos()
    }
}

impl Counts {
    /// So many windows with so many agents at once.
    fn add(&mut self, windows: u64, agents: usize) {
        self.used += if agents > 0 { windows } else { 0 };
        self.shared += if agents > 1 { windows } else { 0 };
    }

    /// The counts by name.
    pub fn report(&self, report: &mut Report) {
        report.add("windows_used", self.used);
        report.add("windows_shared", self.shared);
        report.add("requests_arrived", self.requests);
        report.add("requests_met", self.met);
        report.add("used_ns", self.used_time.as_nanos());
        report.add("shared_ns", self.shared_time.as_nanos());
        report.add("agents_at_once_most", self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn crowd() -> Crowd {
        Crowd::new(Span::from_millis(1))
    }

    #[test]
    fn agents_that_take_turns_share_no_window() {
        let mut crowd = crowd();
        for turn in 0..8u64 {
            let begin = turn * 1_000;
            crowd.arrive(at(begin), turn as u32 % 2);
            crowd.arrive(at(begin + 10), turn as u32 % 2);
            crowd.leave(at(begin + 900), turn as u32 % 2);
            crowd.leave(at(begin + 990), turn as u32 % 2);
        }
        let counts = crowd.counts(at(20_000));
        assert_eq!((counts.used, counts.shared, counts.met, counts.most), (8, 0, 0, 1));
        assert_eq!(counts.used_time, Span::from_micros(8 * 990));
        assert_eq!(counts.requests, 16);
    }

    #[test]
    fn two_in_one_window_but_not_at_once_do_not_meet() {
        let mut crowd = crowd();
        crowd.arrive(at(0), 1);
        crowd.leave(at(100), 1);
        crowd.arrive(at(200), 2);
        crowd.leave(at(300), 2);
        assert_eq!(crowd.counts(at(400)).shared, 0);
        crowd.arrive(at(500), 1);
        crowd.arrive(at(600), 2);
        let counts = crowd.counts(at(700));
        assert_eq!((counts.used, counts.shared, counts.met), (1, 1, 1));
        assert_eq!(counts.shared_time, Span::from_micros(100));
    }

    #[test]
    fn long_stays_count_in_every_window() {
        let mut crowd = crowd();
        crowd.arrive(at(500), 1);
        crowd.arrive(at(2_500), 2);
        crowd.leave(at(5_500), 1);
        crowd.leave(at(9_999), 2);
        // Windows 0 to 9; both were there in 2, 3, 4 and 5.
        let counts = crowd.counts(at(50_000));
        assert_eq!((counts.used, counts.shared), (10, 4));
        assert_eq!(counts.shared_time, Span::from_millis(3));
    }

    #[test]
    fn counting_begins_anew_with_those_who_are_there() {
        let mut crowd = crowd();
        crowd.arrive(at(0), 1);
        crowd.arrive(at(0), 2);
        crowd.restart(at(7_000), Span::from_millis(10));
        crowd.leave(at(11_000), 2);
        crowd.leave(at(12_000), 1);
        let counts = crowd.counts(at(90_000));
        assert_eq!((counts.used, counts.shared, counts.requests), (2, 2, 0));
        assert_eq!(counts.shared_time, Span::from_millis(4));
    }

    #[test]
    fn a_clock_that_goes_back_does_no_harm() {
        let mut crowd = crowd();
        crowd.arrive(at(5_000), 1);
        crowd.leave(at(3_000), 1);
        crowd.leave(at(3_000), 1);
        assert_eq!(crowd.counts(at(9_000)).used, 1);
    }
}
