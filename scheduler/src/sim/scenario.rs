//! What is simulated: the machines, the jobs and the policy, and what is wrong with them if anything.

use std::fmt;

use super::device::Device;
use super::event::Events;
use super::forwarding::Forwarding;
use super::network::Link;
use super::server::Congestion;
use super::workload::Job;
use crate::layout::{Layout, LayoutError};
use crate::policy::OutOfRange;
use crate::request::ServerId;

/// A simulation to run. Everything that the outcome depends on is in here.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where all random numbers come from.
    pub seed: u64,
    /// The machines.
    pub platform: Platform,
    /// The forwarding layer; `None`: clients talk to the servers themselves.
    pub forwarding: Option<Forwarding>,
    /// The applications.
    pub jobs: Vec<Job>,
    /// Whether to keep every batch for a picture. Costs memory in proportion to the run.
    pub timeline: bool,
}

impl Scenario {
    /// Refuses what cannot be simulated.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.platform.check()?;
        at_least_one("the number of jobs", self.jobs.len() as u64)?;
        if let Some(forwarding) = &self.forwarding {
            at_least_one("the number of agents", forwarding.agents.into())?;
            if let Some(dispatch) = &forwarding.dispatch {
                at_least_one("the number of lists under way", dispatch.threads.into())?;
                at_least_one("the number of requests in a list", dispatch.list.into())?;
            }
        }
        for (job, parameters) in self.jobs.iter().enumerate() {
            check_job(job, parameters)?;
        }
        let sum = |of: fn(&Job, u64) -> u64| {
            self.jobs.iter().fold(0_u64, |sum, job| sum.saturating_add(of(job, self.platform.unit)))
        };
        let processes = sum(|job, _| job.processes.into());
        at_most("processes", processes, Events::INDEX_MAX as u64)?;
        at_most("pieces on their way", sum(pieces), Events::INDEX_MAX as u64)?;
        at_most("bytes", sum(|job, _| job.bytes()), Layout::LIMIT / 2)?;
        let senders = self.forwarding.as_ref().map_or(processes, |some| some.agents.into());
        at_most("senders", senders.saturating_mul(self.platform.servers.into()), SENDERS_MAX)
    }
}

fn check_job(job: usize, parameters: &Job) -> Result<(), ScenarioError> {
    at_least_one("the number of processes", parameters.processes.into())?;
    at_least_one("the number of processes on a node", parameters.per_node.into())?;
    at_least_one("the request size", parameters.request)?;
    if !parameters.volume.is_multiple_of(parameters.request) {
        return Err(ScenarioError::Uneven { job });
    }
    match parameters.volume.checked_mul(parameters.processes.into()) {
        Some(_) => Ok(()),
        None => Err(ScenarioError::TooLarge("bytes")),
    }
}

/// The most pieces that a job can have on their way: a request of each process, which has a piece more
/// than it has units if it begins inside one.
fn pieces(job: &Job, unit: u64) -> u64 {
    job.request.div_ceil(unit).saturating_add(1).saturating_mul(job.processes.into())
}

const fn at_most(what: &'static str, value: u64, most: u64) -> Result<(), ScenarioError> {
    if value > most { Err(ScenarioError::TooLarge(what)) } else { Ok(()) }
}

const fn at_least_one(what: &'static str, value: u64) -> Result<(), ScenarioError> {
    if value == 0 { Err(ScenarioError::Zero(what)) } else { Ok(()) }
}

/// The machines and the wires between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Number of data servers.
    pub servers: u32,
    /// Stripe unit of every file, in bytes. Files are striped over all servers; the first unit of file k
    /// is on server k mod n.
    pub unit: u64,
    /// What each server stores on.
    pub device: Device,
    /// What a crowd of senders costs a server.
    pub congestion: Congestion,
    /// Between clients and agents.
    pub front: Link,
    /// Between agents and servers, or clients and servers where there are no agents.
    pub back: Link,
}

impl Platform {
    /// The layout of file 0. Those of the others are the same, turned by one server each.
    pub(super) fn layout(&self) -> Result<Layout, LayoutError> {
        Layout::round_robin(self.unit, (0..self.servers).map(ServerId).collect())
    }

    fn check(&self) -> Result<(), ScenarioError> {
        at_least_one("the number of servers", self.servers.into())?;
        at_least_one("the stripe unit", self.unit)?;
        at_most("bytes in a stripe unit", self.unit, UNIT_MAX)?;
        at_least_one("the device's number of channels", self.device.channels.into())?;
        at_least_one("the device's span", self.device.span)
    }
}

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioError {
    /// A number that must be at least one is zero.
    Zero(&'static str),
    /// A process's volume is not a multiple of its request size.
    Uneven {
        /// The job, by its place in the list.
        job: usize,
    },
    /// More processes, agents or bytes than the simulator can number.
    TooLarge(&'static str),
    /// The stripes make no sense.
    Layout(LayoutError),
    /// There is no policy of this name.
    UnknownPolicy(String),
    /// A policy cannot be set up like this.
    Setup(OutOfRange),
    /// Nothing will ever happen again, though requests wait: the policy holds them for ever.
    Stuck {
        /// How many processes still wait for an answer.
        waiting: usize,
    },
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Zero(what) => write!(f, "{what} is 0; it must be at least 1"),
            ScenarioError::Uneven { job } => {
                write!(f, "job {job}: the volume is not a multiple of the request size")
            }
            ScenarioError::TooLarge(what) => write!(f, "too many {what}"),
            ScenarioError::Layout(error) => write!(f, "stripes: {error}"),
            ScenarioError::UnknownPolicy(name) => write!(f, "there is no policy \"{name}\""),
            ScenarioError::Setup(error) => write!(f, "policy: {error}"),
            ScenarioError::Stuck { waiting } => {
                write!(f, "the policy holds the requests of {waiting} processes for ever")
            }
        }
    }
}

impl std::error::Error for ScenarioError {}

impl From<LayoutError> for ScenarioError {
    fn from(error: LayoutError) -> ScenarioError {
        ScenarioError::Layout(error)
    }
}

/// Files are laid out in whole units on the devices: millions of them must fit 64 bits.
const UNIT_MAX: u64 = 1 << 32;
/// Every server counts the work of every sender.
const SENDERS_MAX: u64 = 1 << 28;
