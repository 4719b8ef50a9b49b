//! The servers' side: loads reach a server, wait, are served and go back.

use super::World;
use crate::request::ServerId;
use crate::sim::event::Event;
use crate::sim::load::{Freight, Load};
use crate::sim::network::Port;

impl World<'_> {
    /// Puts a load on the wire.
    pub(super) fn send(&mut self, load: Load) {
        self.seen.sizes.arriving_servers.add(load.stretch.bytes);
        let (now, link) = (self.now, self.scenario.platform.back);
        let (from, to) = self.ends(load.sender, load.server);
        let at = link.send(now, from, to, load.outbound());
        let index = self.loads.insert(load);
        self.events.push(at, Event::Reach(index));
    }

    /// A load has reached its server.
    pub(super) fn reach(&mut self, index: u32) {
        let sender = self.loads.get(index).sender;
        let source = self.source(sender);
        let load = self.loads.get(index);
        let server = load.server.index();
        self.servers[server].enqueue(self.now, load.command(index, source));
        self.begin(server);
    }

    /// The device has finished a load: the answer goes back, and the next one is begun.
    pub(super) fn done(&mut self, index: u32) {
        let load = self.loads.get(index);
        let (sender, server, payload) = (load.sender, load.server, load.inbound());
        let bytes = load.stretch.bytes;
        let source = self.source(sender);
        self.servers[server.index()].finish(self.now, source, bytes);
        let (now, link) = (self.now, self.scenario.platform.back);
        let (to, from) = self.ends(sender, server);
        let at = link.send(now, from, to, payload);
        self.events.push(at, Event::Return(index));
        self.begin(server.index());
    }

    /// The answer of a server has reached the sender.
    pub(super) fn returned(&mut self, index: u32) {
        let load = self.loads.remove(index);
        if self.scenario.timeline {
            self.seen.timeline.push(load.bar());
        }
        match load.freight {
            Freight::Batch(batch) => self.complete(load.sender, &batch),
            Freight::List(list, _) => self.list_answered(load.sender, list),
            Freight::Own => {
                let process = &mut self.processes[load.sender as usize];
                process.pending -= 1;
                if process.pending == 0 {
                    self.answer(load.sender);
                }
            }
        }
    }

    /// The machine that a sender is: an agent, or the node that a process runs on.
    fn source(&self, sender: u32) -> u32 {
        if self.agents.is_empty() { self.processes[sender as usize].node } else { sender }
    }

    /// The ports of a sender and a server.
    fn ends(&mut self, sender: u32, server: ServerId) -> (&mut Port, &mut Port) {
        let sender = sender as usize;
        let near = match self.agents.get_mut(sender) {
            Some(agent) => &mut agent.back,
            None => &mut self.nodes[self.processes[sender].node as usize],
        };
        (near, &mut self.servers[server.index()].port)
    }

    /// Lets the server's device begin as much as it can.
    fn begin(&mut self, server: usize) {
        while let Some((index, at)) = self.servers[server].begin(self.now) {
            let load = self.loads.get(index);
            load.begun = self.now;
            load.done = at;
            self.events.push(at, Event::Done(index));
        }
    }
}
