//! The simulated world: everything there is, and the loop that lets one thing happen after the other.
//!
//! A request walks through three rooms: `client` asks and is answered, `agent` queues and forwards,
//! `server` serves. Where there are no agents, clients talk to the servers themselves.

mod agent;
mod client;
mod dispatch;
mod server;

use agent::Agent;

use super::event::{Event, Events};
use super::load::Loads;
use super::network::Port;
use super::process::{Application, Process, applications, processes};
use super::random::Random;
use super::report::{Bar, Report, Sizes};
use super::scenario::{Scenario, ScenarioError};
use super::server::Server;
use super::tally::{Mean, Spread};
use crate::layout::{Layout, Piece};
use crate::request::FileId;
use crate::time::Time;

/// All that exists during a simulation.
pub(super) struct World<'a> {
    scenario: &'a Scenario,
    now: Time,
    events: Events,
    layout: Layout,
    applications: Vec<Application>,
    processes: Vec<Process>,
    /// The ports of the compute nodes.
    nodes: Vec<Port>,
    agents: Vec<Agent>,
    servers: Vec<Server>,
    loads: Loads,
    /// Wake-ups since anything else happened.
    wakes: u64,
    /// Processes that have not had all their answers.
    unfinished: usize,
    /// Pieces submitted so far.
    submitted: u64,
    /// Kept between requests, so that splitting one allocates nothing.
    pieces: Vec<Piece>,
    seen: Seen,
}

/// What the report will be made of.
#[derive(Debug, Default)]
struct Seen {
    sizes: Sizes,
    distance: Mean,
    waits: Spread,
    latencies: Spread,
    timeline: Vec<Bar>,
    /// Where each sender's last request began.
    last: Vec<Option<(FileId, u64)>>,
}

impl<'a> World<'a> {
    /// The world as it is before anything has happened.
    pub(super) fn new(scenario: &'a Scenario) -> Result<World<'a>, ScenarioError> {
        scenario.check()?;
        let processes = processes(scenario);
        let agents = Agent::all(scenario)?;
        let senders = if agents.is_empty() { processes.len() } else { agents.len() };
        let nodes = scenario.jobs.iter().map(|job| job.nodes() as usize).sum();
        Ok(World {
            scenario,
            now: Time::ZERO,
            events: Events::default(),
            layout: scenario.platform.layout()?,
            applications: applications(scenario),
            unfinished: processes.len(),
            processes,
            nodes: vec![Port::default(); nodes],
            agents,
            servers: servers(scenario),
            loads: Loads::default(),
            wakes: 0,
            submitted: 0,
            pieces: Vec::new(),
            seen: Seen { last: vec![None; senders], ..Seen::default() },
        })
    }

    /// Lets everything happen.
    pub(super) fn run(mut self) -> Result<Report, ScenarioError> {
        self.start_all();
        while let Some((at, event)) = self.events.pop() {
            assert!(at >= self.now, "virtual time went back");
            self.now = at;
            self.wakes = if let Event::Wake(_) = event { self.wakes + 1 } else { 0 };
            if self.wakes > self.wakes_max() {
                break;
            }
            match event {
                Event::Issue(process) => self.issue(process),
                Event::Arrive(process) => self.arrive(process),
                Event::Wake(agent) => self.wake(agent),
                Event::Look(agent) => self.look(agent),
                Event::Pick(agent) => self.pick(agent),
                Event::Reach(load) => self.reach(load),
                Event::Done(load) => self.done(load),
                Event::Return(load) => self.returned(load),
                Event::Answer(process) => self.answer(process),
            }
        }
        match self.unfinished {
            0 => Ok(self.report()),
            waiting => Err(ScenarioError::Stuck { waiting }),
        }
    }

    /// So many wake-ups in a row lead nowhere. A request waits for its window through one for each server
    /// at most; a policy may want some more, but not without end.
    fn wakes_max(&self) -> u64 {
        (1 << 18) + 16 * self.agents.len() as u64 * self.servers.len() as u64
    }

    fn report(self) -> Report {
        let jobs: Vec<_> = self.applications.iter().map(|application| application.report).collect();
        let start = jobs.iter().map(|job| job.start).min().unwrap_or_default();
        let end = jobs.iter().map(|job| job.end).max().unwrap_or_default();
        Report {
            makespan: end.since(start),
            jobs,
            servers: self.servers.iter().map(Server::measured).collect(),
            sizes: self.seen.sizes,
            distance: self.seen.distance,
            waits: self.seen.waits,
            latencies: self.seen.latencies,
            timeline: self.seen.timeline,
            events: self.events.count(),
        }
    }
}

impl Seen {
    /// Notes where a request of this sender begins.
    fn moved(&mut self, sender: u32, file: FileId, offset: u64) {
        if let Some((last_file, last)) = self.last[sender as usize].replace((file, offset))
            && last_file == file
        {
            self.distance.add(last.abs_diff(offset));
        }
    }
}

fn servers(scenario: &Scenario) -> Vec<Server> {
    let platform = &scenario.platform;
    let make = |index| {
        // Streams of servers are numbered from the top, those of processes from the bottom.
        let random = Random::new(scenario.seed, u64::MAX - u64::from(index));
        Server::new(platform.device, platform.congestion, random)
    };
    (0..platform.servers).map(make).collect()
}
