//! Clients whose agent died and that did not come back: after a while nobody waits for them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{SessionName, State};

/// Since when clients are known to be served by nobody.
#[derive(Debug, Default)]
pub(crate) struct Orphans(HashMap<SessionName, Instant>);

impl Orphans {
    /// Give up those that were served by nobody for so long; how many they were.
    pub(crate) fn sweep(&mut self, state: &State, now: Instant, grace: Duration) -> usize {
        let mut given_up = 0;
        let mut still = HashMap::new();
        for name in state.sessions() {
            let Some(_held) = state.unserved(&name) else { continue };
            let since = self.0.get(&name).copied().unwrap_or(now);
            if now.duration_since(since) < grace {
                still.insert(name, since);
                continue;
            }
            state.locked.release_session(&name);
            state.remove(&name);
            given_up += 1;
        }
        self.0 = still;
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_are_given_up_that_nobody_served_for_long() {
        let room = tempfile::tempdir().unwrap();
        let state = State::open(room.path()).unwrap();
        let (served, left) = (state.begin(&[1; 32]).unwrap(), state.begin(&[2; 32]).unwrap());
        drop(left);
        let mut orphans = Orphans::default();
        let (begin, grace) = (Instant::now(), Duration::from_secs(10));
        assert_eq!(orphans.sweep(&state, begin, grace), 0);
        assert_eq!(orphans.sweep(&state, begin + grace / 2, grace), 0);
        drop(state.take_over(&[2; 32], Duration::ZERO).unwrap().unwrap());
        assert_eq!(orphans.sweep(&state, begin + grace, grace), 1);
        assert_eq!(state.sessions(), [served.name()]);
    }
}
