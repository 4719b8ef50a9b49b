//! Server window: requests sorted by the time window they arrived in, then by server.
//!
//! Published by Bez et al. (2017) after an idea of Song et al. (2011), and kept for comparison: it
//! focuses an agent on one server after the other, but nothing keeps two agents apart.
//!
//! Waiting bound: that of `fifo`, where those that arrive within one window behind a request may
//! overtake it.

use crate::policy::{Batch, Decision, Directive, Load, OutOfRange, Policy, Setup};
use crate::queue::Lines;
use crate::request::{Request, RequestId};
use crate::room::Room;
use crate::time::{Span, Time};

/// Settings of [`Sw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwSettings {
    /// Length of a window. Default 1 s, the value of the publication; 1 us to 1 h.
    pub window: Span,
}

impl SwSettings {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless("window", self.window.as_nanos(), 1_000, 3_600_000_000_000)
    }
}

impl Default for SwSettings {
    fn default() -> Self {
        SwSettings { window: Span::from_secs(1) }
    }
}

/// One queue by priority, which for the requests of one server is that of their arrival.
#[derive(Debug)]
pub struct Sw {
    queue: Lines,
    settings: SwSettings,
}

impl Sw {
    /// An empty queue for the servers of this setup.
    pub fn new(setup: &Setup, settings: SwSettings) -> Sw {
        Sw { queue: Lines::new(setup), settings }
    }

    /// The request of the earliest window, among those of the first server, that may go now.
    fn first(&self, room: &Room) -> Option<u32> {
        if room.is_full() {
            return None;
        }
        let mut best = (u64::MAX, None);
        for slot in self.queue.heads() {
            let request = self.queue.get(slot);
            let window = request.arrived.as_nanos() / self.settings.window.as_nanos().max(1);
            if window < best.0 && room.admits(&request) {
                best = (window, Some(slot));
            }
        }
        best.1
    }
}

impl Policy for Sw {
    fn name(&self) -> &'static str {
        "sw"
    }

    fn push(&mut self, _now: Time, request: Request) {
        self.queue.push(&request);
    }

    fn next(&mut self, _now: Time, room: &Room) -> Decision {
        match self.first(room) {
            Some(slot) => Decision::Issue(Batch::one(self.queue.remove(slot))),
            None if self.is_empty() => Decision::Empty,
            None => Decision::WaitUntil(Time::NEVER),
        }
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.queue.find(id).map(|slot| self.queue.remove(slot))
    }

    fn drain(&mut self) -> Vec<Request> {
        self.queue.drain()
    }

    fn direct(&mut self, _now: Time, directive: &Directive) {
        if let Directive::Window(window) = *directive {
            let settings = SwSettings { window };
            if settings.check().is_ok() {
                self.settings = settings;
            }
        }
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        let overtaking = (load.behind)(self.settings.window);
        Load { ahead: load.ahead + overtaking, ..*load }.in_order()
    }
}
