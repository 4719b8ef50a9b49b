//! What files share: the servers, and the one that has the names.

use std::sync::Arc;

use iofwd_mount::store::{NodeId, Statfs};
use iofwd_mount::{Caller, Errno};

use crate::client::Client;
use crate::report::Report;
use crate::wire::answer::Value;
use crate::wire::call::Call;
use crate::wire::stripe::{FileCall, ObjectCall, Standing, Stripes, Wish};

use super::server::DataServer;
use super::stripes_in;

/// The servers.
#[derive(Debug)]
pub(super) struct Data {
    names: Arc<Client>,
    servers: Vec<Arc<DataServer>>,
}

/// What comes of asking for a turn to append.
pub(super) enum Turn {
    /// It has come, and the file stands so.
    Ours(Standing),
    /// So many bytes were appended already, before this was asked again.
    Done(u32),
}

impl Data {
    pub(super) fn new(names: Arc<Client>, servers: Vec<Arc<DataServer>>) -> Data {
        Data { names, servers }
    }

    /// Nothing more will be asked.
    pub(super) fn leave(&self) {
        self.names.leave();
        self.servers.iter().for_each(|server| server.leave());
    }

    /// The server of a number; files name only those that were listed when they were made.
    pub(super) fn server(&self, number: u32) -> Result<&DataServer, Errno> {
        self.servers.get(number as usize).map(|server| &**server).ok_or(Errno::EIO)
    }

    /// All of them.
    pub(super) fn servers(&self) -> &[Arc<DataServer>] {
        &self.servers
    }

    /// Their addresses, by number.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.address())
    }

    /// Ask several servers at the same time; the first error is what is told.
    pub(super) fn ask_all(
        &self,
        calls: impl IntoIterator<Item = (u32, ObjectCall)>,
    ) -> Result<(), Errno> {
        let calls = calls.into_iter();
        let asked: Result<Vec<_>, Errno> =
            calls.map(|(number, call)| Ok(self.server(number)?.begin(call, &[], 0))).collect();
        let answers: Vec<_> = asked?.into_iter().map(|asked| asked.answer()).collect();
        answers.into_iter().try_for_each(|answer| answer.map(drop))
    }

    /// Ask every server the same.
    pub(super) fn everywhere(&self, call: ObjectCall) -> Result<(), Errno> {
        self.ask_all((0..self.servers.len() as u32).map(|number| (number, call)))
    }

    /// Ask the server that has the names how a file stands, after it was told something.
    pub(super) fn standing(
        &self,
        caller: Option<&Caller>,
        call: FileCall,
    ) -> Result<Standing, Errno> {
        match self.names.demand(caller, Call::File(call), &[], 0).answer()? {
            (Value::Standing(standing), _) => Ok(standing),
            _ => Err(Errno::EIO),
        }
    }

    /// Wait for the turn to append.
    pub(super) fn turn(&self, caller: &Caller, call: FileCall) -> Result<Turn, Errno> {
        match self.names.demand(Some(caller), Call::File(call), &[], 0).answer()? {
            (Value::Standing(standing), _) => Ok(Turn::Ours(standing)),
            (Value::Written(count), _) => Ok(Turn::Done(count)),
            _ => Err(Errno::EIO),
        }
    }

    /// The stripes of a file, made as wished if it has none.
    pub(super) fn stripes(&self, node: NodeId, wish: Option<Wish>) -> Result<Stripes, Errno> {
        let call = Call::File(FileCall::Stripes { node, wish });
        let (_, bytes) = self.names.demand(None, call, &[], STRIPES_MOST).answer()?;
        stripes_in(&bytes)
    }

    /// The size of a file.
    pub(super) fn size(&self, node: NodeId) -> Result<u64, Errno> {
        match self.names.demand(None, Call::Getattr { node, handle: None }, &[], 0).answer()? {
            (Value::Attr(attr), _) => Ok(attr.size),
            _ => Err(Errno::EIO),
        }
    }

    /// Something about the server that has the names.
    pub(super) fn names(&self) -> &Client {
        &self.names
    }

    /// All servers together: blocks of every one of them, files of the one that has the names.
    pub(super) fn statfs(&self, names: Statfs) -> Result<Statfs, Errno> {
        let mut all = Statfs { blocks: 0, free: 0, available: 0, fragment: FRAGMENT, ..names };
        for server in &self.servers {
            let (Value::Statfs(state), _) = server.ask(ObjectCall::Statfs, &[], 0)? else {
                return Err(Errno::EIO);
            };
            let unit = u64::from(state.fragment.max(1));
            let blocks = |count: u64| count.saturating_mul(unit) / u64::from(FRAGMENT);
            all.blocks += blocks(state.blocks);
            all.free += blocks(state.free);
            all.available += blocks(state.available);
        }
        Ok(all)
    }

    pub(super) fn report(&self, report: &mut Report) {
        for (number, address) in self.addresses().enumerate() {
            report.add(&format!("server_{number}_is"), address);
        }
    }
}

/// The longest list of servers.
const STRIPES_MOST: usize = 8 << 10;
/// The unit in which blocks of different file systems are added.
const FRAGMENT: u32 = 4_096;
