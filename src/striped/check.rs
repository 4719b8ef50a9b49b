//! Whether names, sizes and objects agree, and making them agree.
//!
//! Objects are listed first and names walked afterwards: what was made in between has a name by then.
//! What is found while others use the file system may be on its way somewhere; so nothing is repaired
//! unless nobody else is connected.

mod tree;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use iofwd_mount::Errno;
use iofwd_mount::store::NodeId;

use crate::client::{self, Address, Client};
use crate::report::Report;
use crate::wire::call::Call;
use crate::wire::stripe::{FileCall, ObjectCall, ObjectId, ObjectRecord, Stripes, take_all};

use super::data::Data;
use super::file::File;
use super::geometry::Geometry;
use super::server::DataServer;
use super::{Setup, enrol, server};

use tree::Found;

/// Something that does not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An object of a file that has no name; `noted` if the servers know and agents will remove it.
    Orphan {
        /// The object.
        object: ObjectId,
        /// Its server.
        server: u32,
        /// It is known.
        noted: bool,
    },
    /// An object on a server that its file does not use.
    Misplaced {
        /// A name of the file.
        path: String,
        /// The object.
        object: ObjectId,
        /// Its server.
        server: u32,
    },
    /// An object that goes further than its file.
    Beyond {
        /// A name of the file.
        path: String,
        /// The object.
        object: ObjectId,
        /// Its server.
        server: u32,
        /// Its size,
        size: u64,
        /// and what it should be at most.
        most: u64,
        /// The epoch of the file.
        epoch: u64,
    },
    /// A truncation that was begun and not ended.
    Unfinished {
        /// A name of the file.
        path: String,
    },
    /// A file that names a server which is not in the list.
    NoServer {
        /// A name of the file.
        path: String,
        /// The server.
        server: u32,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Orphan { object, server, noted: false } => {
                write!(f, "object {object} on server {server} belongs to no file")
            }
            Problem::Orphan { object, server, noted: true } => {
                write!(f, "object {object} on server {server} is of a file that is gone, and noted")
            }
            Problem::Misplaced { path, object, server } => {
                write!(f, "{path}: object {object} on server {server}, which the file does not use")
            }
            Problem::Beyond { path, object, server, size, most, .. } => write!(
                f,
                "{path}: object {object} on server {server} has {size} bytes, the file at most {most}"
            ),
            Problem::Unfinished { path } => write!(f, "{path}: a truncation was not finished"),
            Problem::NoServer { path, server } => {
                write!(f, "{path}: its server {server} is not in the list of servers")
            }
        }
    }
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Files with a name.
    pub files: usize,
    /// Objects on all servers.
    pub objects: usize,
    /// What does not agree.
    pub problems: Vec<Problem>,
    /// How many of these were repaired.
    pub repaired: usize,
}

/// A file system to be checked.
struct Checked {
    names: Arc<Client>,
    data: Arc<Data>,
    servers: usize,
}

/// Check a file system, and repair it if that is asked for.
pub fn check(setup: &Setup, repair: bool) -> Result<Findings, String> {
    let servers = DataServer::all(setup, super::new_agent()?);
    let names = server::connect(setup, 0, ("check", Vec::new()), true)?;
    let data = Arc::new(Data::new(Arc::clone(&names), servers));
    let checked = Checked { names, data, servers: setup.servers.len() };
    let found = checked.prepare(setup, repair).and_then(|()| {
        let found = checked.run(repair);
        found.map_err(|errno| format!("the check could not be finished: {errno}"))
    });
    checked.data.leave();
    found
}

/// Nothing may change under the hands of who repairs.
fn refuse_others(setup: &Setup) -> Result<(), String> {
    let agent = Address::Tcp(setup.servers[0].clone());
    let text = client::control(&agent, setup.key.as_ref(), vec!["status".into()], PATIENCE);
    let report = Report::from_text(&text.map_err(|error| error.to_string())?);
    let clients: usize = report.get("clients").and_then(|text| text.parse().ok()).unwrap_or(0);
    let others = clients.saturating_sub(OWN);
    if others > 0 {
        return Err(format!(
            "{others} others are connected to {}: end all agents first, then repair",
            setup.servers[0]
        ));
    }
    Ok(())
}

impl Checked {
    fn prepare(&self, setup: &Setup, repair: bool) -> Result<(), String> {
        enrol(setup, self.data.servers())?;
        if repair { refuse_others(setup) } else { Ok(()) }
    }

