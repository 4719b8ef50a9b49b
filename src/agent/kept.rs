//! Files that lose their last name while they are open. Should the agent die, the backing would forget
//! them with its descriptors; so they are given a name where nobody sees it, until they are closed.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::PoisonError;

use iofwd_mount::Errno;

use crate::backend::posix::{Identity, Inode, Key};

use super::Agent;
use super::nodes::Node;
use super::state::State;

/// A name that nobody sees; gone when it is dropped.
#[derive(Debug)]
pub(super) struct HiddenName(Option<PathBuf>);

impl HiddenName {
    /// It stays, for another agent.
    pub(super) fn leave(mut self) {
        self.0 = None;
    }
}

impl Drop for HiddenName {
    fn drop(&mut self) {
        let Some(path) = self.0.take() else { return };
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
        parent: &std::sync::Arc<Inode>,
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
    fn hide(
        &self,
        parent: &std::sync::Arc<Inode>,
        name: &OsStr,
    ) -> Option<(std::sync::Arc<Node>, HiddenName)> {
        let survival = self.survival.as_ref()?;
        let found = parent.lookup(name).ok()?;
        let node = self.nodes.known(found.key).filter(|node| node.is_open())?;
        if !node.inode.is_file() || found.attr.links != 1 {
            return None;
        }
        let path = hidden_path(&survival.state, found.key);
        // A state directory on another file system cannot have it: such files are lost with the agent.
        Identity::as_agent(|| node.inode.link_at(&path)).ok()?;
        Some((node, HiddenName(Some(path))))
    }

    /// A file is opened again that had lost its last name before the agent died.
    pub(super) fn find_hidden(&self, node: &Node) {
        let Some(survival) = &self.survival else { return };
        let path = hidden_path(&survival.state, node.inode.key());
        let mut hidden = node.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if hidden.is_none() && Identity::as_agent(|| path.exists()) {
            *hidden = Some(HiddenName(Some(path)));
        }
    }
}

fn hidden_path(state: &State, key: Key) -> PathBuf {
    let (major, minor) = key.device;
    state.kept().join(format!("{major:x}-{minor:x}-{:x}", key.number))
}
