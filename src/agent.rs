//! The forwarding agent: holds nodes, open files and locks, and sends reads and writes through the
//! scheduler to the backing. Metadata goes straight through.
//!
//! It implements the mount's [`Store`](iofwd_mount::Store), so that a mount in the same process
//! needs nothing in between, and anything else that speaks that trait can sit in front of it.

mod callers;
mod change;
mod control;
mod data_path;
mod deeds;
pub mod engine;
mod export;
mod files;
mod forwarder;
mod keeper;
mod kept;
pub(crate) mod latch;
pub(crate) mod layouts;
pub mod listener;
mod locks;
pub mod look;
mod nodes;
mod once;
pub mod service;
pub mod session;
mod state;
mod store;
mod survival;

use std::path::Path;
use std::sync::Arc;

use iofwd_mount::{Caller, Errno};

use crate::backend::posix::{Identity, Tree};

pub use self::callers::Guest;
pub use self::forwarder::{AgentId, Forwarder, Gate, Passage, Received, Visit};
pub use self::keeper::Desk;
pub(crate) use self::keeper::agent_name;
pub use self::survival::Survival;

use self::callers::Callers;
use self::data_path::Ways;
use self::engine::{Engine, EngineSettings};
use self::files::{Directories, Files};
use self::keeper::Keeper;
use self::layouts::Layouts;
use self::locks::Locks;
use self::look::Lookout;
use self::nodes::Nodes;

/// An agent over one exported directory.
#[derive(Debug)]
pub struct Agent {
    tree: Tree,
    nodes: Nodes,
    files: Files,
    directories: Directories,
    locks: Arc<Locks>,
    engine: Engine,
    layouts: Layouts,
    ways: Ways,
    callers: Callers,
    lookout: Lookout,
    /// What a data server keeps beside the names.
    keeper: Option<Arc<Keeper>>,
    /// What it leaves behind for its clients, should it die.
    survival: Option<Survival>,
}

impl Agent {
    /// Export a directory.
    pub fn new(path: &Path, settings: &EngineSettings) -> Result<Agent, Errno> {
        Agent::surviving(path, settings, None)
    }

    /// Export a directory to clients that can go on with another agent.
    pub fn surviving(
        path: &Path,
        settings: &EngineSettings,
        survival: Option<Survival>,
    ) -> Result<Agent, Errno> {
        let tree = Tree::open(path)?;
        let first = survival.as_ref().map_or(0, |survival| survival.state.first_number());
        let nodes = Nodes::new(Arc::clone(tree.root()), first);
        let layouts = Layouts::new(settings, path)?;
        let engine = Engine::start(settings)?;
        engine.grow(layouts.count());
        Ok(Agent {
            tree,
            nodes,
            files: Files::files(first),
            directories: Directories::directories(first),
            locks: Arc::new(Locks::default()),
            engine,
            layouts,
            ways: Ways::new(settings.data),
            callers: Callers::new(settings.job_variables.clone()),
            lookout: Lookout::new(settings),
            keeper: None,
            survival,
        })
    }

    /// From now on this thread acts as the caller.
    fn act_as(&self, caller: &Caller) {
        if Identity::can_be_assumed() {
            self.callers.identity(caller).assume();
        }
    }

    /// Wait for everything under way, and make everything written durable.
    pub fn settle(&self) -> Result<(), Errno> {
        self.engine.drain();
        self.make_durable()
    }

    /// Make everything durable that was written by now.
    pub fn make_durable(&self) -> Result<(), Errno> {
        Identity::assume_agent();
        self.tree.sync(&self.nodes.elsewhere(self.tree.root().key()))
    }
}
