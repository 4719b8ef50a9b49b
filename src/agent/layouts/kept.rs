//! The layout that is kept with a node. Requests look at it without a lock; it is replaced as a whole.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use arc_swap::{ArcSwap, Guard};

use iofwd_mount::store::{Attr, Timestamp};
use iofwd_scheduler::layout::Layout;
use iofwd_scheduler::request::ServerId;

use crate::layout::{Description, Engine};

/// A layout, and how it came to be known.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) layout: Layout,
    pub(crate) description: Description,
    /// Who was asked.
    pub(crate) asked: Engine,
    /// When the file had last been changed.
    pub(crate) changed: Timestamp,
    /// Nanoseconds that asking took.
    pub(crate) cost: u64,
}

/// What a node that was never opened has.
static NOTHING: LazyLock<Arc<Known>> = LazyLock::new(|| {
    Arc::new(Known {
        layout: Layout::single(ServerId(0)),
        description: Description::plain(),
        asked: Engine::Plain,
        changed: Timestamp::default(),
        cost: 0,
    })
});

/// The layout of a node.
#[derive(Debug)]
pub(in crate::agent) struct Kept {
    current: ArcSwap<Known>,
    /// Pieces of requests that nobody was known to hold.
    unmapped: AtomicU64,
    in_doubt: AtomicBool,
}

impl Default for Kept {
    fn default() -> Kept {
        Kept {
            current: ArcSwap::new(Arc::clone(&NOTHING)),
            unmapped: AtomicU64::new(0),
            in_doubt: AtomicBool::new(false),
        }
    }
}

impl Kept {
    /// The layout as it is known now.
    pub(in crate::agent) fn current(&self) -> Guard<Arc<Known>> {
        self.current.load()
    }

    /// Whether the layout of a file with these attributes need not be asked for.
    pub(super) fn is_known_since(&self, attr: &Attr) -> bool {
        let known = self.current.load();
        let old = known.asked.may_change() && known.changed != attr.ctime;
        !Arc::ptr_eq(&known, &NOTHING) && !old
    }

    pub(super) fn keep(&self, known: Arc<Known>) {
        self.current.store(known);
    }

    /// A request met bytes that nobody is known to hold. The first such is a reason to ask again, and
    /// the second, the fourth and so on: a file may have holes for ever.
    pub(in crate::agent) fn doubt(&self) {
        let count = self.unmapped.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            self.in_doubt.store(true, Ordering::Relaxed);
        }
    }

    /// There is more to know than is known here.
    pub(super) fn call_in_doubt(&self) {
        self.in_doubt.store(true, Ordering::Relaxed);
    }

    /// Whether there is a reason to ask again.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.in_doubt.load(Ordering::Relaxed)
    }

    /// End the doubt; the one who did is to ask.
    pub(super) fn settle_doubt(&self) -> bool {
        self.in_doubt.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_asked_for_ever_more_seldom() {
        let kept = Kept::default();
        let asked = (0..1_000).filter(|_| {
            kept.doubt();
            kept.is_in_doubt() && kept.settle_doubt()
        });
        assert_eq!(asked.count(), 10);
    }
}
