//! Asks the scheduler again at the time it named: a plain thread in a timed wait, which wakes tens
//! of microseconds late where a runtime's timer takes milliseconds.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use iofwd_scheduler::policy::Directive;
use iofwd_scheduler::time::{Span, Time};

use super::Core;

/// Run until the engine stops.
pub(super) fn run(core: &Arc<Core>) {
    let mut wall_checked = Time::ZERO;
    let mut state = core.lock();
    while !state.stopping {
        let now = core.clock.now();
        if state.deadline > now {
            let wait = if state.deadline == Time::NEVER {
                FOR_EVER
            } else {
                Duration::from_nanos(state.deadline.since(now).as_nanos())
            };
            state = core.timer.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        if now.since(wall_checked) >= WALL_CHECK {
            wall_checked = now;
            state.scheduler.direct(now, Directive::ClockOffset(core.clock.offset()));
        }
        let tasks = core.poll(&mut state, now);
        drop(state);
        core.workers.push(tasks);
        state = core.lock();
    }
}

/// Nothing to wait for: the condition is signalled when there is.
const FOR_EVER: Duration = Duration::from_secs(3600);
/// How often the clock of the wall is looked at, for a step.
const WALL_CHECK: Span = Span::from_secs(1);
