//! Files that lose their last name while they are open. Should the agent die, the backing would forget
//! them with its descriptors; so they are given a name where nobody sees it, until they are closed.

use std::ffi::OsStr;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use iofwd_mount::Errno;

use crate::backend::posix::{Identity, Inode, Key};

use super::Agent;
use super::nodes::Node;
use super::state::{State, Unused};

/// A name that nobody sees; gone when it is dropped.
#[derive(Debug)]
pub(super) struct HiddenName {
    state: Arc<State>,
    file: Key,
    stays: bool,
}

impl HiddenName {
    fn new(state: &Arc<State>, file: Key) -> HiddenName {
        state.hidden.begin_use(file);
        HiddenName { state: Arc::clone(state), file, stays: false }
    }

    /// It stays, for another agent.
    pub(super) fn leave(mut self) {
        self.stays = true;
    }
}

impl Drop for HiddenName {
    fn drop(&mut self) {
        self.state.hidden.end_use(self.file);
        if self.stays {
            return;
        }
        let path = self.state.hidden.path(self.file);
        if let Err(error) = Identity::as_agent(|| std::fs::remove_file(&path)) {
            tracing::warn!(%error, name = %path.display(), "a hidden name could not be removed");
        }
    }
}

impl Agent {
    /// Take a name from what has it, by `act`. If it is the last one of a file that is open, the
    /// file is kept.
    pub(super) fn keeping<T>(
        &self,
        parent: &Arc<Inode>,
        name: &OsStr,
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let hidden = self.hide(parent, name);
        let done = act();
        if let (Some((node, hidden)), Ok(_)) = (hidden, &done) {
            *node.hidden.lock().unwrap_or_else(PoisonError::into_inner) = Some(hidden);
            // Closed meanwhile.
            node.show_if_closed();
        }
        done
    }

    /// Give what is about to lose its last name another one, if it is open.
    fn hide(&self, parent: &Arc<Inode>, name: &OsStr) -> Option<(Arc<Node>, HiddenName)> {
        let survival = self.survival.as_ref()?;
        let found = parent.lookup(name).ok()?;
        let node = self.nodes.known(found.key).filter(|node| node.is_open())?;
        if !node.inode.is_file() || found.attr.links != 1 {
            return None;
        }
        let path = survival.state.hidden.path(found.key);
        // A state directory on another file system cannot have it: such files are lost with the agent.
        Identity::as_agent(|| node.inode.link_at(&path)).ok()?;
        Some((node, HiddenName::new(&survival.state, found.key)))
    }

    /// Give up files without a name that nobody came back for.
    pub(super) fn sweep_hidden(&self, unused: &mut Unused, now: Instant, grace: Duration) {
        let Some(survival) = &self.survival else { return };
        let swept = unused.sweep(&survival.state.hidden, now, grace).unwrap_or_default();
        for path in swept {
            let removed = match &self.keeper {
                Some(keeper) => keeper.remove_hidden(&path),
                None => std::fs::remove_file(&path).map_err(Errno::from),
            };
            match removed {
                Ok(()) => tracing::info!("gave up a file without a name that nobody came back for"),
                Err(error) => tracing::warn!(%error, "a hidden name could not be removed"),
            }
        }
    }

    /// A file is opened again that had lost its last name before the agent died.
    pub(super) fn find_hidden(&self, node: &Node) {
        let Some(survival) = &self.survival else { return };
        let path = survival.state.hidden.path(node.inode.key());
        let mut hidden = node.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if hidden.is_none() && Identity::as_agent(|| path.exists()) {
            *hidden = Some(HiddenName::new(&survival.state, node.inode.key()));
        }
    }
}
