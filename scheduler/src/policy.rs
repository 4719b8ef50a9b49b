//! The trait every policy implements, what it is told and answers, and the list of all policies.

mod aging;
mod aioli;
mod fifo;
mod hbrr;
mod hold;
mod mlf;
mod none;
mod sjf;
mod sw;
mod to_agg;
mod twins;
mod wfq;

pub use aioli::{Aioli, AioliSettings};
pub use fifo::Fifo;
pub use hbrr::{Hbrr, HbrrSettings};
pub use mlf::{Mlf, MlfSettings};
pub use none::Noop;
pub use sjf::{Sjf, SjfSettings};
pub use sw::{Sw, SwSettings};
pub use to_agg::ToAgg;
pub use twins::{Mode, Phase, Twins, TwinsSettings};
pub use wfq::{Sharing, Wfq, WfqSettings};

pub use crate::batch::Batch;
pub use crate::room::{Limit, Room};

use std::fmt;

use crate::request::{JobId, Request, RequestId};
use crate::time::{Span, Time};

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Issue these requests, as one.
    Issue(Batch),
    /// Ask again at this time, or sooner after any arrival or completion; `Time::NEVER` means only
    /// then.
    WaitUntil(Time),
    /// Nothing is queued.
    Empty,
}

/// A request that came back: what a policy may learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The request.
    pub request: Request,
    /// When it was issued.
    pub issued: Time,
    /// Bytes that were read or written: fewer than asked for at the end of a file.
    pub bytes: u64,
    /// Whether it failed.
    pub failed: bool,
}

/// A decision made elsewhere that a policy may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Add this many nanoseconds to `now` to get the clock that all agents share.
    ClockOffset(i64),
    /// Use time windows of this length.
    Window(Span),
    /// Within a window, wait for those that went with the last batch, or do not.
    Gather(bool),
    /// Give this job this weight against the others.
    Weight(JobId, u32),
}

impl Directive {
    /// Whether this decision makes an older one void.
    pub fn replaces(&self, older: &Directive) -> bool {
        match (self, older) {
            (Directive::ClockOffset(_), Directive::ClockOffset(_)) => true,
            (Directive::Window(_), Directive::Window(_)) => true,
            (Directive::Gather(_), Directive::Gather(_)) => true,
            (Directive::Weight(job, _), Directive::Weight(before, _)) => job == before,
            (
                Directive::ClockOffset(_)
                | Directive::Window(_)
                | Directive::Gather(_)
                | Directive::Weight(..),
                _,
            ) => false,
        }
    }
}

/// What is known about the load when a request is queued, to state how long it may wait.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// Requests that are not issued yet when it is queued, for any server, parked ones included.
    pub ahead: u64,
    /// How many requests arrive within a span behind it.
    pub behind: &'a dyn Fn(Span) -> u64,
    /// Length of the largest request, in bytes.
    pub largest: u64,
    /// How many combinations of file, operation and server are queued while it waits.
    pub lanes: u64,
    /// How many jobs are queued while it waits.
    pub jobs: u64,
    /// Number of servers.
    pub servers: u64,
    /// The longest time from issue to completion of any request.
    pub service: Span,
}

impl Load<'_> {
    /// How long a request waits if none that came behind it overtakes it.
    ///
    /// Each request ahead may have to wait for its server to become idle and then for something to
    /// come back elsewhere: two service times. The same for the request itself, and one more for
    /// what was in flight already.
    pub fn in_order(&self) -> Span {
        self.service * self.ahead.saturating_mul(2).saturating_add(3)
    }

    /// How long a request waits if this many batches of its own server go first and servers take
    /// turns.
    ///
    /// Each batch may have to wait for its server to become idle, and then for every server to
    /// have a turn; so may the request itself. One more service time for what was in flight.
    pub fn in_rotation(&self, batches: u64) -> Span {
        let each = self.servers.saturating_add(1);
        self.service * each.saturating_mul(batches.saturating_add(1)).saturating_add(2)
    }
}

/// A time window of a policy: which servers are served, and until when.
///
/// With its number, that of every other window and of every other agent follows: in window `n`
/// agent `a` serves group `(n + a) % groups`, whose servers begin at `group * size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When it ends.
    pub end: Time,
    /// How long it is.
    pub length: Span,
    /// Its number, modulo the number of groups.
    pub turn: u32,
    /// Groups of servers, hence windows in a round.
    pub groups: u32,
    /// Servers in a group.
    pub size: u32,
    /// Which of the agents this is.
    pub agent: u32,
    /// Number of agents.
    pub agents: u32,
}

impl Window {
    /// The first of the servers that are served.
    pub const fn first_server(&self) -> u32 {
        (self.turn + self.agent) % self.groups * self.size
    }
}

/// An order in which queued requests are issued. A policy owns its queue.
///
/// Times never go back from call to call. No two requests in the queue or in flight conflict: the
/// scheduler around the policy sees to that.
pub trait Policy: Send {
    /// The name it is selected by: that of its file.
    fn name(&self) -> &'static str;

    /// Takes a request, whose id is new, and holds it until `next`, `cancel` or `drain` gives it
    /// back. The order of these calls is the order of arrival.
    fn push(&mut self, now: Time, request: Request);

    /// What to do now. `Issue` only within `room`; `WaitUntil` only a time after `now`; `Empty`
    /// only if nothing is queued. Asking twice changes nothing unless something is issued.
    ///
    /// The caller asks again after each arrival and completion and at the time last named.
    fn next(&mut self, now: Time, room: &Room) -> Decision;

