//! A directory that clients may mount, with what its settings say.

use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::mpsc;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::store::{Entry, NodeId};
use iofwd_mount::{Caller, Errno, Reply, Store};
use iofwd_scheduler::request::JobId;

use crate::backend::posix::Identity;
use crate::process::no_groups;
use crate::settings;

use super::Agent;
use super::callers::Guest;
use super::engine::EngineSettings;
use super::state::State;
use super::survival::Survival;

/// An export, and the agent of its directory.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) settings: settings::Export,
    pub(super) agent: Arc<Agent>,
}

impl Export {
    pub(super) fn open(
        settings: &settings::Export,
        engine: &EngineSettings,
        state: Option<&Arc<State>>,
    ) -> Result<Export, String> {
        let export = settings.name.clone();
        let survival = state.map(|state| Survival { state: Arc::clone(state), export });
        let agent = Agent::surviving(&settings.path, engine, survival).map_err(|errno| {
            format!("cannot export {} as {}: {errno}", settings.path.display(), settings.name)
        })?;
        Ok(Export { settings: settings.clone(), agent: Arc::new(agent) })
    }

    /// The directory below the export that a path leads to, with one reference to it.
    pub(super) fn subtree(&self, path: &[u8]) -> Result<NodeId, Errno> {
        let guest = Guest { identity: Identity::new(0, 0, no_groups()), job: JobId(0) };
        let introduction = self.agent.callers.introduce(guest);
        let caller = Caller {
            uid: 0,
            gid: 0,
            pid: 0,
            request: RequestKey(0),
            introduced: Some(introduction),
        };
        let found = self.walk(&caller, path);
        self.agent.callers.dismiss(introduction);
        found
    }

    fn walk(&self, caller: &Caller, path: &[u8]) -> Result<NodeId, Errno> {
        let mut node = NodeId::ROOT;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if matches!(name, b"." | b"..") {
                return Err(Errno::EINVAL);
            }
            let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(name);
            let entry = self.lookup(caller, node, name);
            self.agent.forget(node, 1);
            let attr = entry?.attr;
            node = attr.node;
            if attr.mode & libc::S_IFMT != libc::S_IFDIR {
                self.agent.forget(node, 1);
                return Err(Errno::from_raw(libc::ENOTDIR));
            }
        }
        Ok(node)
    }

    fn lookup(&self, caller: &Caller, parent: NodeId, name: &OsStr) -> Result<Entry, Errno> {
        let (sender, receiver) = mpsc::channel();
        let reply = Reply::call(move |result| {
            let _ = sender.send(result);
        });
        self.agent.lookup(caller, parent, name, reply);
        receiver.recv().unwrap_or(Err(Errno::EIO))
    }
}
