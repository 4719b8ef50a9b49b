//! Keeps the order of requests that conflict: same file, a byte in common, one of them a write.
//!
//! A newcomer waits for every conflicting request before it, save those that a later write covers
//! and so waits for already. The cost is logarithmic in the live requests of the file, plus one step
//! for each conflict. A file with nothing but reads pays for a list only: its reads are sorted when
//! the first write comes, each at most once.

mod tree;

pub(crate) use tree::{Node, State};

use crate::queue::{NIL, Slab, Table, mix, spread};
use crate::request::{FileId, Operation, Request, RequestId};
use tree::{Place, Tree};

/// Every request that is queued, waiting or in flight, by its id and by what it touches.
#[derive(Debug, Default)]
pub(crate) struct Hazards {
    live: Tree,
    ids: Table,
    files: Slab<File>,
    names: Table,
    edges: Slab<Edge>,
    found: Vec<u32>,
}

/// The live requests of one file.
#[derive(Clone, Copy, Debug)]
struct File {
    id: FileId,
    live: u32,
    writes_live: u32,
    /// Reads that no write has looked for yet: a list, not a tree.
    loose: u32,
    reads: u32,
    writes: u32,
}

/// "When you are done, tell this one": an element of a list of successors.
#[derive(Clone, Copy, Debug)]
struct Edge {
    successor: u32,
    next: u32,
}

impl Hazards {
    /// Enters a request, whose id must be new, and returns its slot and whether it must wait.
    pub(crate) fn enter(&mut self, request: &Request) -> (u32, bool) {
        let file = self.file(request.file);
        let slot = self.live.insert(file, request);
        self.ids.insert(spread(request.id.0), slot);
        self.files.get_mut(file).live += 1;
        match request.operation {
            Operation::Read => self.enter_read(file, slot),
            Operation::Write => self.enter_write(file, slot),
        }
        (slot, self.live.node(slot).waits > 0)
    }

    /// Takes a request out and appends to `freed` the slots that waited for nothing else.
    pub(crate) fn leave(&mut self, slot: u32, freed: &mut Vec<u32>) {
        self.take_out(slot);
        let node = self.live.remove(slot);
        if node.state != State::Ghost {
            self.ids.remove(spread(node.id.0), |found| found == slot);
        }
        self.release(node.successors, freed);
        let file = self.files.get_mut(node.file);
        file.live -= 1;
        file.writes_live -= u32::from(node.operation == Operation::Write);
        if file.live == 0 {
            let id = self.files.remove(node.file).id;
            self.names.remove(mix(id.0), |found| found == node.file);
        }
    }

    /// Makes a parked request a mere link between those it waits for and those that wait for it.
    pub(crate) fn hollow(&mut self, slot: u32) {
        let node = self.live.node_mut(slot);
        node.state = State::Ghost;
        let id = node.id;
        self.ids.remove(spread(id.0), |found| found == slot);
    }

    /// The slot of the request with this id.
    pub(crate) fn find(&self, id: RequestId) -> Option<u32> {
        self.ids.find(spread(id.0), |slot| self.live.node(slot).id == id)
    }

    /// What is known of the request at a slot.
    pub(crate) fn node(&self, slot: u32) -> &Node {
        self.live.node(slot)
    }

    /// Remembers where a request is now.
    pub(crate) fn set_state(&mut self, slot: u32, state: State) {
        self.live.node_mut(slot).state = state;
    }

    fn release(&mut self, mut edge: u32, freed: &mut Vec<u32>) {
        while edge != NIL {
            let Edge { successor, next } = self.edges.remove(edge);
            let waits = &mut self.live.node_mut(successor).waits;
            *waits -= 1;
            if *waits == 0 {
                freed.push(successor);
            }
            edge = next;
        }
    }

    fn enter_read(&mut self, file: u32, slot: u32) {
        let File { writes_live, loose, reads, writes, .. } = *self.files.get(file);
        if writes_live == 0 {
            self.live.link(loose, slot);
            self.files.get_mut(file).loose = slot;
            return;
        }
        self.wait_for_all(writes, slot);
        let root = self.live.plant(reads, slot);
        self.files.get_mut(file).reads = root;
    }

    fn enter_write(&mut self, file: u32, slot: u32) {
        self.sort_loose(file);
        self.files.get_mut(file).writes_live += 1;
        for operation in [Operation::Read, Operation::Write] {
            let root = *self.files.get_mut(file).root(operation);
            self.wait_for_all(root, slot);
            self.supersede(file, operation, slot);
        }
        let root = self.live.plant(self.files.get(file).writes, slot);
        self.files.get_mut(file).writes = root;
    }

    /// Puts the reads of a file that were only listed so far into its tree.
    fn sort_loose(&mut self, file: u32) {
        let File { mut loose, mut reads, .. } = *self.files.get(file);
        while loose != NIL {
            let next = self.live.following(loose);
            reads = self.live.plant(reads, loose);
            loose = next;
        }
        let record = self.files.get_mut(file);
        (record.loose, record.reads) = (NIL, reads);
    }

    /// Makes `slot` wait for each request of a tree that overlaps it; leaves them in `found`.
    fn wait_for_all(&mut self, root: u32, slot: u32) {
        self.found.clear();
        let extent = self.live.node(slot).extent;
        self.live.overlapping(root, extent, &mut self.found);
        for &predecessor in &self.found {
            let next = self.live.node(predecessor).successors;
            let edge = self.edges.insert(Edge { successor: slot, next });
            self.live.node_mut(predecessor).successors = edge;
        }
        let count = u32::try_from(self.found.len()).expect("as many as slots, which are u32");
        self.live.node_mut(slot).waits += count;
    }

    /// Takes out of its tree whatever of `found` the write at `slot` covers: who conflicts with
    /// that conflicts with the write, which waits for it. So a block that is written over and over
    /// never has more than one write in the tree.
    fn supersede(&mut self, file: u32, operation: Operation, slot: u32) {
        let extent = self.live.node(slot).extent;
        let mut root = *self.files.get_mut(file).root(operation);
        for &covered in &self.found {
            if self.live.node(covered).extent.is_within(extent) {
                root = self.live.uproot(root, covered);
            }
        }
        *self.files.get_mut(file).root(operation) = root;
    }

    /// Takes a slot out of the tree or list that it is in, if it is in one.
    fn take_out(&mut self, slot: u32) {
        let Node { place, operation, file, .. } = *self.live.node(slot);
        let file = self.files.get_mut(file);
        match place {
            Place::Nowhere => {}
            Place::List => file.loose = self.live.unlink(file.loose, slot),
            Place::Tree => {
                let root = file.root(operation);
                *root = self.live.uproot(*root, slot);
            }
        }
    }

    fn file(&mut self, id: FileId) -> u32 {
        let files = &self.files;
        if let Some(file) = self.names.find(mix(id.0), |slot| files.get(slot).id == id) {
            return file;
        }
        let (loose, reads, writes) = (NIL, NIL, NIL);
        let file = self.files.insert(File { id, live: 0, writes_live: 0, loose, reads, writes });
        self.names.insert(mix(id.0), file);
        file
    }
}

impl File {
    fn root(&mut self, operation: Operation) -> &mut u32 {
        match operation {
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
        }
    }
}
