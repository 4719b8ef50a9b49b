//! Which daemon has which object of a Ceph file: asked of the `ceph` command, in the background.
//!
//! The command takes half a second, so nobody waits for it: until an object's daemon is known, its
//! bytes go to the first queue. What is known is kept for some minutes, because daemons come and go.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::layout::{ObjectStripes, Server, ceph};

use super::super::nodes::Node;

/// The daemons of objects, as far as they are known.
#[derive(Debug)]
pub(super) struct Placement {
    table: Arc<Mutex<Table>>,
    jobs: SyncSender<Job>,
}

#[derive(Debug)]
struct Table {
    /// By pool and object; `None` while it is being asked for.
    daemons: HashMap<(String, String), Option<u32>>,
    since: Instant,
}

/// Objects to ask for, and the node that is to hear of them.
#[derive(Debug)]
struct Job {
    node: Weak<Node>,
    pool: String,
    namespace: Option<String>,
    objects: Vec<String>,
}

impl Placement {
    pub(super) fn start(command: &Path) -> io::Result<Placement> {
        let table = Arc::new(Mutex::new(Table { daemons: HashMap::new(), since: Instant::now() }));
        let (jobs, todo) = sync_channel(JOBS_MOST);
        let (shared, command) = (Arc::clone(&table), command.to_owned());
        thread::Builder::new()
            .name("iofwd-placement".into())
            .spawn(move || work(&shared, &command, &todo))?;
        Ok(Placement { table, jobs })
    }

    /// Fill in what is known of a file's objects, and have the rest asked for.
    pub(super) fn fill(&self, stripes: &mut ObjectStripes, node: &Arc<Node>, size: u64) {
        let mut table = lock(&self.table);
        if table.since.elapsed() > GOOD_FOR || table.daemons.len() >= OBJECTS_MOST {
            *table = Table { daemons: HashMap::new(), since: Instant::now() };
        }
        let inode = node.inode.key().number;
        let mut missing = Vec::new();
        for object in 0..stripes.objects_of(size).min(EACH_MOST) {
            let name = ceph::object_name(inode, object);
            match table.daemons.get(&(stripes.pool.clone(), name.clone())) {
                Some(Some(daemon)) => stripes.known.push((object, Server::Osd(*daemon))),
                Some(None) => {}
                None => missing.push(name),
            }
        }
        if missing.is_empty() {
            return;
        }
        let (pool, namespace) = (stripes.pool.clone(), stripes.namespace.clone());
        let keys: Vec<_> = missing.iter().map(|name| (pool.clone(), name.clone())).collect();
        let job = Job { node: Arc::downgrade(node), pool, namespace, objects: missing };
        // With too much to do already, it is asked for another time.
        if self.jobs.try_send(job).is_ok() {
            table.daemons.extend(keys.into_iter().map(|key| (key, None)));
        }
    }
}

fn work(table: &Mutex<Table>, command: &Path, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        for name in &job.objects {
            // Whoever has closed the file meanwhile need not know.
            let daemon = job.node.upgrade().and_then(|_| ask(command, &job, name));
            let key = (job.pool.clone(), name.clone());
            match daemon {
                Some(daemon) => lock(table).daemons.insert(key, Some(daemon)),
                None => lock(table).daemons.remove(&key),
            };
        }
        if let Some(node) = job.node.upgrade() {
            node.layout.call_in_doubt();
        }
    }
}

fn ask(command: &Path, job: &Job, object: &str) -> Option<u32> {
    let mut asking = Command::new(command);
    asking.args(["--connect-timeout", "10", "osd", "map", &job.pool, object]);
    asking.args(&job.namespace).args(["-f", "json"]).stdin(Stdio::null());
    let output = match asking.output() {
        Ok(output) => output,
        Err(error) => {
            tracing::warn!(command = %command.display(), %error, "nobody tells where objects are");
            return None;
        }
    };
    let daemon = ceph::parse_map(&output.stdout);
    if daemon.is_none() {
        let said = String::from_utf8_lossy(&output.stderr);
        tracing::warn!(object, said = said.trim(), "it is not told where an object is");
    }
    daemon
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command, if somebody named one.
pub(super) fn start(command: Option<&PathBuf>) -> io::Result<Option<Placement>> {
    command.map(|command| Placement::start(command)).transpose()
}

/// Files whose objects wait to be asked for.
const JOBS_MOST: usize = 256;
/// Objects of one file that are asked for at a time: at half a second each it is minutes.
const EACH_MOST: u64 = 256;
/// Objects of all files that are known.
const OBJECTS_MOST: usize = 65_536;
/// How long a daemon is believed to have an object.
const GOOD_FOR: Duration = Duration::from_secs(600);
