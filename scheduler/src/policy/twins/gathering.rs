//! What goes together, and until when it waits for that.

use super::Twins;

use crate::room::{Limit, Room};
use crate::time::{Span, Time};

impl Twins {
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
            // Those that are about to come are waited for, but every window is used.
            let quarter = Span::from_nanos(self.settings.window.as_nanos() / 4);
            (since + quarter).min(self.grid.begin() + quarter * 2)
        } else if room.in_flight(server) > 0 {
            self.grid.end()
        } else {
            // Nobody waits for longer than what is gained would take.
            (since + self.rates[server.index()].usual()).min(self.grid.end())
        };
        let members = self.company(room, slot).requests;
        (now < until && members < self.batch.requests).then_some((until, members))
    }
}
