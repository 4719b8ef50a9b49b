//! Keeps the order of requests that conflict: same file, a byte in common, one of them a write.
//!
//! A newcomer waits for every conflicting request before it, save those that a later write covers
//! and so waits for already. The cost is logarithmic in the number of live requests, for each size
//! class that the file has, plus a step for each conflict or near miss. A file with nothing but reads
//! pays for a list only: its reads are indexed when the first write comes, each at most once.

mod index;

use crate::queue::{NIL, Slab, Table, mix, spread};
use crate::request::{Extent, FileId, Operation, Request, RequestId};
use index::{Classes, Index};

/// Every request that is queued, parked or in flight, by its id and by what it touches.
#[derive(Debug, Default)]
pub(crate) struct Hazards {
    live: Slab<Node>,
    ids: Table,
    files: Slab<File>,
    names: Table,
    index: Index,
    edges: Slab<Edge>,
    found: Vec<u32>,
}

/// Where a live request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The policy has it.
    Queued,
    /// It waits for others; the number is where the request is kept.
    Parked(u32),
    /// It was cancelled while parked; it stays as a link in the chain until its turn comes.
    Ghost,
    /// It was issued; the number is where the request is kept.
    InFlight(u32),
}

/// One live request; the policy or a side table has the request itself.
#[derive(Clone, Copy, Debug)]
struct Node {
    id: RequestId,
    extent: Extent,
    state: State,
    file: u32,
    links: [u32; 2],
    operation: Operation,
    place: Place,
}

/// Where a node is found, and what its two links mean there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In its file's list of loose reads: the nodes before and behind it.
    Loose,
    /// In the index: the number of requests it waits for, and its first edge.
    Indexed,
    /// In neither, as a later write covers it: the same.
    Covered,
}

