//! The agents' side: requests are split and queued, the policy decides, batches leave and come back.

use super::World;
use super::dispatch::Dispatcher;
use crate::layout::Piece;
use crate::policy::{Batch, Decision};
use crate::request::{Extent, JobId, Operation, Request, RequestId};
use crate::scheduler::{Outcome, Scheduler};
use crate::sim::device::Stretch;
use crate::sim::event::Event;
use crate::sim::forwarding::Library;
use crate::sim::load::{Freight, Load};
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
    pub(super) dispatcher: Option<Dispatcher>,
    /// Whether its policy's thread will look at what changed.
    looking: bool,
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
                dispatcher: forwarding.dispatch.map(Dispatcher::new),
                looking: false,
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
        if self.agents[agent].dispatcher.is_some() {
            self.join(extent);
        }
        self.processes[index as usize].pending = self.pieces.len() as u32;
        for at in 0..self.pieces.len() {
            let request = self.request(index, self.pieces[at]);
            self.seen.sizes.queued.add(request.length());
            self.agents[agent].scheduler.submit(self.now, request);
        }
        self.ask(agent);
    }

    /// An agent is woken, if it still wants to be.
    pub(super) fn wake(&mut self, agent: u32) {
        let agent = agent as usize;
        if self.agents[agent].wake == self.now {
            self.agents[agent].wake = Time::NEVER;
            match self.library() {
                Some(_) if self.agents[agent].looking => {}
                Some(library) => self.hand_over(agent, library),
                None => self.poll(agent),
            }
        }
    }

    /// The thread of an agent's policy has woken up, or handed over what it had.
    pub(super) fn look(&mut self, agent: u32) {
        let library = self.library().expect("only a library has a thread that looks");
        self.hand_over(agent as usize, library);
    }

    /// A batch has come back: its processes are answered, and the agent is asked what is next.
    pub(super) fn complete(&mut self, agent: u32, batch: &Batch) {
        self.answer_members(agent as usize, batch);
        self.ask(agent as usize);
    }

    /// Something changed at an agent: its policy is asked, at once or when its thread wakes up.
    pub(super) fn ask(&mut self, agent: usize) {
        match self.library() {
            Some(_) if self.agents[agent].looking => {}
            Some(library) => {
                self.agents[agent].looking = true;
                self.events.push(self.now + library.wake, Event::Look(agent as u32));
            }
            None => self.poll(agent),
        }
    }

    fn library(&self) -> Option<Library> {
        self.scenario.forwarding.as_ref()?.dispatch?.library
    }

    /// Tells an agent's scheduler that a batch is done, and answers the processes that have all they
    /// asked for.
    pub(super) fn answer_members(&mut self, agent: usize, batch: &Batch) {
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
    }

    /// Asks an agent's scheduler until it wants to wait.
    fn poll(&mut self, agent: usize) {
        while self.poll_once(agent).is_some() {}
    }

    /// Lets the thread of an agent's policy issue one batch; it looks for more when that is handed over.
    fn hand_over(&mut self, agent: usize, library: Library) {
        let issued = self.poll_once(agent);
        self.agents[agent].looking = issued.is_some();
        if let Some(members) = issued {
            self.events.push(self.now + library.each * members, Event::Look(agent as u32));
        }
    }

    /// Asks an agent's scheduler once; says how many requests it issued, if it did not want to wait.
    fn poll_once(&mut self, agent: usize) -> Option<u64> {
        match self.agents[agent].scheduler.poll(self.now) {
            Decision::Issue(batch) => {
                let members = batch.members() as u64;
                self.forward(agent, batch);
                Some(members)
            }
            Decision::Empty | Decision::WaitUntil(Time::NEVER) => {
                self.agents[agent].wake = Time::NEVER;
                None
            }
            Decision::WaitUntil(at) => {
                if self.agents[agent].wake != at {
                    self.agents[agent].wake = at;
                    self.events.push(at, Event::Wake(agent as u32));
                }
                None
            }
        }
    }

    fn forward(&mut self, agent: usize, batch: Batch) {
        for request in batch.requests() {
            self.seen.waits.add(self.now.since(request.arrived).as_nanos());
        }
        if let Some(dispatcher) = &mut self.agents[agent].dispatcher {
            dispatcher.put(batch);
            return self.dispatch(agent);
        }
        let first = batch.first();
        let (bytes, operation) = (batch.bytes(), first.operation);
        let accesses = if self.scenario.platform.device.joins { 1 } else { batch.members() as u32 };
        let start = self.place(first) + first.local;
        let stretch = Stretch { start, bytes, operation, accesses };
        let mut load = Load::new(self.now, agent as u32, first.server, stretch);
        self.seen.sizes.leaving_agents.add(bytes);
        self.seen.moved(agent as u32, first.file, first.extent.offset);
        load.freight = Freight::Batch(batch);
        self.send(load);
    }

    /// Where on a server's device the request's file begins.
    pub(super) fn place(&self, request: &Request) -> u64 {
        self.applications[request.job.0 as usize].place_of(request.file)
    }

    /// Makes the pieces of a range one again: it belongs to the server of its first byte, and its place
    /// there is that in the file.
    fn join(&mut self, extent: Extent) {
        let first = self.pieces.iter().find(|piece| piece.extent.offset == extent.offset);
        let server = first.and_then(|piece| piece.server);
        self.pieces.clear();
        self.pieces.push(Piece { server, extent, local: extent.offset });
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
