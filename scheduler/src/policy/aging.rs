//! Ageing: what keeps a policy that prefers some requests from starving the others.

use crate::policy::Load;
use crate::queue::{Lanes, Row, Shelf, Timeline, advance};
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
/// Servers take turns, so it is known whose turn comes in how many steps. What is needed is found one
/// thing after the other, each a few steps before the next.
pub(super) fn prepare<T: Copy + Default>(
    queue: &Timeline,
    server: ServerId,
    now: Time,
    age: Span,
    (lanes, shelf): (&Lanes<T>, &mut Shelf),
    row: impl Fn(&T) -> &Row,
) {
    let servers = queue.servers();
    let coming = |steps: u32| {
        let server = ServerId((server.0 + steps) % servers);
        match (steps - 1) / servers {
            0 => queue.list(server).head(),
            behind => queue.oldest(server).nth(behind as usize),
        }
    };
    if coming(1).is_none_or(|slot| queue.get(slot).arrived + age > now) {
        return;
    }
    if let Some(slot) = coming(8) {
        queue.pool().touch_leaving(slot);
    }
    for (step, steps) in [(1, 6), (2, 4), (3, 2)] {
        if let Some(slot) = coming(steps) {
            let request = queue.get(slot);
            if request.arrived + age <= now {
                advance(step, (slot, &request), lanes, shelf, &row);
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
