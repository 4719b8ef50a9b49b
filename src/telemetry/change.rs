//! What happened between two looks at an agent: rates, and times of that stretch alone.

use super::snapshot::{Export, Server, Snapshot};
use super::spread::Spread;

/// One server between two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerChange {
    /// Bytes read a second.
    pub read_rate: f64,
    /// Bytes written a second.
    pub write_rate: f64,
    /// Requests a second.
    pub request_rate: f64,
    /// Requests in a batch, on average.
    pub merged: f64,
    /// The share of the time in which it had nothing to do.
    pub idle: f64,
    /// Waits.
    pub wait: Spread,
    /// Service times.
    pub service: Spread,
}

impl ServerChange {
    /// Bytes a second.
    pub fn rate(&self) -> f64 {
        self.read_rate + self.write_rate
    }
}

/// What a server did from one look to the next, `nanos` later. With nothing before: since it began.
pub fn server(now: &Server, before: Option<&Server>, nanos: u64) -> ServerChange {
    let nothing = Server::default();
    let before = before.unwrap_or(&nothing);
    let seconds = (nanos.max(1)) as f64 / 1e9;
    let grown = |of: fn(&Server) -> u64| of(now).saturating_sub(of(before)) as f64;
    let batches = grown(|server| server.batches);
    ServerChange {
        read_rate: grown(|server| server.bytes_read) / seconds,
        write_rate: grown(|server| server.bytes_written) / seconds,
        request_rate: grown(Server::requests) / seconds,
        merged: if batches > 0.0 { grown(|server| server.issued) / batches } else { 1.0 },
        idle: (1.0 - grown(|server| server.busy_ns) / nanos.max(1) as f64).clamp(0.0, 1.0),
        wait: now.wait.since(&before.wait),
        service: now.service.since(&before.service),
    }
}

/// Nanoseconds from one look to the next, if both are of the same process.
pub fn between(now: &Snapshot, before: &Snapshot) -> Option<u64> {
    let same = now.pid == before.pid && now.host == before.host;
    now.uptime_ns.checked_sub(before.uptime_ns).filter(|nanos| same && *nanos > 0)
}

/// The same export at the earlier look.
pub fn earlier<'s>(export: &Export, before: Option<&'s Snapshot>) -> Option<&'s Export> {
    before?.exports.iter().find(|other| other.name == export.name)
}

/// Bytes a second that a named thing moved, by what it moved until now and until then.
pub fn rate(now: u64, before: Option<u64>, nanos: u64) -> f64 {
    now.saturating_sub(before.unwrap_or(0)) as f64 * 1e9 / nanos.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_differences_over_time() {
        let before =
            Server { bytes_read: 1_000, reads: 1, issued: 1, batches: 1, ..Server::default() };
        let now = Server {
            bytes_read: 5_000,
            reads: 9,
            issued: 9,
            batches: 3,
            busy_ns: 250_000_000,
            ..Server::default()
        };
        let change = server(&now, Some(&before), 500_000_000);
        assert_eq!((change.read_rate, change.request_rate), (8_000.0, 16.0));
        assert_eq!((change.merged, change.idle), (4.0, 0.5));
        assert_eq!(change.rate(), 8_000.0);
    }

    #[test]
    fn an_agent_that_was_restarted_has_no_earlier_look() {
        let look = |pid, uptime_ns| Snapshot { pid, uptime_ns, ..Snapshot::default() };
        assert_eq!(between(&look(1, 500), &look(1, 200)), Some(300));
        assert_eq!(between(&look(2, 500), &look(1, 200)), None);
        assert_eq!(between(&look(1, 100), &look(1, 200)), None);
    }
}
