//! The front of a line: the requests that are near enough to their turn to be known as neighbours.

use super::{Line, NIL, Neighbours, Pages};

/// How far into one line its requests are entered among the neighbours.
///
/// A line may be long, and most of it cold memory; what is far back will not leave soon. So the
/// neighbours know the next so many of a line only, and the others as these leave. Likewise where
/// there are many short lines: then those are entered when their turn begins, and forgotten when it
/// ends.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    /// The first request that is not entered, if there is one.
    unseen: u32,
    seen: u32,
}

impl Front {
    /// The front of an empty line.
    pub const fn new() -> Front {
        Front { unseen: NIL, seen: 0 }
    }

    /// Takes note that the request at `slot` has come to the end of the line.
    #[inline]
    pub fn join(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line, slot: u32) {
        if self.unseen == NIL {
            self.unseen = slot;
        }
        if self.seen > 0 || !sight.spares(line.len()) {
            self.extend(sight, pages, line);
        }
    }

    /// Enters a line that has its turn, unless there is a single request in it.
    #[inline]
    pub fn show(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line) {
        if line.len() > 1 {
            self.extend(sight, pages, line);
        }
    }

    /// Forgets a line whose turn ends, if it is short.
    pub fn hide(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line) {
        if self.seen == 0 || !sight.spares(line.len()) {
            return;
        }
        let mut next = line.head();
        while let Some(slot) = next.filter(|&slot| slot != self.unseen) {
            sight.remove(pages, slot);
            next = pages.following(line, slot);
        }
        (self.unseen, self.seen) = (line.head().unwrap_or(NIL), 0);
    }

    /// Forgets the request at `slot`, which is about to leave the line.
    #[inline]
    pub fn leave(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line, slot: u32) {
        if self.unseen == slot {
            self.unseen = pages.following(line, slot).unwrap_or(NIL);
        } else if self.unseen == NIL || pages.order(slot) < pages.order(self.unseen) {
            sight.remove(pages, slot);
            self.seen -= 1;
            self.extend(sight, pages, line);
        }
    }

    #[inline]
    fn extend(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line) {
        while self.unseen != NIL && self.seen < sight.look_ahead() {
            sight.add(pages, self.unseen);
            self.seen += 1;
            self.unseen = pages.following(line, self.unseen).unwrap_or(NIL);
        }
    }
}

impl Default for Front {
    fn default() -> Self {
        Front::new()
    }
}
