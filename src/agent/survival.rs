//! Finding again what clients had with an agent that is no more: nodes, open files, locks.

use std::ffi::OsStr;
use std::sync::{Arc, PoisonError};

use iofwd_mount::Errno;
use iofwd_mount::store::{HandleId, LockRequest, NodeId};

use crate::backend::posix::{Directory, File, Identity};

use super::Agent;
use super::files::OpenFile;
use super::nodes::Node;
use super::state::{Opening, State, Voucher};

/// What an export leaves behind for its clients.
#[derive(Clone, Debug)]
pub struct Survival {
    pub(super) state: Arc<State>,
    /// The export's name: what is vouched for in one is worth nothing in another.
    pub(super) export: String,
}

impl Survival {
    /// What is left behind in a state directory, by the export of that name.
    pub(super) fn new(state: &Arc<State>, export: &str) -> Survival {
        Survival { state: Arc::clone(state), export: export.to_owned() }
    }
}

impl Agent {
    /// What a client shows to get the node back, or the right to have it open so; empty if there is
    /// no such thing here.
    pub(super) fn vouch(&self, id: NodeId, opening: Option<Opening>) -> Box<[u8]> {
        let (Some(survival), Ok(node)) = (&self.survival, self.nodes.get(id)) else {
            return Box::default();
        };
        let seal = |opening| {
            let voucher = Voucher::new(node.inode.remember(), opening);
            survival.state.seal(&survival.export, &voucher).into_boxed_slice()
        };
        match opening {
            None => node.voucher.get_or_init(|| seal(None)).clone(),
            opening => seal(opening),
        }
    }

    fn unseal(&self, sealed: &[u8]) -> Result<Voucher, Errno> {
        let survival = self.survival.as_ref().ok_or(Errno::ESTALE)?;
        survival.state.unseal(&survival.export, sealed).ok_or(Errno::ESTALE)
    }

    /// The node that a voucher is for, with one more reference. Where its file system cannot find
    /// it by itself it is looked for where the client saw it last.
    pub(super) fn recall(
        &self,
        sealed: &[u8],
        place: Option<(NodeId, &OsStr)>,
    ) -> Result<NodeId, Errno> {
        let voucher = self.unseal(sealed)?;
        let parent = place.and_then(|(parent, name)| Some((self.nodes.get(parent).ok()?, name)));
        let place = parent.as_ref().map(|(parent, name)| (Arc::clone(&parent.inode), *name));
        let inode = self.tree.recall(voucher.node(), place);
        Ok(self.nodes.adopt(inode).id)
    }

    /// Open again what was open.
    pub(super) fn open_again(&self, id: NodeId, sealed: &[u8]) -> Result<HandleId, Errno> {
        let voucher = self.unseal(sealed)?;
        let node = self.nodes.get(id)?;
        if voucher.node().key != node.inode.key() {
            return Err(Errno::ESTALE);
        }
        match voucher.opening.ok_or(Errno::ESTALE)? {
            Opening::File { flags, readable } => self.reopen_file(node, flags, readable),
            Opening::Directory { flags } => {
                let opened = Identity::as_agent(|| Directory::open(&node.inode, flags))?;
                Ok(self.directories.insert(opened.into()))
            }
        }
    }

    pub(super) fn reopen_file(
        &self,
        node: Arc<Node>,
        flags: i32,
        readable: bool,
    ) -> Result<HandleId, Errno> {
        let file = File::open_again(&node.inode, flags, readable)?;
        let attr = node.name(file.attr(&node.inode)?);
        self.find_hidden(&node);
        let claim = self.claim(&node.inode);
        let open = OpenFile::new(node, file, claim);
        self.find_layout(&open, &attr);
        Ok(self.files.insert(open))
    }
}

impl Agent {
    /// A client closes a file: its locks go with it, also where they are written down.
    pub(super) fn close_file(&self, handle: HandleId, client: u64) {
        let Ok(open) = self.files.get(handle) else { return };
        let key = open.node.inode.key();
        self.files.remove(handle);
        drop(open);
        self.locks.closed(key, handle, client);
    }

    /// A client goes on elsewhere with a file that has no name but a hidden one.
    pub(super) fn leave_hidden(&self, handle: HandleId) {
        if let Ok(open) = self.files.get(handle) {
            let mut hidden = open.node.hidden.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(hidden) = hidden.take() {
                hidden.leave();
            }
        }
    }

    /// Take a lock that a client had.
    pub(super) fn reclaim(&self, request: &LockRequest) -> Result<(), Errno> {
        self.locks.reclaim(request, &*self.files.get(request.handle)?)
    }
}
