//! The forwarding layer of the TWINS thesis: IOFSL's daemons with the schedulers that were tried in them.

use crate::policy::{
    Decision, Directive, Fifo, Hbrr, HbrrSettings, Load, Mlf, MlfSettings, Policy, Setup, Sjf,
    SjfSettings, Sw, SwSettings, Twins, TwinsSettings,
};
use crate::request::{Request, RequestId};
use crate::room::{Limit, Room};
use crate::sim::forwarding::{Dispatch, Forwarding, Library};
use crate::sim::random::Random;
use crate::time::{Span, Time};

/// A scheduler of the thesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// IOFSL's own, in order of arrival.
    Fifo,
    /// IOFSL's own, files in turn.
    Hbrr,
    /// Time order: FIFO, but through the AGIOS library.
    To,
    /// Shortest job first, through AGIOS.
    Sjf,
    /// Multilevel feedback, through AGIOS.
    Mlf,
    /// Server windows of this length, through AGIOS.
    Sw(Span),
    /// Server time windows of this length, through AGIOS.
    Twins(Span),
}

impl Published {
    /// The daemons of the thesis with this scheduler.
    pub fn forwarding(self, agents: u32) -> Forwarding {
        let library = match self {
            Published::Fifo | Published::Hbrr => None,
            Published::To
            | Published::Sjf
            | Published::Mlf
            | Published::Sw(_)
            | Published::Twins(_) => Some(AGIOS),
        };
        Forwarding {
            each: Limit::NONE,
            total: Limit::NONE,
            dispatch: Some(Dispatch { library, ..IOFSL }),
            ..Forwarding::with(agents, move |setup: &Setup| self.policy(setup))
        }
    }

    fn policy(self, setup: &Setup) -> Box<dyn Policy> {
        match self {
            Published::Fifo | Published::To => Box::new(Fifo::new(setup)),
            Published::Hbrr => Box::new(Hbrr::new(setup, HbrrSettings::default())),
            Published::Sjf => Box::new(Sjf::new(setup, SjfSettings::default())),
            Published::Mlf => Box::new(Mlf::new(setup, MlfSettings::default())),
            Published::Sw(window) => Box::new(Sw::new(setup, SwSettings { window })),
            Published::Twins(window) => Box::new(Unlearned(twins(setup, window))),
        }
    }
}

/// TWINS as published: no bound on what is issued in a window but its end; and windows that begin
/// wherever those of an I/O node begin, because each daemon counts from its own start.
fn twins(setup: &Setup, window: Span) -> Twins {
    let settings = TwinsSettings { window, blind: 1 << 30, ..TwinsSettings::default() };
    let mut twins = Twins::new(setup, settings);
    let round = window.as_nanos() * u64::from(setup.servers);
    let start = Random::new(u64::from(setup.agent), DAEMONS).below(round);
    twins.direct(Time::ZERO, &Directive::ClockOffset(start as i64));
    twins
}

/// TWINS that is never told what came back, so that it does not learn how fast the servers are.
struct Unlearned(Twins);

impl Policy for Unlearned {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn push(&mut self, now: Time, request: Request) {
        self.0.push(now, request);
    }

    fn next(&mut self, now: Time, room: &Room) -> Decision {
        self.0.next(now, room)
    }

    fn cancel(&mut self, id: RequestId) -> Option<Request> {
        self.0.cancel(id)
    }

    fn drain(&mut self) -> Vec<Request> {
        self.0.drain()
    }

    fn direct(&mut self, now: Time, directive: &Directive) {
        self.0.direct(now, directive);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn waiting_bound(&self, load: &Load) -> Span {
        self.0.waiting_bound(load)
    }
}

/// IOFSL: a thread for each core of the I/O nodes, lists of 16 as configured there, and a wake-up that
/// makes the mean list with FIFO as large as published.
const IOFSL: Dispatch =
    Dispatch { threads: 16, list: 16, pickup: Span::from_micros(60), library: None };

/// AGIOS: a wake-up and a hand-over that make the mean lists with TO and TWINS as large as published.
const AGIOS: Library = Library { wake: Span::from_micros(140), each: Span::from_micros(10) };

/// The stream of random numbers from which the daemons take the moments of their starts.
const DAEMONS: u64 = 0x10f5;
