//! Where requests wait for some more to come before they are put into their lanes.

use super::{LaneKey, Lanes, Pool, Row, Shelf};
use crate::request::Request;

/// A few requests that came lately and are not in their lanes yet.
///
/// In a long queue the lane of a request is not in the cache, nor what is needed to find it. To find the
/// lanes of several requests costs little more than to find one, as what they need is loaded at the
/// same time. Whoever has a lobby sees to it that nothing is decided that those in it could change.
#[derive(Debug, Default)]
pub struct Lobby {
    slots: Vec<u32>,
}

impl Lobby {
    /// Nobody in it.
    pub const fn new() -> Lobby {
        Lobby { slots: Vec::new() }
    }

    /// Lets a request in, if it is worth while with so many queued: whether it did.
    #[inline]
    pub fn admit(&mut self, queued: usize, slot: u32) -> bool {
        let admits = queued > CACHED && self.slots.len() < SEATS;
        if admits {
            self.slots.push(slot);
        }
        admits
    }

    /// Whether this request is in it.
    #[inline]
    pub fn has(&self, slot: u32) -> bool {
        self.slots.contains(&slot)
    }

    /// Whether there is a request that begins within a run, or where it ends: it could be a member.
    #[inline]
    pub fn could_join(&self, pool: &Pool, run: &[u32]) -> bool {
        if self.slots.is_empty() {
            return false;
        }
        let (first, last) = (pool.get(run[0]), pool.get(run[run.len() - 1]));
        let begin = first.local..=last.local_extent().end();
        let mut waiting = self.slots.iter().map(|&slot| pool.get(slot));
        waiting.any(|request| {
            begin.contains(&request.local) && LaneKey::object(&request) == LaneKey::object(&first)
        })
    }

    /// Whether nobody is in it.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Asks all to leave, in the order in which they came; the seats are to be given back.
    pub fn empty(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.slots)
    }

    /// Takes the seats back.
    pub fn give_back(&mut self, mut seats: Vec<u32>) {
        seats.clear();
        self.slots = seats;
    }
}

/// Begins to load the lanes of these requests, all at once. One alone would wait here for what it needs
/// instead of there. The shelf need not be loaded, as whoever is put there is only written.
pub fn approach<T: Copy + Default>(slots: &[u32], pool: &Pool, lanes: &Lanes<T>) {
    if slots.len() > 1 {
        let keys = || slots.iter().map(|&slot| LaneKey::object(&pool.get(slot)));
        keys().for_each(|key| lanes.expect(key));
        keys().filter_map(|key| lanes.guess(key)).for_each(|lane| lanes.touch(lane));
    }
}

/// Begins to load what is needed to take a request out, a step in each call: first what its lane is
/// found by, then the lane, then its place on the shelf.
pub fn advance<T: Copy + Default>(
    step: usize,
    (slot, request): (u32, &Request),
    lanes: &Lanes<T>,
    shelf: &mut Shelf,
    row: impl Fn(&T) -> &Row,
) {
    let key = LaneKey::object(request);
    match step {
        1 => lanes.expect(key),
        2 => {
            if let Some(lane) = lanes.guess(key) {
                lanes.touch(lane);
            }
        }
        3 => {
            if let Some(lane) = lanes.guess(key) {
                shelf.touch(row(lanes.get(lane)), slot, request.local);
            }
        }
        _ => {}
    }
}

/// Requests that are in the cache anyway, more or less: there is nothing to be gained. Nothing that is
/// decided depends on it; so tests, which queue few, have it lower, to walk the way of the many.
pub const CACHED: usize = if cfg!(debug_assertions) { 4 } else { 8_192 };

/// Requests in a lobby: as many loads as a processor has under way.
const SEATS: usize = 16;
