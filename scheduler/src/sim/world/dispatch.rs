//! The stage behind an agent's policy that gathers what is issued into lists, if the agent has one.

use std::collections::VecDeque;

use super::World;
use crate::policy::Batch;
use crate::request::{Request, RequestId, ServerId};
use crate::sim::device::Stretch;
use crate::sim::event::Event;
use crate::sim::forwarding::Dispatch;
use crate::sim::load::{Freight, Load};
use crate::time::Span;

/// The dispatcher of one agent: what the policy has issued, and what is under way.
pub(super) struct Dispatcher {
    settings: Dispatch,
    queue: VecDeque<Batch>,
    lists: Vec<List>,
    free: Vec<u32>,
    /// Whether a thread is about to take a list.
    picking: bool,
}

/// A list under way: what it answers, and how many servers have not answered yet.
#[derive(Default)]
struct List {
    batches: Vec<Batch>,
    pending: u32,
}

/// What a list wants of one server.
struct Share {
    server: ServerId,
    /// Whose piece came last.
    last: RequestId,
    pieces: u32,
    stretch: Stretch,
}

impl Dispatcher {
    pub(super) fn new(settings: Dispatch) -> Dispatcher {
        let lists = (0..settings.threads).map(|_| List::default()).collect();
        let free = (0..settings.threads).rev().collect();
        Dispatcher { settings, queue: VecDeque::new(), lists, free, picking: false }
    }

    /// Takes what the policy issued.
    pub(super) fn put(&mut self, batch: Batch) {
        self.queue.push_back(batch);
    }

    /// How long to wait before the next list is taken, if a thread has to be woken for it.
    fn wake(&mut self) -> Option<Span> {
        if self.picking || self.queue.is_empty() || self.free.is_empty() {
            return None;
        }
        self.picking = true;
        Some(self.settings.pickup)
    }

    /// The next list, if there is anything to send and a thread to send it.
    fn next(&mut self) -> Option<u32> {
        let first = self.queue.pop_front()?;
        let Some(index) = self.free.pop() else {
            self.queue.push_front(first);
            return None;
        };
        let (file, operation) = (first.first().file, first.first().operation);
        let mut members = first.members();
        let list = &mut self.lists[index as usize];
        list.batches.push(first);
        while let Some(next) = self.queue.front()
            && (next.first().file, next.first().operation) == (file, operation)
            && members + next.members() <= self.settings.list as usize
        {
            members += next.members();
            list.batches.extend(self.queue.pop_front());
        }
        Some(index)
    }

    /// Notes the answer of a server; says what the list answers once all have.
    fn answered(&mut self, index: u32) -> Option<Vec<Batch>> {
        let list = &mut self.lists[index as usize];
        list.pending -= 1;
        if list.pending > 0 {
            return None;
        }
        self.free.push(index);
        Some(std::mem::take(&mut list.batches))
    }
}

impl World<'_> {
    /// Wakes a thread of an agent if there is a list to take and none is awake.
    pub(super) fn dispatch(&mut self, agent: usize) {
        if let Some(pickup) = self.dispatcher(agent).wake() {
            self.events.push(self.now + pickup, Event::Pick(agent as u32));
        }
    }

    /// A thread of an agent takes a list and sends it.
    pub(super) fn pick(&mut self, agent: u32) {
        let agent = agent as usize;
        self.dispatcher(agent).picking = false;
        if let Some(index) = self.dispatcher(agent).next() {
            self.send_list(agent, index);
        }
        self.dispatch(agent);
    }

    fn send_list(&mut self, agent: usize, index: u32) {
        let batches = std::mem::take(&mut self.dispatcher(agent).lists[index as usize].batches);
        let shares = self.shares(&batches);
        self.seen.sizes.leaving_agents.add(batches.iter().map(Batch::bytes).sum());
        let first = batches[0].first();
        self.seen.moved(agent as u32, first.file, first.extent.offset);
        let list = &mut self.dispatcher(agent).lists[index as usize];
        (list.pending, list.batches) = (shares.len() as u32, batches);
        for Share { server, pieces, stretch, .. } in shares {
            let mut load = Load::new(self.now, agent as u32, server, stretch);
            load.freight = Freight::List(index, pieces);
            self.send(load);
        }
    }

    /// A server has answered its share of a list.
    pub(super) fn list_answered(&mut self, agent: u32, list: u32) {
        let Some(batches) = self.dispatcher(agent as usize).answered(list) else { return };
        for batch in &batches {
            self.answer_members(agent as usize, batch);
        }
        self.dispatch(agent as usize);
        self.ask(agent as usize);
    }

    fn dispatcher(&mut self, agent: usize) -> &mut Dispatcher {
        let dispatcher = self.agents[agent].dispatcher.as_mut();
        dispatcher.expect("only an agent with a dispatcher has lists")
    }

    /// What a list wants of each server, in the order in which it comes upon them.
    fn shares(&mut self, batches: &[Batch]) -> Vec<Share> {
        let mut shares = Vec::new();
        for request in batches.iter().flat_map(Batch::requests) {
            self.split(request.file, request.extent);
            for at in 0..self.pieces.len() {
                let piece = self.pieces[at];
                let server = piece.server.expect("a striped file has a server for every byte");
                let place = self.place(request) + piece.local;
                self.add_piece(&mut shares, server, request, place, piece.extent.length);
            }
        }
        shares
    }

    fn add_piece(
        &self,
        shares: &mut Vec<Share>,
        server: ServerId,
        request: &Request,
        place: u64,
        bytes: u64,
    ) {
        let joins = self.scenario.platform.device.joins;
        match shares.iter_mut().find(|share| share.server == server) {
            Some(share) => {
                let touches = place == share.stretch.start + share.stretch.bytes;
                let one = touches && (joins || share.last == request.id);
                share.stretch.accesses += u32::from(!one);
                share.stretch.bytes += bytes;
                share.pieces += 1;
                share.last = request.id;
            }
            None => {
                let operation = request.operation;
                let stretch = Stretch { start: place, bytes, operation, accesses: 1 };
                shares.push(Share { server, last: request.id, pieces: 1, stretch });
            }
        }
    }
}
