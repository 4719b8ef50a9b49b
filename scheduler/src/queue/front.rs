//! The front of a line: the requests that are near enough to their turn to be known as neighbours.

use super::{Line, NIL, Neighbours, Pages};

/// How far into one line its requests are entered among the neighbours.
///
/// A line may be long, and most of it cold memory; what is far back will not leave soon. So the
/// neighbours know the next so many of a line only, and the others as these leave. A short line is
/// not entered at all: to look through it when its turn comes costs less.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    /// The first request that is not entered, if there is one; nothing while none is entered.
    unseen: u32,
    seen: u32,
}

impl Front {
    /// The front of an empty line.
    pub const fn new() -> Front {
        Front { unseen: NIL, seen: 0 }
    }

    /// Whether the line is long enough to be entered.
    #[inline]
    pub const fn is_entered(&self) -> bool {
        self.seen > 0
    }

    /// Takes note that the request at `slot` has come to the end of the line.
    #[inline]
    pub fn join(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line, slot: u32) {
        if self.seen == 0 {
            if line.len() <= sight.short() {
                return;
            }
            self.unseen = line.head().unwrap_or(NIL);
        } else if self.unseen == NIL {
            self.unseen = slot;
        }
        self.extend(sight, pages, line);
    }

    /// Forgets a line whose turn ends if it has become short: half as long as one that is entered, so
    /// that no line comes and goes with every turn.
    pub fn hide(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line) {
        if self.seen == 0 || line.len() > sight.short() / 2 {
            return;
        }
        let mut next = line.head();
        while let Some(slot) = next.filter(|&slot| slot != self.unseen) {
            sight.remove(pages, slot);
            next = pages.following(line, slot);
        }
        *self = Front::new();
    }

    /// Forgets the request at `slot`, which is about to leave the line.
    #[inline]
    pub fn leave(&mut self, sight: &mut Neighbours, pages: &Pages, line: &Line, slot: u32) {
        if self.seen == 0 {
            return;
        }
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
