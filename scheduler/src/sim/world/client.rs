//! The clients' side: processes ask, wait and ask again.

use super::World;
use crate::request::{Extent, FileId, Operation, ServerId};
use crate::sim::event::Event;
use crate::sim::load::Load;
use crate::time::Span;

impl World<'_> {
    /// Puts the first request of each process on the list.
    pub(super) fn start_all(&mut self) {
        for (index, process) in self.processes.iter_mut().enumerate() {
            let start = process.start(&self.applications[process.job as usize].job);
            self.events.push(start, Event::Issue(index as u32));
        }
    }

    /// A process issues its next request, or has none left.
    pub(super) fn issue(&mut self, index: u32) {
        let process = &mut self.processes[index as usize];
        let application = &mut self.applications[process.job as usize];
        let Some((file, extent)) = process.next(application) else {
            application.finished(self.now);
            self.unfinished -= 1;
            return;
        };
        process.asked = self.now;
        self.seen.sizes.leaving_clients.add(extent.length);
        if self.agents.is_empty() {
            self.issue_directly(index, file, extent);
            return;
        }
        let payload = match application.job.operation {
            Operation::Read => 0,
            Operation::Write => extent.length,
        };
        let node = process.node;
        let agent = self.agent_of(node);
        let (from, to) = (&mut self.nodes[node as usize], &mut self.agents[agent].front);
        let at = self.scenario.platform.front.send(self.now, from, to, payload);
        self.events.push(at, Event::Arrive(index));
    }

    /// The agent's answer has reached the process.
    pub(super) fn answer(&mut self, index: u32) {
        let process = &self.processes[index as usize];
        let application = &mut self.applications[process.job as usize];
        self.seen.latencies.add(self.now.since(process.asked).as_nanos());
        application.answered(process.extent.length);
        match application.job.think {
            Span::ZERO => self.issue(index),
            think => self.events.push(self.now + think, Event::Issue(index)),
        }
    }

    /// Sends a request to the servers that hold its bytes, one message to each.
    fn issue_directly(&mut self, index: u32, file: FileId, extent: Extent) {
        self.split(file, extent);
        let pieces = std::mem::take(&mut self.pieces);
        let mut rest = &pieces[..];
        while let Some(first) = rest.first() {
            let mut bytes = 0;
            let server = first.server.expect("a striped file has a server for every byte");
            let touching = rest.iter().take_while(|piece| {
                let touches = piece.server == first.server && piece.local == first.local + bytes;
                bytes += if touches { piece.extent.length } else { 0 };
                touches
            });
            let members = touching.count();
            self.send_directly(index, server, first.local, bytes);
            self.seen.moved(index, file, first.extent.offset);
            rest = &rest[members..];
        }
        self.pieces = pieces;
    }

    fn send_directly(&mut self, index: u32, server: ServerId, local: u64, bytes: u64) {
        let process = &mut self.processes[index as usize];
        process.pending += 1;
        let application = &self.applications[process.job as usize];
        let load = Load {
            sender: index,
            server,
            operation: application.job.operation,
            bytes,
            place: application.place_of(process.file) + local,
            issued: self.now,
            begun: self.now,
            done: self.now,
            batch: None,
        };
        self.send(load);
    }

    /// Splits a range into pieces, those of one server together.
    pub(super) fn split(&mut self, file: FileId, extent: Extent) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        pieces.extend(self.layout(file).split(extent));
        pieces.sort_unstable_by_key(|piece| (piece.server, piece.local));
        self.pieces = pieces;
    }

    /// The agent that a compute node talks to: neighbouring nodes share one.
    pub(super) fn agent_of(&self, node: u32) -> usize {
        node as usize * self.agents.len() / self.nodes.len()
    }
}