/// The live requests of one file.
#[derive(Clone, Copy, Debug)]
struct File {
    id: FileId,
    live: u32,
    writes_live: u32,
    /// First of the reads that no write has looked for yet.
    loose: u32,
    reads: Classes,
    writes: Classes,
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
        let Request { id, extent, operation, .. } = *request;
        let file = self.file(request.file);
        let (links, place) = ([0, NIL], Place::Indexed);
        let state = State::Queued;
        let slot = self.live.insert(Node { id, extent, state, file, links, operation, place });
        self.ids.insert(spread(id.0), slot);
        self.files.get_mut(file).live += 1;
        match operation {
            Operation::Read if self.files.get(file).writes_live == 0 => self.loosen(file, slot),
            Operation::Read => {
                self.wait_for_all(Operation::Write, slot);
                self.enter_index(slot);
            }
            Operation::Write => self.enter_write(file, slot),
        }
        let node = self.live.get(slot);
        (slot, node.place == Place::Indexed && node.links[WAITS] > 0)
    }

    /// Takes a request out and appends to `freed` the slots that waited for nothing else.
    pub(crate) fn leave(&mut self, slot: u32, freed: &mut Vec<u32>) {
        let Node { id, extent, state, file, links, operation, place } = self.live.remove(slot);
        if state != State::Ghost {
            self.ids.remove(spread(id.0), |found| found == slot);
        }
        match place {
            Place::Loose => self.unlink(file, links),
            Place::Indexed => self.index.remove(file, operation, extent, slot),
            Place::Covered => {}
        }
        if place != Place::Loose {
            self.release(links[SUCCESSORS], freed);
        }
        let record = self.files.get_mut(file);
        record.live -= 1;
        record.writes_live -= u32::from(operation == Operation::Write);
        if record.writes_live == 0 {
            record.writes = Classes::default();
        }
        if record.live == 0 {
            let id = self.files.remove(file).id;
            self.names.remove(mix(id.0), |found| found == file);
        }
    }

    /// Makes a parked request a mere link between those it waits for and those that wait for it.
    pub(crate) fn hollow(&mut self, slot: u32) {
        let node = self.live.get_mut(slot);
        node.state = State::Ghost;
        let id = node.id;
        self.ids.remove(spread(id.0), |found| found == slot);
    }

    /// The slot of the request with this id.
    pub(crate) fn find(&self, id: RequestId) -> Option<u32> {
        self.ids.find(spread(id.0), |slot| self.live.get(slot).id == id)
    }

    /// Where the request at a slot is.
    pub(crate) fn state(&self, slot: u32) -> State {
        self.live.get(slot).state
    }

    /// Remembers where a request is now.
    pub(crate) fn set_state(&mut self, slot: u32, state: State) {
        self.live.get_mut(slot).state = state;
    }

    fn enter_write(&mut self, file: u32, slot: u32) {
        self.index_loose(file);
        self.files.get_mut(file).writes_live += 1;
        for operation in [Operation::Read, Operation::Write] {
            self.wait_for_all(operation, slot);
            self.cover(slot);
        }
        self.enter_index(slot);
    }

    fn enter_index(&mut self, slot: u32) {
        let Node { file, operation, extent, .. } = *self.live.get(slot);
        self.index.insert(file, operation, extent, slot);
        self.files.get_mut(file).classes(operation).add(extent.length);
    }

    /// Makes `slot` wait for each request of an operation that overlaps it; leaves them in `found`.
    fn wait_for_all(&mut self, operation: Operation, slot: u32) {
        self.found.clear();
        let Node { file, extent, .. } = *self.live.get(slot);
        let classes = *self.files.get_mut(file).classes(operation);
        let (live, found) = (&self.live, &mut self.found);
        self.index.around(file, operation, classes, extent, |near| {
            if live.get(near).extent.overlaps(extent) {
                found.push(near);
            }
        });
        for &predecessor in &self.found {
            let first = &mut self.live.get_mut(predecessor).links[SUCCESSORS];
            *first = self.edges.insert(Edge { successor: slot, next: *first });
        }
        let count = u32::try_from(self.found.len()).expect("as many as slots, which are u32");
        self.live.get_mut(slot).links[WAITS] += count;
    }

    /// Takes out of the index whatever of `found` the write at `slot` covers: who conflicts with
    /// that conflicts with the write, which waits for it. So a block that is written over and over
    /// never has more than one write in the index.
    fn cover(&mut self, slot: u32) {
        let extent = self.live.get(slot).extent;
        for &covered in &self.found {
            let node = self.live.get_mut(covered);
            if node.extent.is_within(extent) {
                node.place = Place::Covered;
                self.index.remove(node.file, node.operation, node.extent, covered);
            }
        }
    }

    /// Tells the successors in a list of edges that one of those they wait for is gone.
    fn release(&mut self, mut edge: u32, freed: &mut Vec<u32>) {
        while edge != NIL {
            let Edge { successor, next } = self.edges.remove(edge);
            let waits = &mut self.live.get_mut(successor).links[WAITS];
            *waits -= 1;
            if *waits == 0 {
                freed.push(successor);
            }
            edge = next;
        }
    }

    /// Puts a read before the loose ones of its file.
    fn loosen(&mut self, file: u32, slot: u32) {
        let first = std::mem::replace(&mut self.files.get_mut(file).loose, slot);
        let node = self.live.get_mut(slot);
        (node.links, node.place) = ([NIL, first], Place::Loose);
        if first != NIL {
            self.live.get_mut(first).links[BEFORE] = slot;
        }
    }

    /// Closes the gap that a loose read with these links leaves.
    fn unlink(&mut self, file: u32, [before, behind]: [u32; 2]) {
        if behind != NIL {
            self.live.get_mut(behind).links[BEFORE] = before;
        }
        if before == NIL {
            self.files.get_mut(file).loose = behind;
        } else {
            self.live.get_mut(before).links[BEHIND] = behind;
        }
    }

    /// Enters the loose reads of a file into the index.
    fn index_loose(&mut self, file: u32) {
        let mut loose = std::mem::replace(&mut self.files.get_mut(file).loose, NIL);
        while loose != NIL {
            let node = self.live.get_mut(loose);
            let behind = node.links[BEHIND];
            (node.links, node.place) = ([0, NIL], Place::Indexed);
            self.enter_index(loose);
            loose = behind;
        }
    }

    fn file(&mut self, id: FileId) -> u32 {
        let files = &self.files;
        if let Some(file) = self.names.find(mix(id.0), |slot| files.get(slot).id == id) {
            return file;
        }
        let (reads, writes) = (Classes::default(), Classes::default());
        let new = File { id, live: 0, writes_live: 0, loose: NIL, reads, writes };
        let file = self.files.insert(new);
        self.names.insert(mix(id.0), file);
        file
    }
}

