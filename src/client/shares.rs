//! Reads and writes of one mount over several agents: each file, or each stripe of a file, has an agent.
//!
//! Names, attributes, locks, appends and everything else go to the client's own agent. A file that it opens
//! is opened at the others too, by its names, before the application has it; reads and writes then go to
//! whose turn it is. Where that cannot be done – the file has no name, has got another one, or may not be
//! opened once more – they go to the own agent: all agents serve the same files.

mod parts;
mod walk;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use dashmap::DashMap;

use iofwd_mount::reply::Answer;
use iofwd_mount::store::{Attr, HandleId, NodeId, OpenHow, ReadAt, WriteAt};
use iofwd_mount::{Caller, DataReply, Errno, Reply};

use super::Client;
use parts::{All, Finish, Gathered, Summed};
use walk::Walk;

/// What has an agent of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Each file.
    File,
    /// Each stripe of so many bytes.
    Stripe(u64),
}

/// The other agents of a mount, and what is open there.
#[derive(Debug)]
pub(super) struct Shares {
    share: Share,
    /// Which of the agents is the client's own.
    own: usize,
    /// Clients of the others, from the one behind the own on, round the list.
    others: Vec<Arc<Client>>,
    files: DashMap<HandleId, Arc<Elsewhere>>,
}

/// An open file at the other agents.
#[derive(Debug)]
pub(super) struct Elsewhere {
    inode: u64,
    /// What it is called at each of them, where it is open.
    places: Vec<OnceLock<(NodeId, HandleId)>>,
}

/// A piece of a read or write, and who does it; `None` is the own agent.
struct Piece {
    offset: u64,
    length: usize,
    at: Option<(Arc<Client>, NodeId, HandleId)>,
}

impl Client {
    /// From now on reads and writes are shared with the others, clients of the agents behind the own
    /// one, which is that of number `own` in the list.
    pub fn share(&self, share: Share, own: usize, others: Vec<Arc<Client>>) {
        let _ = self.shares.set(Arc::new(Shares { share, own, others, files: DashMap::new() }));
    }

    /// Clients of the other agents.
    pub(super) fn others(&self) -> impl Iterator<Item = &Arc<Client>> {
        self.shares.get().into_iter().flat_map(|shares| &shares.others)
    }

    /// A file that is being opened is opened elsewhere too before it is answered.
    pub(super) fn opening<T: Answer + Copy + Send + 'static>(
        &self,
        caller: &Caller,
        how: OpenHow,
        reply: Reply<T>,
        what: fn(&T) -> (HandleId, Attr),
    ) -> Reply<T> {
        let Some(shares) = self.shares.get() else { return reply };
        let (shares, holdings, caller) = (Arc::clone(shares), Arc::clone(&self.holdings), *caller);
        Reply::call(move |opened: Result<T, Errno>| {
            let Ok(opened) = opened else { return reply.send(opened) };
            let (handle, attr) = what(&opened);
            let names = holdings.names(attr.node);
            shares.open(&caller, (handle, how, &attr), names, move || reply.send(Ok(opened)));
        })
    }

    /// It was closed.
    pub(super) fn close_elsewhere(&self, handle: HandleId) {
        let Some(shares) = self.shares.get() else { return };
        let Some((_, elsewhere)) = shares.files.remove(&handle) else { return };
        for (client, place) in shares.others.iter().zip(&elsewhere.places) {
            if let Some((node, handle)) = place.get() {
                walk::close(client, *node, *handle);
            }
        }
    }

    /// Have the same asked of everybody who has the file open. What is given back stands for the own
    /// agent's answer; the first error is what is told.
    pub(super) fn everywhere(
        &self,
        handle: HandleId,
        reply: Reply<()>,
        ask: impl Fn(&Client, NodeId, HandleId, Reply<()>),
    ) -> Reply<()> {
        let Some((shares, elsewhere)) = self.elsewhere(handle) else { return reply };
        let all = All::new(reply);
        for (client, place) in shares.others.iter().zip(&elsewhere.places) {
            if let Some((node, handle)) = place.get() {
                ask(client, *node, *handle, all.one());
            }
        }
        all.one()
    }

    /// Have a read done by whose turn it is. Gives it back if that is the own agent alone.
    pub(super) fn read_elsewhere(
        &self,
        caller: &Caller,
        at: ReadAt,
        reply: DataReply,
    ) -> Option<DataReply> {
        let Some(pieces) = self.pieces(at.handle, at.offset, at.size as usize) else {
            return Some(reply);
        };
        let gathered = Gathered::new(pieces.len(), reply);
        for (number, piece) in pieces.into_iter().enumerate() {
            let reply = gathered.part(number, piece.length);
            let part = ReadAt { offset: piece.offset, size: piece.length as u32, ..at };
            match piece.at {
                Some((client, node, handle)) => {
                    client.read_own(caller, ReadAt { node, handle, ..part }, reply);
                }
                None => self.read_own(caller, part, reply),
            }
        }
        None
    }

    /// Have a write done by whose turn it is. Gives it back if that is the own agent alone: where an
    /// append lands one agent must decide.
    pub(super) fn write_elsewhere(
        &self,
        caller: &Caller,
        at: WriteAt,
        data: &[u8],
        reply: Reply<u32>,
    ) -> Option<Reply<u32>> {
        let pieces = self.pieces(at.handle, at.offset, data.len()).filter(|_| !at.append);
        let Some(pieces) = pieces else { return Some(reply) };
        let summed = Summed::new(pieces.len(), at.late, reply);
        for (number, piece) in pieces.into_iter().enumerate() {
            let reply = summed.part(number, piece.length);
            let from = (piece.offset - at.offset) as usize;
            let bytes = &data[from..from + piece.length];
            let part = WriteAt { offset: piece.offset, ..at };
            match piece.at {
                Some((client, node, handle)) => {
                    client.write_own(caller, WriteAt { node, handle, ..part }, bytes, reply);
                }
                None => self.write_own(caller, part, bytes, reply),
            }
        }
        None
    }

    fn elsewhere(&self, handle: HandleId) -> Option<(&Shares, Arc<Elsewhere>)> {
        let shares = self.shares.get()?;
        let elsewhere = shares.files.get(&handle).map(|file| Arc::clone(&file))?;
        Some((shares, elsewhere))
    }

    /// Who does what; `None` if the own agent does all of it.
    fn pieces(&self, handle: HandleId, offset: u64, length: usize) -> Option<Vec<Piece>> {
        let (shares, file) = self.elsewhere(handle)?;
        let pieces: Vec<Piece> = stretches(shares.share, offset, length)
            .map(|(offset, length)| Piece { offset, length, at: shares.place(&file, offset) })
            .collect();
        pieces.iter().any(|piece| piece.at.is_some()).then_some(pieces)
    }
}

