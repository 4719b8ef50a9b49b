//! The servers' side: loads reach a server, wait, are served and go back.

use super::World;
use crate::sim::event::Event;
use crate::sim::load::Load;

impl World<'_> {
    /// Puts a load on the wire.
    pub(super) fn send(&mut self, load: Load) {
        self.seen.sizes.arriving_servers.add(load.bytes);
        let to = &mut self.servers[load.server.index()].port;
        let from = match self.agents.get_mut(load.sender as usize) {
            Some(agent) => &mut agent.back,
            None => &mut self.nodes[self.processes[load.sender as usize].node as usize],
        };
        let at = self.scenario.platform.back.send(self.now, from, to, load.outbound());
        let index = self.loads.insert(load);
        self.events.push(at, Event::Reach(index));
    }

    /// A load has reached its server.
    pub(super) fn reach(&mut self, index: u32) {
        let load = self.loads.get(index);
        let server = load.server.index();
        self.servers[server].enqueue(self.now, load.command(index));
        self.begin(server);
    }

    /// The device has finished a load: the answer goes back, and the next one is begun.
    pub(super) fn done(&mut self, index: u32) {
        let load = self.loads.get(index);
        let server = &mut self.servers[load.server.index()];
        server.finish(self.now, load.sender, load.bytes);
        let to = match self.agents.get_mut(load.sender as usize) {
            Some(agent) => &mut agent.back,
            None => &mut self.nodes[self.processes[load.sender as usize].node as usize],
        };
        let at = self.scenario.platform.back.send(self.now, &mut server.port, to, load.inbound());
        self.events.push(at, Event::Return(index));
        let server = load.server.index();
        self.begin(server);
    }

    /// The answer of a server has reached the sender.
    pub(super) fn returned(&mut self, index: u32) {
        let load = self.loads.remove(index);
        if self.scenario.timeline {
            self.seen.timeline.push(load.bar());
        }
        match load.batch {
            Some(batch) => self.complete(load.sender, &batch),
            None => {
                let process = &mut self.processes[load.sender as usize];
                process.pending -= 1;
                if process.pending == 0 {
                    self.answer(load.sender);
                }
            }
        }
    }

    fn begin(&mut self, server: usize) {
        while let Some((index, at)) = self.servers[server].begin(self.now) {
            let load = self.loads.get(index);
            load.begun = self.now;
            load.done = at;
            self.events.push(at, Event::Done(index));
        }
    }
}