impl File {
    fn classes(&mut self, operation: Operation) -> &mut Classes {
        match operation {
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
        }
    }
}

/// The links of a node in the index or covered.
const WAITS: usize = 0;
const SUCCESSORS: usize = 1;
/// The links of a loose read.
const BEFORE: usize = 0;
const BEHIND: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{JobId, ServerId};
    use crate::time::Time;

    /// The same by brute force: all live requests in order of arrival, and who waits.
    #[derive(Default)]
    struct Model(Vec<(u32, Request)>);

    impl Model {
        fn waits(&self, at: usize) -> bool {
            self.0[..at].iter().any(|(_, earlier)| earlier.conflicts(&self.0[at].1))
        }
    }

    fn random(state: &mut u64) -> u64 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Extents of every size, from nothing to nearly all there is, often near each other.
    fn request(id: u64, state: &mut u64) -> Request {
        let length = random(state) % (1 << (random(state) % 44));
        let offset = random(state) % (1 << (random(state) % 31)) * 512;
        let write = random(state).is_multiple_of(3);
        Request {
            id: RequestId(id),
            file: FileId(random(state) % 2),
            job: JobId(0),
            server: ServerId(0),
            operation: if write { Operation::Write } else { Operation::Read },
            extent: Extent::new(offset, length),
            local: offset,
            arrived: Time::ZERO,
        }
    }

    #[test]
    fn agrees_with_brute_force_about_who_waits() {
        for seed in 0..200 {
            let (mut hazards, mut model, mut state) = (Hazards::default(), Model::default(), seed);
            for id in 0..150 {
                let new = request(id, &mut state);
                let (slot, waits) = hazards.enter(&new);
                model.0.push((slot, new));
                assert_eq!(waits, model.waits(model.0.len() - 1), "seed {seed}, {new:?}");
                let at = random(&mut state) as usize % model.0.len();
                if model.0.len() > 12 && !model.waits(at) {
                    leave(&mut hazards, &mut model, at, seed);
                }
            }
            while let Some(at) = (0..model.0.len()).find(|&at| !model.waits(at)) {
                leave(&mut hazards, &mut model, at, seed);
            }
            assert!(hazards.live.is_empty() && hazards.files.is_empty());
            assert!(hazards.edges.is_empty() && hazards.names.is_empty() && hazards.ids.is_empty());
        }
    }

    fn leave(hazards: &mut Hazards, model: &mut Model, at: usize, seed: u64) {
        let waiting: Vec<u32> =
            (0..model.0.len()).filter(|&at| model.waits(at)).map(|at| model.0[at].0).collect();
        let (slot, _) = model.0.remove(at);
        let still = |slot: &u32| {
            let at = model.0.iter().position(|(other, _)| other == slot).expect("it is live");
            model.waits(at)
        };
        let mut expected: Vec<u32> = waiting.into_iter().filter(|slot| !still(slot)).collect();
        let mut freed = Vec::new();
        hazards.leave(slot, &mut freed);
        freed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(freed, expected, "seed {seed}");
    }
}
