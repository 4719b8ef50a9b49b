//! One data server: asked, and asked again when it was away.
//!
//! What is asked of objects has the same effect however often it is done. So a call whose answer was
//! lost with its connection is simply made again, until the server is back or patience is at an end.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iofwd_mount::Errno;

use crate::agent::{AgentId, Visit, agent_name};
use crate::client::{Address, Client, ConnectError, Demanded, How, Source};
use crate::link::Buffer;
use crate::wire::answer::Value;
use crate::wire::call::Call;
use crate::wire::stripe::{FileCall, ObjectCall};

use super::Setup;

/// A data server.
#[derive(Debug)]
pub(super) struct DataServer {
    setup: Setup,
    number: usize,
    identity: OnceLock<[u8; 16]>,
    /// Who asks.
    agent: AgentId,
    client: Mutex<Option<Arc<Client>>>,
    fences: Mutex<Fences>,
}

/// Agents that died. What they sent must not be done after what this one sends.
#[derive(Debug, Default)]
struct Fences {
    /// Not told to the server yet.
    new: Vec<AgentId>,
    done: HashSet<AgentId>,
}

/// Why a server cannot be asked.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is not there, and may come back.
    Away(String),
    /// It is there, but not as it should be.
    Wrong(String),
}

impl Trouble {
    fn away(why: impl ToString) -> Trouble {
        Trouble::Away(why.to_string())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Trouble::Away(why) | Trouble::Wrong(why)) = self;
        f.write_str(why)
    }
}

impl From<Trouble> for String {
    fn from(trouble: Trouble) -> String {
        trouble.to_string()
    }
}

/// What a server answers.
pub(super) type Answer = Result<(Value, Buffer), Errno>;

/// A call that was made, with what it takes to make it again.
pub(super) struct Asked<'a> {
    server: &'a DataServer,
    call: ObjectCall,
    payload: &'a [u8],
    room: usize,
    sent: Option<(Arc<Client>, Demanded)>,
}

impl DataServer {
    /// All servers of a setup.
    pub(super) fn all(setup: &Setup, agent: AgentId) -> Vec<Arc<DataServer>> {
        let server = |number| {
            let (identity, client, fences) = (OnceLock::new(), Mutex::default(), Mutex::default());
            Arc::new(DataServer { setup: setup.clone(), number, identity, agent, client, fences })
        };
        (0..setup.servers.len()).map(server).collect()
    }

    /// Nothing more will be asked of it.
    pub(super) fn leave(&self) {
        if let Some(client) = self.lock().take() {
            client.leave();
        }
    }

    /// Where it is.
    pub(super) fn address(&self) -> &str {
        &self.setup.servers[self.number]
    }

    /// Who it is; it is reached for that.
    pub(super) fn identity(&self) -> Result<[u8; 16], Trouble> {
        self.client()?;
        let identity = self.identity.get().copied();
        identity.ok_or_else(|| Trouble::Wrong("it did not say who it is".into()))
    }

    /// Tell it which servers there are; `EXDEV` if it knows others.
    pub(super) fn enrol(&self, list: &[u8]) -> Result<Result<(), Errno>, Trouble> {
        let enrolled = self.client()?.demand(None, Call::File(FileCall::Enrol), list, 0);
        Ok(enrolled.answer().map(drop))
    }

    /// That agent is dead: before anything else is asked of the server it forgets what came from it.
    pub(super) fn fence(&self, agent: AgentId) {
        let mut fences = self.fences();
        if agent != self.agent && !fences.done.contains(&agent) && !fences.new.contains(&agent) {
            fences.new.push(agent);
        }
    }

    fn fences(&self) -> MutexGuard<'_, Fences> {
        self.fences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tell the server which agents are dead.
    fn evict(&self, client: &Client) -> Result<(), Trouble> {
        let new = self.fences().new.clone();
        for agent in new {
            let call = Call::Object(ObjectCall::Evict { agent });
            let evicted = client.demand(None, call, &[], 0).answer();
            evicted.map_err(|errno| {
                Trouble::away(format!("{} hears a dead agent: {errno}", self.address()))
            })?;
            let mut fences = self.fences();
            fences.new.retain(|other| *other != agent);
            fences.done.insert(agent);
        }
        Ok(())
    }

    /// Ask, and wait for the answer.
    pub(super) fn ask(&self, call: ObjectCall, payload: &[u8], room: usize) -> Answer {
        self.begin(call, payload, room).answer()
    }

