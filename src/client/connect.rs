//! Becoming a client: reach an agent, greet it, and open as many connections as are wanted.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::budget::Budget;
use crate::key::Key;
use crate::link::{Hub, Link};
use crate::tls::{ClientTls, TlsError};
use crate::wire::greeting::{Bytes32, Purpose, Reception, Welcome};

use super::acting::Acting;
use super::callers::Callers;
use super::connection::{Connection, Receiver};
use super::presence::Presence;
use super::reach::{Way, unexpected};
use super::resume::{self, Alarm};
use super::source::{Address, Source};
use super::whereabouts::Whereabouts;
use super::{Client, acting, watch};

/// How a client connects.
#[derive(Debug)]
pub struct How {
    /// To whom.
    pub source: Source,
    /// Who it is, in words for the agent's user.
    pub client: String,
    /// The key that the agent must have too; without one only an agent without one is spoken to.
    pub key: Option<Key>,
    /// The connection is encrypted, and the agent has a certificate.
    pub tls: Option<ClientTls>,
    /// Variables that name the job of a process.
    pub job_variables: Vec<String>,
    /// So many connections.
    pub connections: usize,
    /// How long reaching the agent may take.
    pub patience: Duration,
    /// How long applications wait for an agent that is lost; then they get errors until it, or
    /// another one, is back.
    pub loss_bound: Duration,
    /// Calls that take longer fail, whatever they wait for; what they asked for may still be done.
    pub deadline: Option<Duration>,
    /// Go on with an agent that never heard of this client, if there is no other.
    pub begins_anew: bool,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// Nobody is there, or cannot be reached.
    Unreachable(Address, io::Error),
    /// The connection is not safe.
    Unsafe(Address, TlsError),
    /// Somebody is there, who does not talk as an agent does.
    NoAgent(Address, io::Error),
    /// The agent refuses.
    Refused(Address, String),
    /// This side cannot go on.
    Here(io::Error),
}

/// What to try when nobody is there. An export behind a socket is easily written as behind a host.
fn advice(agent: &Address, error: &io::Error) -> &'static str {
    match (agent, error.kind()) {
        (Address::Unix(_), io::ErrorKind::NotADirectory) => {
            "an export stands behind a colon: unix:PATH:EXPORT"
        }
        (Address::Unix(_) | Address::Tcp(_), _) => "does iofwd agent run there?",
    }
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConnectError::Unreachable(agent, error) => {
                write!(f, "cannot reach an agent at {agent}: {error}; {}", advice(agent, error))
            }
            ConnectError::Unsafe(agent, error) => {
                write!(f, "no safe connection to {agent}: {error}")
            }
            ConnectError::NoAgent(agent, error) => {
                write!(f, "what listens at {agent} does not answer as an agent does: {error}")
            }
            ConnectError::Refused(agent, reason) => {
                write!(f, "the agent at {agent} refuses: {reason}")
            }
            ConnectError::Here(error) => write!(f, "cannot set up a connection: {error}"),
        }
    }
}

impl std::error::Error for ConnectError {}

impl Client {
    /// Connect to the first of the agents that can be reached.
    pub fn connect(how: Arc<How>) -> Result<Arc<Client>, ConnectError> {
        let runtime = runtime(how.tls.is_some())?;
        let purpose = how.mount();
        let mut failed = None;
        let (at, (welcome, sockets)) = 'found: {
            for (at, agent) in how.source.agents.iter().enumerate() {
                match runtime.block_on(gather(&how, agent, &purpose)) {
                    Ok(Gathered::Welcome(welcome, sockets)) => {
                        break 'found (at, (welcome, sockets));
                    }
                    Ok(Gathered::Unknown) => {}
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            return Err(failed.unwrap_or_else(|| ConnectError::Here(unexpected())));
        };
        let hub = Hub::start(THREADS, usize::MAX).map_err(ConnectError::Here)?;
        let client = Client::new(how, hub, (at, &welcome), Some(runtime), None);
        client.carry(sockets, &welcome).map_err(ConnectError::Here)?;
        client.start(&welcome)?;
        Ok(client)
    }

    /// A client that nothing carries yet.
    pub(super) fn new(
        how: Arc<How>,
        hub: Arc<Hub>,
        (at, welcome): (usize, &Welcome),
        runtime: Option<Runtime>,
        acting: Option<Acting>,
    ) -> Arc<Client> {
        let alarm = Arc::new(Alarm::default());
        let whereabouts = Arc::<Whereabouts>::default();
        let connection =
            |_| Connection::new(Arc::clone(&alarm), Arc::clone(&hub), Arc::clone(&whereabouts));
        let first = acting.as_ref().map_or(1, |_| acting::FIRST);
        Arc::new(Client {
            connections: (0..how.connections).map(connection).collect(),
            callers: Callers::new(how.job_variables.clone()),
            next: AtomicU64::new(first),
            budget: Budget::new(WAITING_BYTES),
            hub,
            whereabouts,
            holdings: Arc::default(),
            places: Arc::default(),
            presence: Presence::new(at, welcome),
            alarm,
            shares: OnceLock::new(),
            runtime,
            acting,
            how,
        })
    }

    /// Be carried by these from the beginning.
    pub(super) fn carry(&self, sockets: Vec<OwnedFd>, welcome: &Welcome) -> io::Result<()> {
        let links = adopt(&self.hub, &self.connections, sockets, 0)?;
        for (connection, link) in self.connections.iter().zip(links) {
            connection.carry(link, welcome.grant as usize);
        }
        Ok(())
    }

    /// Have somebody look after it.
    pub(super) fn start(self: &Arc<Client>, welcome: &Welcome) -> Result<(), ConnectError> {
        let idle = Duration::from_millis(u64::from(welcome.idle_ms));
        resume::start(self).map_err(ConnectError::Here)?;
        watch::start(self, idle).map_err(ConnectError::Here)
    }

    /// Ask an agent to be let in.
    pub(super) fn gather(
        &self,
        agent: &Address,
        purpose: &Purpose,
    ) -> Result<Gathered, ConnectError> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(gather(&self.how, agent, purpose)),
            None => gather_alone(&self.how, agent, purpose),
        }
    }
}

