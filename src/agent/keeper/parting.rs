//! When a file goes: with its last name, or with the last open file if somebody still uses it then.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iofwd_mount::{Caller, Errno};

use crate::agent::Agent;
use crate::agent::nodes::Node;
use crate::backend::posix::{Identity, Inode, Key, Tree};
use crate::wire::stripe::Stripes;

use super::{Keeper, record};

/// Files in use, and those that go when they are not.
#[derive(Debug, Default)]
pub(super) struct Partings {
    /// One name is removed at a time: which is a file's last is seen by looking at it before.
    turn: Mutex<()>,
    used: Mutex<HashMap<Key, Use>>,
}

#[derive(Debug, Default)]
struct Use {
    opens: u32,
    /// It has no name: these objects go with the last user.
    doomed: Option<Stripes>,
}

/// That an open file uses an inode.
#[derive(Debug)]
pub(in crate::agent) struct Claim {
    keeper: Arc<Keeper>,
    inode: Arc<Inode>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.keeper.unclaim(&self.inode);
    }
}

impl Agent {
    /// Say that somebody is about to use a node.
    pub(in crate::agent) fn claim(&self, inode: &Arc<Inode>) -> Option<Claim> {
        let keeper = Arc::clone(self.keeper.as_ref()?);
        keeper.partings.used().entry(inode.key()).or_default().opens += 1;
        Some(Claim { keeper, inode: Arc::clone(inode) })
    }

    /// A file is opened again that lost its last name before this server was started again.
    pub(in crate::agent) fn doom_again(&self, node: &Node) {
        let is_hidden = node.hidden.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let Some(keeper) = self.keeper.as_ref().filter(|_| is_hidden) else { return };
        Identity::assume_agent();
        if let Ok(Some(stripes)) = record::load(&node.inode) {
            keeper.doom_nameless(&node.inode, &stripes);
        }
    }

    /// Do something that takes a name from what it names, maybe its last.
    pub(in crate::agent) fn part(
        &self,
        caller: &Caller,
        parent: &Node,
        name: &OsStr,
        deed: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let Some(keeper) = &self.keeper else { return deed() };
        let _turn = keeper.partings.turn.lock().unwrap_or_else(PoisonError::into_inner);
        Identity::assume_agent();
        let doomed = keeper.doom(&parent.inode, name);
        self.act_as(caller);
        let done = deed();
        if let Some((inode, stripes)) = doomed {
            Identity::assume_agent();
            keeper.judge(&inode, stripes);
        }
        done
    }
}

impl Keeper {
    /// A file whose only name this is, noted down.
    fn doom(&self, parent: &Arc<Inode>, name: &OsStr) -> Option<(Arc<Inode>, Stripes)> {
        let found = parent.lookup(name).ok()?;
        let is_last = found.attr.mode & libc::S_IFMT == libc::S_IFREG && found.attr.links == 1;
        if !is_last {
            return None;
        }
        let inode = found.open().ok()?;
        let stripes = record::load(&inode).ok()??;
        self.orphans.note(&stripes);
        Some((inode, stripes))
    }

    /// Nobody came back for a file that is kept by a hidden name: it goes, unless it has another one.
    pub(in crate::agent) fn remove_hidden(&self, path: &Path) -> Result<(), Errno> {
        Identity::assume_agent();
        let (directory, name) = path.parent().zip(path.file_name()).ok_or(Errno::EINVAL)?;
        let found = Tree::open(directory)?.root().lookup(name)?;
        let inode = found.open()?;
        let stripes = record::load(&inode)?;
        std::fs::remove_file(path)?;
        if let (1, Some(stripes)) = (found.attr.links, stripes) {
            self.forget(inode.key());
            self.orphans.release(stripes);
        }
        Ok(())
    }

    /// A file that never had a name is noted down.
    pub(super) fn doom_nameless(&self, inode: &Inode, stripes: &Stripes) {
        self.orphans.note(stripes);
        self.partings.used().entry(inode.key()).or_default().doomed = Some(stripes.clone());
    }

    /// Whether a file that was noted down is gone by now.
    fn judge(&self, inode: &Inode, stripes: Stripes) {
        let mut used = self.partings.used();
        match used.get_mut(&inode.key()) {
            Some(user) if user.opens > 0 => user.doomed = Some(stripes),
            _ => {
                used.remove(&inode.key());
                drop(used);
                self.end(inode, stripes);
            }
        }
    }

    fn unclaim(&self, inode: &Inode) {
        let mut used = self.partings.used();
        let Some(user) = used.get_mut(&inode.key()) else { return };
        user.opens -= 1;
        if user.opens > 0 {
            return;
        }
        let doomed = used.remove(&inode.key()).and_then(|user| user.doomed);
        drop(used);
        if let Some(stripes) = doomed {
            Identity::assume_agent();
            self.end(inode, stripes);
        }
    }

    /// Nobody uses it: if it has no name it is gone, and otherwise somebody gave it one again.
    fn end(&self, inode: &Inode, stripes: Stripes) {
        let has_name = inode.attr().is_ok_and(|attr| attr.links > 0);
        if has_name {
            if let Err(error) = self.orphans.forget(stripes.object) {
                tracing::warn!(%error, "a note about a file that lives on cannot be removed");
            }
        } else {
            self.forget(inode.key());
            self.orphans.release(stripes);
        }
    }
}

impl Partings {
    fn used(&self) -> MutexGuard<'_, HashMap<Key, Use>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
