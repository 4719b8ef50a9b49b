//! The policies in virtual time: clients, agents, wires and servers, from a laptop to a whole machine.
//!
//! The agents run the very same scheduler and policies as the program does; only the world around them
//! is imagined. One seed, one outcome, byte for byte: nothing here reads a clock or a random device, and
//! every quantity is an integer.
//!
//! What is modelled: processes in closed loops; ports that handle one message at a time in each
//! direction; devices that seek, turn and transfer; servers that suffer from a crowd of senders. What is
//! not: metadata, caches, failures, and the processors of agents beyond a cost per message.

mod device;
mod event;
mod forwarding;
mod load;
mod network;
pub mod preset;
mod process;
mod random;
mod report;
mod scenario;
mod server;
mod tally;
mod workload;
mod world;

pub use device::{Device, Stretch};
pub use forwarding::{Dispatch, Forwarding, Library, MakePolicy};
pub use network::{Link, Rate};
pub use random::Random;
pub use report::{Bar, JobReport, Report, Sizes, jain};
pub use scenario::{Platform, Scenario, ScenarioError};
pub use server::{Command, Congestion, Measured, Server};
pub use tally::{Mean, Spread};
pub use workload::{Job, Pattern};

use world::World;

/// Runs a scenario from its first request to its last answer.
///
/// ```
/// use iofwd_scheduler::request::Operation;
/// use iofwd_scheduler::sim::preset::{thesis, thesis_job};
/// use iofwd_scheduler::sim::{Forwarding, Job, Pattern, ScenarioError, run};
///
/// let whole = thesis_job(Pattern::SharedStrided, Operation::Read, 32 * 1024);
/// let job = Job { volume: 256 * 1024, ..whole };
/// let fifo = run(&thesis(job, Some(Forwarding::named("fifo", 4)?)))?;
/// let twins = run(&thesis(job, Some(Forwarding::named("twins", 4)?)))?;
/// assert!(twins.makespan < fifo.makespan);
/// assert!(twins.collisions() < fifo.collisions());
/// # Ok::<(), ScenarioError>(())
/// ```
pub fn run(scenario: &Scenario) -> Result<Report, ScenarioError> {
    World::new(scenario)?.run()
}

/// How much longer each job takes beside the others than alone, in thousandths (a thousand: no longer).
///
/// The literature calls it slowdown or interference factor. Each job is simulated once alone and all of
/// them once together.
pub fn interference(scenario: &Scenario) -> Result<Vec<u64>, ScenarioError> {
    let together = run(scenario)?;
    let factor = |(job, beside): (&Job, &JobReport)| {
        let alone = run(&Scenario { jobs: vec![*job], timeline: false, ..scenario.clone() })?;
        let alone = u128::from(alone.jobs[0].makespan().as_nanos()).max(1);
        Ok((u128::from(beside.makespan().as_nanos()) * 1000 / alone) as u64)
    };
    scenario.jobs.iter().zip(&together.jobs).map(factor).collect()
}
