//! Round robin: units of one size dealt out to an ordered list of servers.

use std::collections::BTreeMap;

use super::{Layout, LayoutError, Run};
use crate::request::ServerId;

/// Units of `unit` bytes; unit k is on the server in slot k mod n of the list.
///
/// A server may stand in the list more than once (Lustre calls it overstriping). It then has several
/// objects of the file, which are numbered through here as if they were one: unit by unit in file
/// order, so that no two bytes of the server have the same local offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripe {
    unit: u64,
    slots: Vec<Slot>,
}

/// One place in the list of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    server: ServerId,
    /// How many slots before this one belong to the same server.
    rank: u64,
    /// How many slots of the list belong to it in all.
    share: u64,
}

impl Stripe {
    /// Deals out units of `unit` bytes to `servers` in their order.
    pub fn new(unit: u64, mut servers: Vec<ServerId>) -> Result<Stripe, LayoutError> {
        if unit == 0 {
            return Err(LayoutError::ZeroUnit);
        }
        let Some(&first) = servers.first() else { return Err(LayoutError::NoServers) };
        if servers.iter().all(|&server| server == first) {
            // One server only, however often: the file is one stretch, and is split as one.
            servers.truncate(1);
        }
        Ok(Stripe { unit, slots: slots(&servers) })
    }

    /// How many bytes before `offset` are on the server of the given slot.
    ///
    /// For a byte of that very slot this is its local offset, and without repeated servers it is
    /// `(offset / (unit * n)) * unit + offset % unit`.
    pub(super) fn bytes_before(&self, slot: usize, offset: u64) -> u64 {
        let server = self.slots[slot];
        let (row, current) = self.row_and_slot(offset);
        let earlier = match self.slots[current] {
            here if here.server == server.server => here.rank * self.unit + offset % self.unit,
            _ => {
                self.slots[..current].iter().filter(|s| s.server == server.server).count() as u64
                    * self.unit
            }
        };
        row * server.share * self.unit + earlier
    }

    /// The number of slots.
    pub(super) fn width(&self) -> usize {
        self.slots.len()
    }

    /// The slot that holds the byte at `offset`.
    pub(super) fn slot_of(&self, offset: u64) -> usize {
        self.row_and_slot(offset).1
    }

    /// The first slot of a server, if it has one.
    pub(super) fn slot_of_server(&self, server: ServerId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.server == server)
    }

    pub(super) fn run(&self, offset: u64) -> Run {
        if let [only] = self.slots[..] {
            return Run {
                server: Some(only.server),
                start: offset,
                end: Layout::LIMIT,
                local: offset,
            };
        }
        let (row, slot) = self.row_and_slot(offset);
        let Slot { server, rank, share } = self.slots[slot];
        let within = offset % self.unit;
        Run {
            server: Some(server),
            start: offset,
            end: offset.saturating_add(self.unit - within),
            local: (row * share + rank) * self.unit + within,
        }
    }

    pub(super) fn file_offset(&self, server: ServerId, local: u64) -> Option<u64> {
        let share = self.slots[self.slot_of_server(server)?].share;
        let (row, rank) = (local / self.unit / share, local / self.unit % share);
        let slot = self.slots.iter().position(|slot| slot.server == server && slot.rank == rank)?;
        row.checked_mul(self.slots.len() as u64)?
            .checked_add(slot as u64)?
            .checked_mul(self.unit)?
            .checked_add(local % self.unit)
    }

    fn row_and_slot(&self, offset: u64) -> (u64, usize) {
        let (stripe, width) = (offset / self.unit, self.slots.len() as u64);
        (stripe / width, (stripe % width) as usize)
    }
}

fn slots(servers: &[ServerId]) -> Vec<Slot> {
    let mut seen: BTreeMap<ServerId, u64> = BTreeMap::new();
    let mut slots = Vec::with_capacity(servers.len());
    for &server in servers {
        let count = seen.entry(server).or_default();
        slots.push(Slot { server, rank: *count, share: 0 });
        *count += 1;
    }
    for slot in &mut slots {
        slot.share = seen[&slot.server];
    }
    slots
}
