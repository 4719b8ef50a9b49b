//! A store over data servers: names and attributes at the first of them, the bytes of files striped over
//! all.
//!
//! Operations on names go to the first server as a client's would, and its answers come back the same
//! way. Reads and writes go through the engine, with a queue for each server, as they do over any
//! backing. What must wait for a server waits on the thread that brought it, or on a worker of the
//! engine; never on a thread that takes answers off a connection.

mod appending;
mod changing;
pub mod check;
mod client;
mod data;
mod dressing;
mod file;
mod geometry;
mod holes;
mod locks;
mod opening;
mod reaper;
mod server;
mod store;
mod view;
mod writing;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use dashmap::DashMap;

use iofwd_mount::store::{HandleId, NodeId};
use iofwd_mount::{Caller, Errno};
use iofwd_scheduler::request::JobId;

use crate::agent::AgentId;
use crate::agent::engine::{Asker, Engine, EngineSettings};
use crate::agent::look::Lookout;
use crate::client::Client;
use crate::key::Key;
use crate::report::Report;
use crate::telemetry::Snapshot;
use crate::telemetry::snapshot::Export;
use crate::wire::call::Call;
use crate::wire::stripe::{self, ObjectCall, Stripes, Wish};

pub(crate) use server::EXPORT;

use data::Data;
use file::{File, Open};
use locks::Waiting;
use opening::Handles;
use server::{DataServer, Trouble};

/// How the servers are reached, and files striped.
#[derive(Clone, Debug)]
pub struct Setup {
    /// `HOST:PORT` of each server, in an order that never changes; the first has the names.
    pub servers: Vec<String>,
    /// The key that they have too.
    pub key: Option<Key>,
    /// Bytes of a new file on one server before the next one follows.
    pub stripe_size: u64,
    /// Over how many servers a new file is striped.
    pub stripe_count: u32,
    /// How long a server that is gone is waited for.
    pub patience: Duration,
}

/// A store over data servers.
#[derive(Debug)]
pub struct Striped {
    names: Arc<Client>,
    data: Arc<Data>,
    files: DashMap<NodeId, Weak<File>>,
    handles: Handles,
    waiting: Waiting,
    wish: Wish,
    /// What those share that act for one client each.
    common: Arc<Common>,
    /// It acts for one client.
    is_view: bool,
}

impl Striped {
    /// Reach the servers; those that are away are waited for, for so long.
    pub fn open(
        setup: &Setup,
        settings: &EngineSettings,
        waiting: Duration,
    ) -> Result<Arc<Striped>, String> {
        let count = u32::try_from(setup.servers.len()).unwrap_or(u32::MAX);
        let wish =
            Wish { unit: setup.stripe_size, count: setup.stripe_count.min(count), of: count };
        let settings = EngineSettings { servers: count, stripe: wish.unit, ..settings.clone() };
        let agent = new_agent()?;
        let servers: Vec<Arc<DataServer>> = DataServer::all(setup, agent);
        let names = server::patiently(waiting, || {
            enrol(setup, &servers)?;
            server::connect(setup, 0, ("agent", settings.job_variables.clone()), true)
        })?;
        let engine = Engine::start(&settings).map_err(|errno| errno.to_string())?;
        let lookout = Lookout::new(&settings);
        let common =
            Common { setup: setup.clone(), engine, lookout, agent, views: Mutex::default() };
        let striped = Striped::over(names, servers, wish, Arc::new(common), false);
        reaper::start(&striped.data).map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Arc::new(striped))
    }

    /// A store over servers that were reached.
    fn over(
        names: Arc<Client>,
        servers: Vec<Arc<DataServer>>,
        wish: Wish,
        common: Arc<Common>,
        is_view: bool,
    ) -> Striped {
        let data = Arc::new(Data::new(Arc::clone(&names), servers));
        let (files, handles, waiting) = (DashMap::new(), Handles::default(), Waiting::default());
        Striped { names, data, files, handles, waiting, wish, common, is_view }
    }

    /// Wait for everything under way, and make everything written durable.
    pub fn settle(&self) -> Result<(), Errno> {
        self.common.engine.drain();
        self.make_durable()
    }

    /// Make everything durable that was written by now.
    pub fn make_durable(&self) -> Result<(), Errno> {
        self.data.everywhere(ObjectCall::SyncAll)?;
        self.names.settle()
    }

    /// Say goodbye to the servers: what this agent held is free at once.
    pub fn leave(&self) {
        self.data.leave();
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        report.add("version", env!("CARGO_PKG_VERSION"));
        report.add("pid", std::process::id());
        report.add("open_files", self.open_files());
        for (name, value) in self.common.engine.report().iter() {
            report.add(name, value);
        }
        self.data.report(&mut report);
        report
    }

    /// Everything there is to tell.
    pub fn snapshot(&self) -> Snapshot {
        self.common.lookout.snapshot(self.look(), &self.report())
    }

    /// What it does as an export. Names of files are known to the first server.
    fn look(&self) -> Export {
        let mut export = self.common.engine.look(&|file| format!("object {:016x}", file.0));
        export.open_files = self.open_files() as u64;
        for (server, address) in export.servers.iter_mut().zip(self.data.addresses()) {
            server.name = address.to_string();
        }
        export
    }

    /// An open file, which the server that has the names still has open.
    fn handle(&self, handle: HandleId) -> Result<Arc<Open>, Errno> {
        let open = self.handle_as_it_was(handle)?;
        let now = self.names.resumed();
        if open.seen_at() != now {
            let call = Call::Getattr { node: open.node, handle: Some(handle) };
            self.names.demand(None, call, &[], 0).answer()?;
            open.see_at(now);
        }
        Ok(open)
    }

    fn handle_as_it_was(&self, handle: HandleId) -> Result<Arc<Open>, Errno> {
        self.handles.get(&handle).map(|open| Arc::clone(&open)).ok_or(Errno::EBADF)
    }

    /// How many files are open, whoever it is that has them open.
    fn open_files(&self) -> usize {
        self.common.views().iter().map(|view| view.handles.len()).sum::<usize>()
            + self.handles.len()
    }

    /// Where the bytes of a node are. It gets stripes if it has none.
    fn file(&self, node: NodeId) -> Result<Arc<File>, Errno> {
        self.striped(node, Some(self.wish))?.ok_or(Errno::EIO)
    }

    /// Where the bytes of a node are, if it has any.
    fn file_if_striped(&self, node: NodeId) -> Result<Option<Arc<File>>, Errno> {
        self.striped(node, None)
    }

    fn striped(&self, node: NodeId, wish: Option<Wish>) -> Result<Option<Arc<File>>, Errno> {
        if let Some(file) = self.files.get(&node).and_then(|file| file.upgrade()) {
            return Ok(Some(file));
        }
        let begun = std::time::Instant::now();
        let stripes = match self.data.stripes(node, wish) {
            Err(errno) if errno.raw() == libc::ENODATA => return Ok(None),
            stripes => stripes?,
        };
        let cost = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if self.files.len() >= FILES_MOST {
            self.files.retain(|_, file| file.strong_count() > 0);
        }
        let mut slot = self.files.entry(node).or_default();
        // Somebody else may have asked at the same time.
        if let Some(file) = slot.upgrade() {
            return Ok(Some(file));
        }
        let file = Arc::new(File::new(node, stripes, cost, Arc::clone(&self.data))?);
        *slot = Arc::downgrade(&file);
        Ok(Some(file))
    }

    fn asker(&self, caller: &Caller) -> Asker {
        Asker { key: caller.request, job: JobId(self.names.job_of(caller)), once: None }
    }
}

