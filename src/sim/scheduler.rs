//! Which scheduler runs in the agents of a simulation, by name: iofwd's policies as they are, those of the
//! TWINS thesis inside IOFSL, or none because there are no agents.

use std::fmt;

use iofwd_scheduler::policy::{self, Policy, Setup, Sw, SwSettings, Twins, TwinsSettings};
use iofwd_scheduler::sim::preset::Published;
use iofwd_scheduler::sim::{Forwarding, ScenarioError};
use iofwd_scheduler::time::Span;

/// The program that runs on the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// Ours: batches leave as soon as the policy issues them.
    Iofwd,
    /// That of the TWINS thesis: a few threads gather what the scheduler issues into lists.
    Iofsl,
}

/// A scheduler: a name and, if it has windows, their length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// The name; [`UNFORWARDED`] if there are no agents.
    pub name: String,
    /// Length of the windows; `None` if it has none, or for its default.
    pub window: Option<Span>,
    /// Whether requests wait within a window for those that went with the last batch, in those of
    /// ours that can.
    pub gather: bool,
}

impl Daemon {
    /// Every daemon, by name.
    pub const ALL: [(&'static str, Daemon); 2] =
        [("iofwd", Daemon::Iofwd), ("iofsl", Daemon::Iofsl)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Daemon::Iofwd => "iofwd",
            Daemon::Iofsl => "iofsl",
        }
    }

    /// The names of what can run in it, and that of doing without.
    pub fn schedulers(self) -> Vec<&'static str> {
        let mut names = vec![UNFORWARDED];
        match self {
            Daemon::Iofwd => names.extend(policy::ALL.iter().map(|entry| entry.name)),
            Daemon::Iofsl => names.extend(PUBLISHED),
        }
        names
    }

    /// Refuses what is no scheduler of this daemon, and says which are.
    pub fn check(self, name: &str) -> Result<(), String> {
        let known = self.schedulers();
        if known.contains(&name) {
            return Ok(());
        }
        Err(format!("no scheduler '{name}' in {}: write {}", self.name(), known.join(", ")))
    }
}

impl Scheduler {
    /// A scheduler of this name with windows of its default length.
    pub fn named(name: &str) -> Scheduler {
        Scheduler::with_window(name, None)
    }

    /// A scheduler of this name with windows of this length, or of its default one.
    pub fn with_window(name: &str, window: Option<Span>) -> Scheduler {
        Scheduler { name: name.into(), window, gather: false }
    }

    /// Whether a window means anything to a scheduler of this name.
    pub fn has_window(name: &str) -> bool {
        matches!(name, "sw" | "twins")
    }

    /// The forwarding layer that runs it; nothing if there is none.
    pub fn forwarding(&self, daemon: Daemon, agents: u32) -> Result<Option<Forwarding>, String> {
        daemon.check(&self.name)?;
        if self.name == UNFORWARDED {
            return Ok(None);
        }
        match daemon {
            Daemon::Iofwd => self.ours(agents).map(Some),
            Daemon::Iofsl => Ok(Some(self.published().forwarding(agents))),
        }
    }

    fn ours(&self, agents: u32) -> Result<Forwarding, String> {
        let wrong = |error: &dyn fmt::Display| format!("{}: {error}", self.name);
        match (self.name.as_str(), self.window) {
            ("twins", window) => {
                let default = TwinsSettings::default();
                let window = window.unwrap_or(default.window);
                let settings = TwinsSettings { window, gather: self.gather, ..default };
                settings.check().map_err(|error| wrong(&error))?;
                Ok(Forwarding::with(agents, move |setup: &Setup| -> Box<dyn Policy> {
                    Box::new(Twins::new(setup, settings))
                }))
            }
            ("sw", Some(window)) => {
                let settings = SwSettings { window };
                settings.check().map_err(|error| wrong(&error))?;
                Ok(Forwarding::with(agents, move |setup: &Setup| -> Box<dyn Policy> {
                    Box::new(Sw::new(setup, settings))
                }))
            }
            (name, _) => {
                Forwarding::named(name, agents).map_err(|error: ScenarioError| wrong(&error))
            }
        }
    }

    /// The scheduler of the thesis of this name, which was checked.
    fn published(&self) -> Published {
        match self.name.as_str() {
            "hbrr" => Published::Hbrr,
            "to" => Published::To,
            "sjf" => Published::Sjf,
            "mlf" => Published::Mlf,
            "sw" => Published::Sw(self.window.unwrap_or(Span::from_secs(1))),
            "twins" => Published::Twins(self.window.unwrap_or(Span::from_millis(1))),
            _ => Published::Fifo,
        }
    }
}

/// What stands for clients that talk to the servers themselves.
pub const UNFORWARDED: &str = "unforwarded";

const PUBLISHED: [&str; 7] = ["fifo", "hbrr", "to", "sjf", "mlf", "sw", "twins"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_scheduler_can_be_made_and_no_other() {
        for (_, daemon) in Daemon::ALL {
            for name in daemon.schedulers() {
                let forwarding = Scheduler::named(name).forwarding(daemon, 2).expect("known");
                assert_eq!(forwarding.is_none(), name == UNFORWARDED);
            }
            let refusal = Scheduler::named("best").forwarding(daemon, 2).expect_err("not known");
            assert!(refusal.contains("'best'") && refusal.contains("twins"), "{refusal}");
        }
        assert!(Daemon::Iofsl.check("wfq").is_err());
        assert!(Daemon::Iofwd.check("to").is_err());
    }

    #[test]
    fn windows_out_of_range_are_refused() {
        let window = Some(Span::from_nanos(1));
        for name in ["sw", "twins"] {
            let refusal = Scheduler::with_window(name, window).forwarding(Daemon::Iofwd, 1);
            assert!(refusal.expect_err("too short").contains("window"), "{name}");
        }
    }
}
