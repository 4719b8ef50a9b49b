//! What goes together, and until when it waits for that.

use super::Twins;

use crate::request::ServerId;
use crate::room::{Limit, Room};
use crate::time::{Span, Time};

impl Twins {
    /// Whose turn it is at a server: the oldest request, or where requests are gathered whoever of its
    /// file is furthest behind. Whoever is ahead can wait for those behind, never the other way round.
    pub(super) fn leader(&self, now: Time, server: ServerId) -> Option<u32> {
        let oldest = self.queues.lines().queue(server).head()?;
        let gathers = self.settings.gather && !self.grid.is_single();
        let request = self.queues.lines().get(oldest);
        if !gathers || !self.companies[server.index()].goes_together(&request) {
            return Some(oldest);
        }
        let round = self.settings.window * u64::from(self.grid.groups());
        let age = now.since(request.arrived);
        if age > round * OVERTAKEN { Some(oldest) } else { self.queues.hindmost(server) }
    }

    /// Whether a server can do a request before the window ends, and where requests are gathered
    /// all that goes with it: what is cut off would have to be got to once more.
    pub(super) fn fits(&self, now: Time, room: &Room, slot: u32) -> bool {
        let request = self.queues.lines().get(slot);
        let bytes = if self.settings.gather {
            self.company(room, slot).bytes.max(request.length())
        } else {
            request.length()
        };
        self.capacity(now, room, request.server) >= bytes
    }

    /// What would go with a request, itself included, if the window had no end.
    fn company(&self, room: &Room, slot: u32) -> Limit {
        let limit = room.left(self.queues.lines().get(slot).server).min(self.batch);
        self.queues.company(slot, limit)
    }

    /// Until when a request waits for those that went before it, if it does, and with how many.
    pub(super) fn held(&self, now: Time, room: &Room, slot: u32) -> Option<(Time, u32)> {
        if !self.settings.gather || self.grid.is_single() {
            return None;
        }
        let request = self.queues.lines().get(slot);
        let server = request.server;
        let company = &self.companies[server.index()];
        let since = company.since(&request)?;
        let until = if !company.has_gone(self.grid.begin()) {
            self.until_first(since)
        } else if room.in_flight(server) > 0 {
            self.grid.end()
        } else {
            // Nobody waits for longer than what is gained would take.
            (since + self.rates[server.index()].usual()).min(self.grid.end())
        };
        let members = self.company(room, slot).requests;
        (now < until && members < self.batch.requests).then_some((until, members))
    }

    /// Until when the first batch of a window waits for those that are about to come. Every window is
    /// used, and better soon; but those that come late come together as well.
    fn until_first(&self, since: Time) -> Time {
        let part = |parts| Span::from_nanos(self.settings.window.as_nanos() / 16 * parts);
        let early = (since + part(4)).min(self.grid.begin() + part(8));
        let late = (since + part(1)).min(self.grid.begin() + part(15));
        early.max(late)
    }
}

/// Rounds of windows after which the oldest request is not overtaken any more.
pub(super) const OVERTAKEN: u64 = 2;
