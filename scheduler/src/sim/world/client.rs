//! The clients' side: processes ask, wait and ask again.

use super::World;
use crate::layout::Piece;
use crate::request::{Extent, FileId, Operation, ServerId};
use crate::sim::device::Stretch;
use crate::sim::event::Event;
use crate::sim::load::Load;
use crate::time::Span;

impl World<'_> {
    /// Puts the first request of each process on the list.
    pub(super) fn start_all(&mut self) {
        let seed = self.scenario.seed;
        for (index, process) in self.processes.iter().enumerate() {
            let start = process.start(&self.applications[process.job as usize].job, seed);
            self.events.push(start, Event::Issue(index as u32));
        }
    }

    /// A process issues its next request, or has none left.
    pub(super) fn issue(&mut self, index: u32) {
        let process = &mut self.processes[index as usize];
        let application = &self.applications[process.job as usize];
        let Some((file, extent)) = process.next(application) else { return self.finish(index) };
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
        let from = &mut self.nodes[process.node as usize];
        let to = &mut self.agents[process.agent as usize].front;
        let at = self.scenario.platform.front.send(self.now, from, to, payload);
        self.events.push(at, Event::Arrive(index));
    }

    /// The agent's answer has reached the process.
    pub(super) fn answer(&mut self, index: u32) {
        let process = &mut self.processes[index as usize];
        let application = &mut self.applications[process.job as usize];
        self.seen.latencies.add(self.now.since(process.asked).as_nanos());
        application.answered(process.extent.length);
        if process.is_done(application) {
            return self.finish(index);
        }
        match process.think(&application.job) {
            Span::ZERO => self.issue(index),
            think => self.events.push(self.now + think, Event::Issue(index)),
        }
    }

    fn finish(&mut self, index: u32) {
        let job = self.processes[index as usize].job;
        self.applications[job as usize].finished(self.now);
        self.unfinished -= 1;
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
        let start = application.place_of(process.file) + local;
        let operation = application.job.operation;
        let stretch = Stretch { start, bytes, operation, accesses: 1 };
        self.send(Load::new(self.now, index, server, stretch));
    }

    /// Splits a range into pieces, those of one server together. The first unit of each file is one
    /// server further on than that of the file before it.
    pub(super) fn split(&mut self, file: FileId, extent: Extent) {
        let servers = u64::from(self.scenario.platform.servers);
        let turned = |ServerId(server)| ServerId(((file.0 + u64::from(server)) % servers) as u32);
        self.pieces.clear();
        for piece in self.layout.split(extent) {
            self.pieces.push(Piece { server: piece.server.map(turned), ..piece });
        }
        self.pieces.sort_unstable_by_key(|piece| (piece.server, piece.local));
    }
}