    /// Whether a request may go out at once and alone, without being queued. If so it counts as
    /// issued from here on.
    ///
    /// Asked only while nothing is queued. It says yes only where `push` and then `next` would issue
    /// the request at this moment; to say no is always right, and costs a way through the queue.
    fn pass(&mut self, _now: Time, _room: &Room, _request: &Request) -> bool {
        false
    }

    /// Learns that a request came back, maybe one that another policy issued. A policy must not
    /// need this to make progress.
    fn complete(&mut self, _now: Time, _done: &Done) {}

    /// Gives a queued request back; nothing if it is not queued here.
    fn cancel(&mut self, id: RequestId) -> Option<Request>;

    /// Gives all queued requests back in order of arrival.
    fn drain(&mut self) -> Vec<Request>;

    /// Follows a decision made elsewhere; one that does not concern the policy is ignored.
    fn direct(&mut self, _now: Time, _directive: &Directive) {}

    /// Number of requests queued, exactly.
    fn len(&self) -> usize;

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The window that this time lies in, for a policy that has them and more than one server.
    fn window(&self, _now: Time) -> Option<Window> {
        None
    }

    /// The longest that a request may stay queued under this load, from `push` to `Issue`.
    ///
    /// It holds if every server may have at least one request in flight while the others have
    /// theirs, and if the caller keeps the promise of `next`.
    fn waiting_bound(&self, load: &Load) -> Span;
}

/// What every policy is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Number of data servers; requests name them from 0 on. 1 to 65,536: a policy keeps some
    /// state for each.
    pub servers: u32,
    /// Bound on one batch. Default 16 requests, as IOFSL sends in one list, and 4 MiB, beyond which
    /// no server gains; at least 1 of each.
    pub batch: Limit,
    /// How many requests of each queue, from its front on, are known as neighbours: merging looks no
    /// further. Default 4,096, which is more than a batch is ever made of and what a processor's
    /// cache holds for some queues; 1 to 1,048,576.
    pub look_ahead: u32,
    /// Which of the agents this is, from 0 on. Default 0.
    pub agent: u32,
    /// Number of agents that share the servers. Default 1.
    pub agents: u32,
}

impl Setup {
    /// Setup of a single agent with default bounds.
    pub const fn new(servers: u32) -> Setup {
        let batch = Limit::new(16, 4 << 20);
        Setup { servers, batch, look_ahead: 4_096, agent: 0, agents: 1 }
    }

    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless("servers", self.servers.into(), 1, 65_536)?;
        OutOfRange::unless("batch.requests", self.batch.requests.into(), 1, 1_024)?;
        OutOfRange::unless("batch.bytes", self.batch.bytes, 1, u64::MAX)?;
        OutOfRange::unless("look_ahead", self.look_ahead.into(), 1, 1 << 20)?;
        OutOfRange::unless("agents", self.agents.into(), 1, 1 << 20)?;
        OutOfRange::unless("agent", self.agent.into(), 0, u64::from(self.agents) - 1)
    }
}

/// A setting that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Name of the field.
    pub field: &'static str,
    /// What it was set to.
    pub value: u64,
    /// The least it may be.
    pub least: u64,
    /// The most it may be.
    pub most: u64,
}

impl OutOfRange {
    /// Passes a value that lies between `least` and `most`, both included.
    pub const fn unless(
        field: &'static str,
        value: u64,
        least: u64,
        most: u64,
    ) -> Result<(), OutOfRange> {
        if least <= value && value <= most {
            return Ok(());
        }
        Err(OutOfRange { field, value, least, most })
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRange { field, value, least, most } = self;
        write!(f, "{field} is {value}, must be {least} to {most}")
    }
}

impl std::error::Error for OutOfRange {}

/// A policy in the list of all: how to choose it, what it is, how to make it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name it is selected by.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Makes one with default settings.
    pub make: fn(&Setup) -> Box<dyn Policy>,
}

/// The policy of this name with default settings, if there is one.
pub fn by_name(name: &str, setup: &Setup) -> Option<Box<dyn Policy>> {
    ALL.iter().find(|entry| entry.name == name).map(|entry| (entry.make)(setup))
}

const fn entry(
    name: &'static str,
    about: &'static str,
    make: fn(&Setup) -> Box<dyn Policy>,
) -> Entry {
    Entry { name, about, make }
}

/// Every policy there is. A new one is a file and a line here.
#[rustfmt::skip]
pub const ALL: &[Entry] = &[
    entry("none", "no policy: at arrival", |s| Box::new(Noop::new(s))),
    entry("fifo", "the oldest first", |s| Box::new(Fifo::new(s))),
    entry("to-agg", "the oldest first, its neighbours with it", |s| Box::new(ToAgg::new(s))),
    entry("hbrr", "files in turn, a few merged ranges each", |s| Box::new(Hbrr::new(s, HbrrSettings::default()))),
    entry("sjf", "the file with the fewest bytes first", |s| Box::new(Sjf::new(s, SjfSettings::default()))),
    entry("mlf", "files in turn, quanta that grow", |s| Box::new(Mlf::new(s, MlfSettings::default()))),
    entry("aioli", "oldest file first, quanta that adapt", |s| Box::new(Aioli::new(s, AioliSettings::default()))),
    entry("sw", "by window of arrival, then by server", |s| Box::new(Sw::new(s, SwSettings::default()))),
    entry("twins", "time windows, one server each", |s| Box::new(Twins::new(s, TwinsSettings::default()))),
    entry("wfq", "jobs share by weight", |s| Box::new(Wfq::new(s, WfqSettings::default()))),
];
