//! The agents' side: requests are split and queued, the policy decides, batches leave and come back.

use super::World;
use crate::layout::Piece;
use crate::policy::{Batch, Decision};
use crate::request::{JobId, Operation, Request, RequestId};
use crate::scheduler::{Outcome, Scheduler};
use crate::sim::device::Stretch;
use crate::sim::event::Event;
use crate::sim::load::Load;
use crate::sim::network::Port;
use crate::sim::scenario::{Scenario, ScenarioError};
use crate::time::Time;

/// One forwarding agent: the real scheduler with a real policy, and its ends of the wires.
pub(super) struct Agent {
    pub(super) front: Port,
    pub(super) back: Port,
    scheduler: Scheduler,
    /// When it asked to be woken last.
    wake: Time,
}

impl Agent {
    /// The agents of a scenario; none if clients talk to the servers themselves.
    pub(super) fn all(scenario: &Scenario) -> Result<Vec<Agent>, ScenarioError> {
        let Some(forwarding) = &scenario.forwarding else { return Ok(Vec::new()) };
        let make = |agent| {
            let scheduler = forwarding.scheduler(agent, scenario.platform.servers)?;
            Ok(Agent {
                front: Port::default(),
                back: Port::default(),
                scheduler,
                wake: Time::NEVER,
            })
        };
        (0..forwarding.agents).map(make).collect()
    }
}

impl World<'_> {
    /// A request has reached its agent.
    pub(super) fn arrive(&mut self, index: u32) {
        let process = &self.processes[index as usize];
        let (file, extent, agent) = (process.file, process.extent, process.agent as usize);
        self.split(file, extent);
        self.processes[index as usize].pending = self.pieces.len() as u32;
        for at in 0..self.pieces.len() {
            let request = self.request(index, self.pieces[at]);
            self.seen.sizes.queued.add(request.length());
            self.agents[agent].scheduler.submit(self.now, request);
        }
        self.poll(agent);
    }

    /// An agent is woken, if it still wants to be.
    pub(super) fn wake(&mut self, agent: u32) {
        let agent = agent as usize;
        if self.agents[agent].wake == self.now {
            self.agents[agent].wake = Time::NEVER;
            self.poll(agent);
        }
    }

    /// A batch has come back: its processes are answered, and the agent is asked what is next.
    pub(super) fn complete(&mut self, agent: u32, batch: &Batch) {
        let agent = agent as usize;
        for request in batch.requests() {
            let outcome = Outcome { bytes: request.length(), failed: false };
            self.agents[agent].scheduler.complete(self.now, request.id, outcome);
            let index = process_of(request.id);
            let process = &mut self.processes[index as usize];
            process.pending -= 1;
            if process.pending == 0 {
                self.reply(agent, index);
            }
        }
        self.poll(agent);
    }

    /// Asks an agent's scheduler until it wants to wait.
    fn poll(&mut self, agent: usize) {
        loop {
            match self.agents[agent].scheduler.poll(self.now) {
                Decision::Issue(batch) => self.forward(agent, batch),
                Decision::Empty | Decision::WaitUntil(Time::NEVER) => {
                    self.agents[agent].wake = Time::NEVER;
                    return;
                }
                Decision::WaitUntil(at) => {
                    if self.agents[agent].wake != at {
                        self.agents[agent].wake = at;
                        self.events.push(at, Event::Wake(agent as u32));
                    }
                    return;
                }
            }
        }
    }

    fn forward(&mut self, agent: usize, batch: Batch) {
        for request in batch.requests() {
            self.seen.waits.add(self.now.since(request.arrived).as_nanos());
        }
        let first = batch.first();
        let application = &self.applications[first.job.0 as usize];
        let start = application.place_of(first.file) + first.local;
        let stretch = Stretch { start, bytes: batch.bytes(), operation: first.operation };
        let mut load = Load::new(self.now, agent as u32, first.server, stretch);
        self.seen.moved(agent as u32, first.file, first.extent.offset);
        load.batch = Some(batch);
        self.send(load);
    }

    /// Sends the answer to a process.
    fn reply(&mut self, agent: usize, index: u32) {
        let process = &self.processes[index as usize];
        let payload = match self.applications[process.job as usize].job.operation {
            Operation::Read => process.extent.length,
            Operation::Write => 0,
        };
        let (from, to) = (&mut self.agents[agent].front, &mut self.nodes[process.node as usize]);
        let at = self.scenario.platform.front.send(self.now, from, to, payload);
        self.events.push(at, Event::Answer(index));
    }

    fn request(&mut self, index: u32, piece: Piece) -> Request {
        let process = &self.processes[index as usize];
        let application = &self.applications[process.job as usize];
        self.submitted += 1;
        Request {
            id: RequestId(self.submitted << PROCESS_BITS | u64::from(index)),
            file: process.file,
            job: JobId(u64::from(process.job)),
            server: piece.server.expect("a striped file has a server for every byte"),
            operation: application.job.operation,
            extent: piece.extent,
            local: piece.local,
            arrived: self.now,
        }
    }
}

/// The process that a request belongs to is part of its id, so that nothing needs to be looked up.
const fn process_of(id: RequestId) -> u32 {
    (id.0 & ((1 << PROCESS_BITS) - 1)) as u32
}

/// As many as an event can name.
const PROCESS_BITS: u32 = 24;
