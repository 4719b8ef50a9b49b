//! Who asked last on which processor: applications that are moved to another one between two
//! requests are told by it.

use std::sync::atomic::{AtomicU64, Ordering};

/// What is remembered of some threads that ask: the number of each, and its queue.
///
/// Two whose numbers end alike overwrite each other; then they are taken for new ones, which have not
/// moved.
#[derive(Debug)]
pub(crate) struct Trails {
    last: [AtomicU64; PLACES],
}

impl Default for Trails {
    fn default() -> Trails {
        Trails { last: [const { AtomicU64::new(0) }; PLACES] }
    }
}

impl Trails {
    /// A thread asks at a queue. Whether it asked at another one before.
    pub(super) fn has_moved(&self, thread: u32, queue: u16) -> bool {
        let place = &self.last[thread as usize % PLACES];
        let here = u64::from(thread) << 16 | u64::from(queue);
        let before = place.load(Ordering::Relaxed);
        if before != here {
            place.store(here, Ordering::Relaxed);
        }
        before != here && before >> 16 == u64::from(thread)
    }
}

const PLACES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_elsewhere_has_moved() {
        let trails = Trails::default();
        assert!(!trails.has_moved(7, 0), "it was not seen before");
        assert!(!trails.has_moved(7, 0));
        assert!(trails.has_moved(7, 1));
        assert!(!trails.has_moved(7, 1));
        assert!(trails.has_moved(7, 0));
    }

    #[test]
    fn others_are_not_taken_for_it() {
        let trails = Trails::default();
        assert!(!trails.has_moved(7, 0));
        assert!(!trails.has_moved(8, 1));
        assert!(!trails.has_moved(7 + PLACES as u32, 1), "another one in the same place");
        assert!(!trails.has_moved(7, 0));
    }
}
