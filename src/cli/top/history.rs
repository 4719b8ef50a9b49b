//! What was seen so far: two looks to compare, and a minute of rates for each server.

use std::collections::{BTreeMap, VecDeque};

use crate::telemetry::change::{self, ServerChange};
use crate::telemetry::snapshot::{Export, Server};
use crate::telemetry::{Snapshot, health};

/// The looks, and what came of them.
#[derive(Debug)]
pub(super) struct History {
    now: Snapshot,
    before: Option<Snapshot>,
    rates: BTreeMap<(String, usize), VecDeque<u64>>,
    lost: Option<String>,
}

impl History {
    pub(super) fn new(now: Snapshot) -> History {
        History { now, before: None, rates: BTreeMap::new(), lost: None }
    }

    /// Another look. One at a process that was started anew begins anew.
    pub(super) fn add(&mut self, seen: Snapshot) {
        self.lost = None;
        if change::between(&seen, &self.now).is_none() {
            *self = History::new(seen);
            return;
        }
        self.before = Some(std::mem::replace(&mut self.now, seen));
        let rates: Vec<_> = self
            .now
            .exports
            .iter()
            .flat_map(|export| {
                let numbers = 0..export.servers.len();
                numbers.map(|number| {
                    let rate = self.change(export, number).rate() as u64;
                    ((export.name.clone(), number), rate)
                })
            })
            .collect();
        for (key, rate) in rates {
            let line = self.rates.entry(key).or_default();
            line.push_back(rate);
            if line.len() > MINUTE {
                line.pop_front();
            }
        }
    }

    /// Nobody answers.
    pub(super) fn lose(&mut self, failure: String) {
        self.lost = Some(failure);
    }

    pub(super) fn now(&self) -> &Snapshot {
        &self.now
    }

    /// What is wrong, nobody answering first.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = health::problems(&self.now);
        problems.splice(0..0, self.lost.clone());
        problems
    }

    /// An export by its place in the list; the first if there are fewer.
    pub(super) fn export(&self, place: usize) -> Option<&Export> {
        let exports = &self.now.exports;
        exports.get(place % exports.len().max(1))
    }

    /// What a server did between the last two looks, or since the beginning.
    pub(super) fn change(&self, export: &Export, number: usize) -> ServerChange {
        let before = change::earlier(export, self.before.as_ref());
        let before: Option<&Server> = before.and_then(|export| export.servers.get(number));
        change::server(&export.servers[number], before, self.nanos())
    }

    /// Bytes a second of something that has a name, by what it has moved in all.
    pub(super) fn rate(&self, now: u64, before: impl Fn(&Snapshot) -> Option<u64>) -> f64 {
        change::rate(now, self.before.as_ref().and_then(before), self.nanos())
    }

    /// Bytes a second of a server, look by look, the oldest first.
    pub(super) fn rates(&self, export: &Export, number: usize) -> Vec<u64> {
        let rates = self.rates.get(&(export.name.clone(), number));
        rates.map(|rates| rates.iter().copied().collect()).unwrap_or_default()
    }

    fn nanos(&self) -> u64 {
        let between = self.before.as_ref().and_then(|before| change::between(&self.now, before));
        between.unwrap_or(self.now.uptime_ns)
    }
}

/// Looks that are remembered, of a second each.
const MINUTE: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn look(uptime_ns: u64, bytes_read: u64) -> Snapshot {
        let server = Server { bytes_read, ..Server::default() };
        let export = Export { servers: vec![server], ..Export::default() };
        Snapshot { uptime_ns, exports: vec![export], ..Snapshot::default() }
    }

    #[test]
    fn rates_are_kept_for_a_minute() {
        let mut history = History::new(look(1_000_000_000, 0));
        for second in 2..=100 {
            history.add(look(second * 1_000_000_000, second * 1_000));
        }
        let export = history.export(0).unwrap();
        let rates = history.rates(export, 0);
        assert_eq!((rates.len(), rates[0], rates[MINUTE - 1]), (MINUTE, 1_000, 1_000));
        assert_eq!(history.change(export, 0).rate(), 1_000.0);
    }

    #[test]
    fn an_agent_that_was_restarted_begins_anew_and_a_lost_one_is_told() {
        let mut history = History::new(look(9_000_000_000, 500));
        history.lose("gone".into());
        assert_eq!(history.problems(), ["gone"]);
        history.add(look(1_000_000_000, 5));
        assert_eq!(history.problems(), Vec::<String>::new());
        assert!(history.rates(history.export(0).unwrap(), 0).is_empty());
    }
}
