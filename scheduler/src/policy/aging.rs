//! Ageing: what keeps a policy that prefers some requests from starving the others.

use crate::policy::Load;
use crate::queue::{Lanes, Row, Shelf, Timeline, advance};
use crate::request::{Request, ServerId};
use crate::time::{Span, Time};

/// The oldest request of a server, if it arrived so long ago that it goes before all others.
///
/// Only the oldest is looked at: when a request reaches the age, so did all that came before it, and
/// from then on they leave in order of arrival.
pub(super) fn overdue(queue: &Timeline, server: ServerId, now: Time, age: Span) -> Option<u32> {
    let oldest = queue.list(server).head()?;
    is_overdue(&queue.get(oldest), now, age).then_some(oldest)
}

/// Whether a request arrived so long ago.
pub(super) fn is_overdue(request: &Request, now: Time, age: Span) -> bool {
    request.arrived + age <= now
}

/// Begins to load what those need that will be overdue next, once one that was has gone.
///
/// They go in order of arrival, whatever goes between them. What is needed is found one thing after the
/// other, each a few steps before the next.
pub(super) fn prepare<T: Copy + Default>(
    queue: &Timeline,
    server: ServerId,
    (lanes, shelf): (&Lanes<T>, &mut Shelf),
    row: impl Fn(&T) -> &Row,
) {
    // With several servers there are as many steps between two of one.
    let places = if queue.servers() == 1 { [1, 3, 5, 7] } else { [0, 1, 2, 3] };
    for (place, slot) in queue.oldest(server).take(places[3] + 1).enumerate() {
        if let Some(at) = places.iter().position(|&ahead| ahead == place) {
            match 3 - at {
                0 => queue.pool().touch_leaving(slot),
                step => advance(step, (slot, &queue.get(slot)), lanes, shelf, &row),
            }
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
