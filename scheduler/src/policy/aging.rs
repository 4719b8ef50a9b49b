//! Ageing: what keeps a policy that prefers some requests from starving the others.

use crate::policy::Load;
use crate::queue::{CACHED, Lanes, Row, Shelf, Timeline, advance};
use crate::request::ServerId;
use crate::time::{Span, Time};

/// The oldest request of a server, if it arrived so long ago that it goes before all others.
///
/// Only the oldest is looked at: when a request reaches the age, so did all that came before it, and
/// from then on they leave in order of arrival.
pub(super) fn overdue(queue: &Timeline, server: ServerId, now: Time, age: Span) -> Option<u32> {
    let oldest = queue.list(server).head()?;
    (queue.get(oldest).arrived + age <= now).then_some(oldest)
}

/// Begins to load what those need that are overdue and go next, once a request of `server` went.
///
/// Servers take turns. So the next of this one has as many steps ahead of it as there are servers, and
/// those of the servers before it some less: each of them is a step further on.
pub(super) fn prepare<T: Copy + Default>(
    queue: &Timeline,
    server: ServerId,
    overdue: impl Fn(ServerId) -> Option<u32>,
    lanes: &Lanes<T>,
    shelf: &Shelf,
    row: impl Fn(&T) -> &Row,
) {
    if queue.len() <= CACHED {
        return;
    }
    let servers = queue.servers();
    for step in 1..servers.min(4) {
        let before = (server.0 + servers - step) % servers;
        if let Some(slot) = overdue(ServerId(before)) {
            advance(step as usize, &queue.get(slot), lanes, shelf, &row);
        }
    }
}

/// How long a request waits at most if it is overdue after `age`, and nothing holds it back then.
pub(super) fn bound(load: &Load, age: Span) -> Span {
    age + load.in_rotation(load.ahead)
}

/// The age at which a request goes first: far beyond the wait in a queue that moves, far below what
/// makes an application or an administrator think that it hangs.
pub(super) const AGE: Span = Span::from_millis(250);

/// The least age that may be set, in nanoseconds: below, ageing would be the policy.
pub(super) const AGE_LEAST: u64 = 1_000_000;

/// The most that may be set: one minute, in nanoseconds.
pub(super) const AGE_MOST: u64 = 60_000_000_000;