/// Ask an agent to be let in, with a runtime for that alone. Not where one runs already.
pub(super) fn gather_alone(
    how: &How,
    agent: &Address,
    purpose: &Purpose,
) -> Result<Gathered, ConnectError> {
    runtime(false)?.block_on(gather(how, agent, purpose))
}

/// Sockets that were let in become connections.
pub(super) fn adopt(
    hub: &Arc<Hub>,
    connections: &[Arc<Connection>],
    sockets: Vec<OwnedFd>,
    generation: u64,
) -> io::Result<Vec<Arc<Link>>> {
    let adopt = |(connection, socket): (&Arc<Connection>, OwnedFd)| {
        let connection = Arc::clone(connection);
        hub.adopt(socket, usize::MAX, Box::new(Receiver { connection, generation }))
    };
    connections.iter().zip(sockets).map(adopt).collect()
}

impl How {
    /// What a client wants that was never here.
    pub(super) fn mount(&self) -> Purpose {
        Purpose::Mount {
            export: self.source.export.clone(),
            subtree: self.source.subtree.clone().into_bytes(),
            client: self.client.clone(),
        }
    }

    /// What a client wants that had this token.
    pub(super) fn resume(&self, token: Bytes32) -> Purpose {
        Purpose::Resume {
            token,
            export: self.source.export.clone(),
            subtree: self.source.subtree.clone().into_bytes(),
            client: self.client.clone(),
        }
    }
}

/// Tell an agent something, in words, and get its answer.
pub fn control(
    agent: &Address,
    key: Option<&Key>,
    words: Vec<String>,
    patience: Duration,
) -> Result<String, ConnectError> {
    let purpose = Purpose::Control { words };
    let way = Way { agent, key, tls: None, patience };
    let (told, _) = runtime(false)?.block_on(way.enter(&purpose))?;
    let Reception::Told(text) = told else {
        return Err(ConnectError::NoAgent(agent.clone(), unexpected()));
    };
    Ok(text)
}

/// A runtime to connect with; one that goes on by itself if there is something to be done later.
fn runtime(goes_on: bool) -> Result<Runtime, ConnectError> {
    let mut builder =
        if goes_on { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.worker_threads(1).thread_name("iofwd-runtime").enable_all();
    builder.build().map_err(ConnectError::Here)
}

/// What an agent said.
pub(super) enum Gathered {
    Welcome(Welcome, Vec<OwnedFd>),
    /// It does not know what was to be resumed.
    Unknown,
}

/// The first connection makes the session, the others join it.
async fn gather(how: &How, agent: &Address, purpose: &Purpose) -> Result<Gathered, ConnectError> {
    let (key, tls) = (how.key.as_ref(), how.tls.as_ref());
    let way = Way { agent, key, tls, patience: how.patience };
    let (welcome, first) = match way.enter(purpose).await? {
        (Reception::Welcome(welcome), socket) => (welcome, socket),
        (Reception::Unknown, _) => return Ok(Gathered::Unknown),
        _ => return Err(ConnectError::NoAgent(agent.clone(), unexpected())),
    };
    let mut sockets = vec![first];
    let join = Purpose::Join { session: welcome.session, token: welcome.token };
    for _ in 1..how.connections {
        match way.enter(&join).await? {
            (Reception::Welcome(_), socket) => sockets.push(socket),
            _ => return Err(ConnectError::NoAgent(agent.clone(), unexpected())),
        }
    }
    Ok(Gathered::Welcome(welcome, sockets))
}

/// Threads that take answers off the connections, at most.
const THREADS: usize = 16;
/// Bytes of writes that may wait for room at the agent; whoever brings more waits itself.
const WAITING_BYTES: usize = 256 << 20;
