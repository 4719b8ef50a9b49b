//! Requests that took long, and why they did: for the log.

use std::sync::Arc;

use iofwd_scheduler::policy::{Done, Window};
use iofwd_scheduler::request::Operation;
use iofwd_scheduler::scheduler::Held;
use iofwd_scheduler::time::{Span, Time};

use crate::job::Job;
use crate::telemetry::show;

use super::target::Target;

/// A request that took long.
pub(super) struct Slow {
    pub(super) done: Done,
    pub(super) ended: Time,
    pub(super) held: Option<Held>,
    pub(super) policy: &'static str,
    pub(super) window: Option<Window>,
    pub(super) file: Arc<dyn Target>,
}

impl Slow {
    /// Write it to the log.
    pub(super) fn log(&self) {
        let request = &self.done.request;
        let operation = match request.operation {
            Operation::Read => "read",
            Operation::Write => "write",
        };
        let took = span(self.ended.since(request.arrived));
        let file = self.file.name();
        tracing::warn!(
            job = Job::show(request.job.0),
            %file,
            server = request.server.0,
            operation,
            offset = request.extent.offset,
            bytes = request.extent.length,
            took,
            why = why(&self.done, self.ended, self.held, self.policy, self.window),
            "slow request"
        );
    }
}

/// Where the time went, the longest part first.
fn why(
    done: &Done,
    ended: Time,
    held: Option<Held>,
    policy: &str,
    window: Option<Window>,
) -> String {
    let (arrived, server) = (done.request.arrived, done.request.server.0);
    let queued = held.map_or(arrived, |held| held.until);
    let mut parts = vec![
        (ended.since(done.issued), format!("server {server} took")),
        (done.issued.since(queued), waiting(server, policy, window)),
    ];
    if let Some(held) = held {
        let behind = held.behind.0;
        let what = format!("held behind request {behind}, which touched the same bytes, for");
        parts.push((held.until.since(arrived), what));
    }
    parts.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    parts.retain(|(length, _)| *length > Span::ZERO);
    let said = parts.iter().map(|(length, what)| format!("{what} {}", span(*length)));
    said.collect::<Vec<_>>().join("; ")
}

fn waiting(server: u32, policy: &str, window: Option<Window>) -> String {
    match window {
        Some(window) => format!(
            "waited for windows of server {server} (one of {} in every {})",
            span(window.length),
            span(window.length * u64::from(window.groups))
        ),
        None => format!("waited in the queue of server {server} ({policy})"),
    }
}

fn span(span: Span) -> String {
    show::time(span.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iofwd_scheduler::request::{Extent, FileId, JobId, Request, RequestId, ServerId};

    fn done(arrived: u64, issued: u64) -> Done {
        let request = Request {
            id: RequestId(9),
            file: FileId(1),
            job: JobId(1),
            server: ServerId(3),
            operation: Operation::Read,
            extent: Extent::new(0, 10),
            local: 0,
            arrived: at(arrived),
        };
        Done { request, issued: at(issued), bytes: 10, failed: false }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_slow_server_is_named_first() {
        let said = why(&done(0, 5), at(2_005), None, "fifo", None);
        assert_eq!(said, "server 3 took 2.00 s; waited in the queue of server 3 (fifo) 5.00 ms");
    }

    #[test]
    fn windows_are_named_with_how_rare_they_are() {
        let window = Window {
            end: at(0),
            length: Span::from_millis(1),
            turn: 0,
            groups: 4,
            size: 1,
            agent: 0,
            agents: 1,
        };
        let said = why(&done(0, 40), at(41), None, "twins", Some(window));
        let expected = "waited for windows of server 3 (one of 1.00 ms in every 4.00 ms) 40.0 ms; \
                        server 3 took 1.00 ms";
        assert_eq!(said, expected);
    }

    #[test]
    fn who_was_in_the_way_is_named() {
        let held = Held { behind: RequestId(7), until: at(90) };
        let said = why(&done(0, 90), at(91), Some(held), "fifo", None);
        let begin = "held behind request 7, which touched the same bytes, for 90.0 ms; server 3";
        assert!(said.starts_with(begin), "{said}");
    }
}