    /// Ask, and go on.
    pub(super) fn begin<'a>(
        &'a self,
        call: ObjectCall,
        payload: &'a [u8],
        room: usize,
    ) -> Asked<'a> {
        let is_fenced = !self.fences().new.is_empty();
        let client = self.lock().clone().filter(|client| !is_fenced && !client.is_gone());
        let sent = client.map(|client| {
            let demanded = client.demand(None, Call::Object(call), payload, room);
            (client, demanded)
        });
        Asked { server: self, call, payload, room, sent }
    }

    /// A client of it that is connected. Many may want one; one of them connects.
    fn client(&self) -> Result<Arc<Client>, Trouble> {
        let mut held = self.lock();
        if let Some(client) = held.as_ref().filter(|client| !client.is_gone()) {
            self.evict(client)?;
            return Ok(Arc::clone(client));
        }
        // Another one would not know what was asked of this one; who it is is looked at first.
        if let Some(gone) = held.take() {
            gone.leave();
        }
        let name = agent_name(&self.agent);
        let client = connect(&self.setup, self.number, (&name, Vec::new()), false)?;
        let answer = client.demand(None, Call::Object(ObjectCall::Identify), &[], 16).answer();
        let (_, bytes) = answer.map_err(|errno| {
            let why = format!("{} does not answer as a data server does: {errno}", self.address());
            if client.is_gone() { Trouble::Away(why) } else { Trouble::Wrong(why) }
        })?;
        let silent = || Trouble::Wrong("it did not say who it is".into());
        let identity = bytes.first_chunk().copied().ok_or_else(silent)?;
        if *self.identity.get_or_init(|| identity) != identity {
            let why = format!("{} is another server than it was", self.address());
            return Err(Trouble::Wrong(why));
        }
        self.evict(&client)?;
        *held = Some(Arc::clone(&client));
        Ok(client)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Client>>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked<'_> {
    /// Wait for the answer, and for the server if it is away.
    pub(super) fn answer(mut self) -> Answer {
        let end = Instant::now() + self.server.setup.patience;
        let mut is_away = false;
        loop {
            if let Some((client, demanded)) = self.sent.take() {
                let answer = demanded.answer();
                if answer.is_ok() || !client.is_gone() {
                    return answer;
                }
            }
            match self.server.client() {
                Ok(client) => {
                    let call = Call::Object(self.call);
                    let demanded = client.demand(None, call, self.payload, self.room);
                    self.sent = Some((client, demanded));
                }
                Err(reason) if Instant::now() >= end => {
                    tracing::error!(%reason, "a data server is given up");
                    return Err(Errno::EIO);
                }
                Err(reason) => {
                    if !std::mem::replace(&mut is_away, true) {
                        tracing::warn!(%reason, "a data server is away; waiting for it");
                    }
                    thread::sleep(AGAIN);
                }
            }
        }
    }
}

/// Become a client of a server, under a name. What it had it tells to a server that does not know it, if
/// it may.
pub(super) fn connect(
    setup: &Setup,
    number: usize,
    (name, job_variables): (&str, Vec<String>),
    begins_anew: bool,
) -> Result<Arc<Client>, Trouble> {
    let how = How {
        client: format!("{}:{name}", host()),
        job_variables,
        begins_anew,
        ..how(setup, number)
    };
    Client::connect(Arc::new(how)).map_err(|error| match error {
        ConnectError::Unreachable(..) | ConnectError::NoAgent(..) => Trouble::away(error),
        ConnectError::Unsafe(..) | ConnectError::Refused(..) | ConnectError::Here(_) => {
            Trouble::Wrong(error.to_string())
        }
    })
}

/// Ask servers again that are away, for so long.
pub(super) fn patiently<T>(
    patience: Duration,
    ask: impl Fn() -> Result<T, Trouble>,
) -> Result<T, String> {
    let end = Instant::now() + patience;
    let mut last = String::new();
    loop {
        match ask() {
            Ok(got) => return Ok(got),
            Err(Trouble::Away(why)) if Instant::now() < end => {
                if why != last {
                    tracing::warn!(why, "a data server is away; waiting for it");
                }
                last = why;
                thread::sleep(AGAIN);
            }
            Err(trouble) => return Err(trouble.to_string()),
        }
    }
}

/// How the server that has the names is asked on behalf of a client.
pub(super) fn acting(setup: &Setup, visit: &Visit<'_>) -> How {
    let how = how(setup, 0);
    let source = Source { subtree: visit.subtree.to_owned(), ..how.source };
    let client = format!("{} by {}", visit.client, host());
    How { source, client, connections: 1, begins_anew: true, ..how }
}

fn how(setup: &Setup, number: usize) -> How {
    let agent = Address::Tcp(setup.servers[number].clone());
    How {
        source: Source { agents: vec![agent], export: EXPORT.into(), subtree: String::new() },
        client: String::new(),
        key: setup.key.clone(),
        tls: None,
        job_variables: Vec::new(),
        connections: CONNECTIONS,
        patience: REACHING,
        loss_bound: setup.patience,
        deadline: None,
        begins_anew: false,
    }
}

fn host() -> String {
    nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a data server calls what it gives to agents.
pub(crate) const EXPORT: &str = "names";
const CONNECTIONS: usize = 2;
/// How long one try to reach a server may take.
const REACHING: Duration = Duration::from_secs(3);
/// A server that is away is tried again after so long.
const AGAIN: Duration = Duration::from_millis(100);
