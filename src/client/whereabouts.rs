//! On which servers files lie, as far as that had to be asked.
//!
//! A client need not know while there is room at its agent for whatever it wants. Where there is not, it
//! matters who keeps whom waiting, and the agent is asked for the layouts of those files.

use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;

use iofwd_mount::store::{HandleId, NodeId};
use iofwd_scheduler::layout::Layout;
use iofwd_scheduler::request::{Extent, ServerId};

use crate::layout::Told;
use crate::wire::call::Call;

use super::room::{Place, Purpose};

/// Bytes of a file that a call reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) node: NodeId,
    pub(super) handle: HandleId,
    extent: Extent,
}

impl Bytes {
    /// Those of a call, if it has any, with so many bytes that come or go with it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most calls are about names and attributes")]
    pub(super) fn of(call: &Call<'_>, length: usize) -> Option<Bytes> {
        let (node, handle, offset) = match call {
            Call::Read(at) => (at.node, at.handle, at.offset),
            Call::Write(at) => (at.node, at.handle, at.offset),
            _ => return None,
        };
        Some(Bytes { node, handle, extent: Extent::new(offset, length as u64) })
    }
}

/// Where files are.
#[derive(Debug, Default)]
pub(super) struct Whereabouts {
    files: DashMap<NodeId, Known>,
    is_any: AtomicBool,
}

#[derive(Debug)]
enum Known {
    /// It was asked.
    Asked,
    At(Layout),
    /// The answer says nothing of use.
    Unclear,
}

impl Whereabouts {
    /// For what such a call wants room.
    pub(super) fn purpose(&self, bytes: Option<&Bytes>) -> Purpose {
        bytes.map_or(Purpose::Little, |bytes| Purpose::Data(self.place(bytes)))
    }

    fn place(&self, bytes: &Bytes) -> Place {
        if !self.is_any.load(Ordering::Relaxed) {
            return Place::Unknown;
        }
        let known = self.files.get(&bytes.node);
        match known.as_deref() {
            None | Some(Known::Asked) => Place::Unknown,
            Some(Known::Unclear) => Place::Several,
            Some(Known::At(layout)) => one_server(layout, bytes.extent),
        }
    }

    /// Whether it is to be asked where a file is: nobody knows, or has asked.
    pub(super) fn wants(&self, node: NodeId) -> bool {
        if self.files.len() >= FILES_MOST {
            self.files.clear();
        }
        let mut is_new = false;
        self.files.entry(node).or_insert_with(|| {
            is_new = true;
            Known::Asked
        });
        is_new
    }

    /// What the agent says of a file.
    pub(super) fn learn(&self, node: NodeId, text: &[u8]) {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let told = Told::from_text(&String::from_utf8_lossy(&text[..end]));
        let known = told.and_then(|told| layout(&told)).map_or(Known::Unclear, Known::At);
        self.files.insert(node, known);
        self.is_any.store(true, Ordering::Relaxed);
    }

    /// The agent did not say. It can be asked again.
    pub(super) fn forget(&self, node: NodeId) {
        self.files.remove(&node);
    }
}

/// With servers numbered as the agent's queues are.
fn layout(told: &Told) -> Option<Layout> {
    let number = |server: &_| {
        let at = told.queues.iter().position(|queue| queue == server);
        ServerId(at.unwrap_or(told.queues.len()) as u32)
    };
    told.description.layout(&number).ok()
}

fn one_server(layout: &Layout, extent: Extent) -> Place {
    let mut servers = layout.split(extent).map(|piece| piece.server);
    match servers.next().flatten() {
        Some(first) if servers.all(|server| server == Some(first)) => Place::Server(first.0),
        _ => Place::Several,
    }
}

/// So many are remembered.
const FILES_MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Description, Engine, Server, Shape, Stripes};

    const FILE: NodeId = NodeId(7);

    fn bytes(node: NodeId, offset: u64, length: u64) -> Bytes {
        Bytes { node, handle: HandleId(1), extent: Extent::new(offset, length) }
    }

    fn told(servers: &[u32]) -> Vec<u8> {
        let servers = servers.iter().map(|number| Server::Numbered(*number)).collect();
        let shape = Shape::Stripes(Stripes { unit: 10, servers });
        let description = Description { engine: Engine::Plain, generation: 0, shape };
        let queues = (0..4).map(Server::Numbered).collect();
        let mut text = Told { description, cost: 0, queues }.to_text().into_bytes();
        text.resize(text.len() + 100, 0);
        text
    }

    #[test]
    fn bytes_are_where_the_agent_says() {
        let known = Whereabouts::default();
        assert_eq!(known.place(&bytes(FILE, 0, 5)), Place::Unknown);
        known.learn(FILE, &told(&[2, 0]));
        assert_eq!(known.place(&bytes(FILE, 0, 10)), Place::Server(2));
        assert_eq!(known.place(&bytes(FILE, 12, 3)), Place::Server(0));
        assert_eq!(known.place(&bytes(FILE, 5, 10)), Place::Several);
        assert_eq!(known.place(&bytes(NodeId(8), 0, 5)), Place::Unknown);
        known.learn(FILE, &told(&[3]));
        assert_eq!(known.place(&bytes(FILE, 5, 100)), Place::Server(3));
        known.learn(FILE, b"nonsense");
        assert_eq!(known.place(&bytes(FILE, 5, 1)), Place::Several);
    }

    #[test]
    fn it_is_asked_once_and_again_only_if_that_was_in_vain() {
        let known = Whereabouts::default();
        assert!(known.wants(FILE) && !known.wants(FILE));
        known.forget(FILE);
        assert!(known.wants(FILE));
        known.learn(FILE, &told(&[1]));
        assert!(!known.wants(FILE));
    }
}