/// What those share that act for one client each.
#[derive(Debug)]
struct Common {
    setup: Setup,
    engine: Engine,
    lookout: Lookout,
    /// Who acts.
    agent: AgentId,
    views: Mutex<Vec<Weak<Striped>>>,
}

impl Common {
    /// Those that there are.
    fn views(&self) -> Vec<Arc<Striped>> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.iter().filter_map(Weak::upgrade).collect()
    }

    /// One more.
    fn add(&self, view: &Arc<Striped>) {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.retain(|view| view.strong_count() > 0);
        views.push(Arc::downgrade(view));
    }
}

fn new_agent() -> Result<AgentId, String> {
    let mut agent = AgentId::default();
    getrandom::fill(&mut agent).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(agent)
}

/// Make sure that the servers are those of one file system, in the order in which its files know them.
fn enrol(setup: &Setup, servers: &[Arc<DataServer>]) -> Result<(), Trouble> {
    let mut list = Vec::new();
    for server in servers {
        list.extend(server.identity()?);
    }
    for server in servers {
        let enrolled = server.enrol(&list)?;
        enrolled.map_err(|errno| Trouble::Wrong(explain(errno, server.address(), setup)))?;
    }
    Ok(())
}

fn explain(errno: Errno, server: &str, setup: &Setup) -> String {
    let list = setup.servers.join(", ");
    match errno.raw() {
        libc::EXDEV => format!(
            "{server} belongs to a file system with other servers, or in another order, than {list}: \
             files would not be found again. List the same servers in the same order; new ones go \
             to the end"
        ),
        libc::EPERM => format!("{server} does not trust this node with everything"),
        libc::ENOSYS => format!("{server} is no data server: does iofwd server run there?"),
        _ => format!("{server}: {errno}"),
    }
}

/// Files whose entry is kept though nobody has them open.
const FILES_MOST: usize = 16_384;

/// Ask a store something, and wait for its answer. Never on a thread that takes answers off a connection.
fn wait<T: iofwd_mount::reply::Answer + Send + 'static>(
    ask: impl FnOnce(iofwd_mount::Reply<T>),
) -> Result<T, Errno> {
    let (sender, receiver) = std::sync::mpsc::channel();
    ask(iofwd_mount::Reply::call(move |result| {
        let _ = sender.send(result);
    }));
    receiver.recv().unwrap_or(Err(Errno::EIO))
}

/// The first value of an answer.
fn one<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Errno> {
    let values: Option<Vec<T>> = stripe::take_all(bytes);
    values.and_then(|mut values| values.pop()).ok_or(Errno::EIO)
}

/// The stripes in an answer.
fn stripes_in(bytes: &[u8]) -> Result<Stripes, Errno> {
    one(bytes)
}