impl Shares {
    /// The own agent has a file open: `done` is called when the others that get something of it have.
    fn open(
        &self,
        caller: &Caller,
        (handle, how, attr): (HandleId, OpenHow, &Attr),
        names: Option<VecDeque<Box<[u8]>>>,
        done: impl FnOnce() + Send + 'static,
    ) {
        let is_file = attr.mode & libc::S_IFMT == libc::S_IFREG;
        let Some(names) = names.filter(|_| is_file) else { return done() };
        let places = self.others.iter().map(|_| OnceLock::new()).collect();
        let elsewhere = Arc::new(Elsewhere { inode: attr.inode, places });
        self.files.insert(handle, Arc::clone(&elsewhere));
        let finish = Finish::new(done);
        for (number, client) in self.others.iter().enumerate() {
            if self.uses(attr.inode, number) {
                let file = (Arc::clone(&elsewhere), number);
                Walk::new(client, *caller, (how, attr), file, &finish).go(names.clone());
            }
        }
    }

    /// In words.
    pub(super) fn describe(&self) -> String {
        let agents = self.others.len() + 1;
        match self.share {
            Share::File => format!("each file by one of {agents} agents"),
            Share::Stripe(unit) => format!("stripes of {unit} bytes by {agents} agents in turn"),
        }
    }

    /// Whether an agent ever gets anything of a file.
    fn uses(&self, inode: u64, other: usize) -> bool {
        match self.share {
            Share::File => self.turn(inode, 0) == Some(other),
            Share::Stripe(_) => true,
        }
    }

    /// Which of the others has this byte of a file; `None` is the own agent. By the number in the list,
    /// so that all clients of the same list agree.
    fn turn(&self, inode: u64, offset: u64) -> Option<usize> {
        let stripe = match self.share {
            Share::File => 0,
            Share::Stripe(unit) => offset / unit,
        };
        let agents = self.others.len() as u64 + 1;
        let number = (spread(inode) % agents + stripe % agents) % agents;
        let behind_own = (number + agents - self.own as u64) % agents;
        behind_own.checked_sub(1).map(|other| other as usize)
    }

    fn place(&self, file: &Elsewhere, offset: u64) -> Option<(Arc<Client>, NodeId, HandleId)> {
        let other = self.turn(file.inode, offset)?;
        let (node, handle) = file.places.get(other)?.get()?;
        Some((Arc::clone(&self.others[other]), *node, *handle))
    }
}

/// A range, cut where another agent may follow.
fn stretches(share: Share, offset: u64, length: usize) -> impl Iterator<Item = (u64, usize)> {
    let end = offset.saturating_add(length as u64);
    let mut at = offset;
    std::iter::from_fn(move || {
        let next = match share {
            Share::File => end,
            Share::Stripe(unit) => (at / unit + 1).saturating_mul(unit).min(end),
        };
        let stretch = (at < next).then(|| (at, (next - at) as usize));
        at = next;
        stretch
    })
}

/// Files that were made one after the other go to agents as if by chance.
const fn spread(inode: u64) -> u64 {
    let mixed = inode.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_ends_of_stripes() {
        let cut = |share, offset, length| stretches(share, offset, length).collect::<Vec<_>>();
        assert_eq!(cut(Share::Stripe(10), 7, 20), [(7, 3), (10, 10), (20, 7)]);
        assert_eq!(cut(Share::Stripe(10), 10, 10), [(10, 10)]);
        assert_eq!(cut(Share::File, 7, 20), [(7, 20)]);
        assert_eq!(cut(Share::Stripe(10), 7, 0), []);
        assert_eq!(cut(Share::Stripe(4096), u64::MAX - 1, 5), [(u64::MAX - 1, 1)]);
    }

    #[test]
    fn files_are_spread() {
        let mut counts = [0; 4];
        (1000..1400).for_each(|inode| counts[(spread(inode) % 4) as usize] += 1);
        assert!(counts.iter().all(|count| (60..=140).contains(count)), "{counts:?}");
    }
}