    fn run(&self, repair: bool) -> Result<Findings, Errno> {
        let objects = self.list_objects()?;
        let noted = self.noted()?;
        let mut findings = Findings { objects: objects.len(), ..Findings::default() };
        let mut sizes: HashMap<ObjectId, Vec<(u32, u64)>> = HashMap::new();
        for (server, record) in &objects {
            sizes.entry(record.object).or_default().push((*server, record.size));
        }
        let mut seen = HashSet::new();
        tree::walk(&self.names, &mut |found| {
            findings.files += 1;
            let Some(stripes) = self.stripes(found.node)? else { return Ok(()) };
            // A file with two names is one file.
            if seen.insert(stripes.object) {
                let objects = sizes.get(&stripes.object).map_or(&[][..], Vec::as_slice);
                let problems = self.compare(&found, &stripes, objects);
                if repair {
                    findings.repaired += self.repair_file(&found, stripes, &problems)?;
                }
                findings.problems.extend(problems);
            }
            Ok(())
        })?;
        for (server, ObjectRecord { object, .. }) in objects {
            if !seen.contains(&object) {
                let noted = noted.contains(&object);
                findings.problems.push(Problem::Orphan { object, server, noted });
                if repair {
                    self.data.ask_all([(server, ObjectCall::Remove { object })])?;
                    findings.repaired += 1;
                }
            }
        }
        if repair {
            while self.data.remove_orphans()? {}
        }
        Ok(findings)
    }

    fn list_objects(&self) -> Result<Vec<(u32, ObjectRecord)>, Errno> {
        let mut all = Vec::new();
        for number in 0..self.servers as u32 {
            let mut after = None;
            loop {
                let call = ObjectCall::List { after };
                let (_, bytes) = self.data.server(number)?.ask(call, &[], LIST_MOST)?;
                let listed: Vec<ObjectRecord> = take_all(&bytes).ok_or(Errno::EIO)?;
                let Some(last) = listed.last() else { break };
                after = Some(last.object);
                all.extend(listed.into_iter().map(|record| (number, record)));
            }
        }
        Ok(all)
    }

    fn noted(&self) -> Result<HashSet<ObjectId>, Errno> {
        let call = Call::File(FileCall::Orphans);
        let (_, bytes) = self.names.demand(None, call, &[], LIST_MOST).answer()?;
        let orphans: Vec<Stripes> = take_all(&bytes).ok_or(Errno::EIO)?;
        Ok(orphans.into_iter().map(|stripes| stripes.object).collect())
    }

    fn stripes(&self, node: NodeId) -> Result<Option<Stripes>, Errno> {
        match self.data.stripes(node, None) {
            Err(errno) if errno.raw() == libc::ENODATA => Ok(None),
            stripes => stripes.map(Some),
        }
    }

    /// What is wrong with one file.
    fn compare(&self, found: &Found, stripes: &Stripes, objects: &[(u32, u64)]) -> Vec<Problem> {
        let path = || found.path.clone();
        let mut problems = Vec::new();
        for server in stripes.servers.iter().filter(|number| **number as usize >= self.servers) {
            problems.push(Problem::NoServer { path: path(), server: *server });
        }
        if stripes.cut.is_some() {
            problems.push(Problem::Unfinished { path: path() });
        }
        let geometry = Geometry { unit: stripes.unit, count: stripes.servers.len() as u64 };
        for &(server, size) in objects {
            let (object, epoch) = (stripes.object, stripes.epoch);
            let turn = stripes.servers.iter().position(|number| *number == server);
            let Some(turn) = turn else {
                problems.push(Problem::Misplaced { path: path(), object, server });
                continue;
            };
            let most = geometry.share(turn as u64, found.size);
            if size > most && stripes.cut.is_none() {
                let path = path();
                problems.push(Problem::Beyond { path, object, server, size, most, epoch });
            }
        }
        problems
    }

    /// Make a file's objects agree with it. How many problems are no more.
    fn repair_file(
        &self,
        found: &Found,
        stripes: Stripes,
        problems: &[Problem],
    ) -> Result<usize, Errno> {
        let mut repaired = 0;
        for problem in problems {
            match *problem {
                Problem::Misplaced { object, server, .. } => {
                    self.data.ask_all([(server, ObjectCall::Remove { object })])?;
                }
                Problem::Beyond { object, server, most, epoch, .. } => {
                    self.data.ask_all([(server, ObjectCall::Cut { object, epoch, size: most })])?;
                }
                Problem::Unfinished { .. } => {
                    let data = Arc::clone(&self.data);
                    File::new(found.node, stripes.clone(), 0, data)?.refresh()?;
                }
                Problem::Orphan { .. } | Problem::NoServer { .. } => continue,
            }
            repaired += 1;
        }
        Ok(repaired)
    }
}

/// Sessions at the first server that are this check's own: for names, and for objects.
const OWN: usize = 2;
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a list of objects.
const LIST_MOST: usize = 1 << 20;
