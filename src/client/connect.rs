//! Becoming a client: reach the agent, greet it, and open as many connections as are wanted.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::budget::Budget;
use crate::key::Key;
use crate::link::Hub;
use crate::tls::{ClientTls, TlsError};
use crate::wire::greeting::{Purpose, Reception, Welcome};

use super::callers::Callers;
use super::connection::{Connection, Receiver};
use super::reach::{Way, unexpected};
use super::source::{Address, Source};
use super::{Client, watch};

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

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConnectError::Unreachable(agent, error) => {
                write!(f, "cannot reach an agent at {agent}: {error}; does iofwd agent run there?")
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
    /// Connect.
    pub fn connect(how: &How) -> Result<Arc<Client>, ConnectError> {
        let runtime = runtime(how.tls.is_some())?;
        let (welcome, sockets) = runtime.block_on(gather(how))?;
        let hub = Hub::start(THREADS, usize::MAX).map_err(ConnectError::Here)?;
        let mut connections = Vec::new();
        for socket in sockets {
            let connection = Connection::new(welcome.grant as usize);
            let receiver = Box::new(Receiver(Arc::clone(&connection)));
            let link = hub.adopt(socket, usize::MAX, receiver).map_err(ConnectError::Here)?;
            connection.carry(link);
            connections.push(connection);
        }
        let client = Arc::new(Client {
            source: how.source.clone(),
            connections,
            callers: Callers::new(how.job_variables.clone()),
            next: AtomicU64::new(1),
            budget: Budget::new(WAITING_BYTES),
            hub,
            _runtime: how.tls.is_some().then_some(runtime),
        });
        let idle = Duration::from_millis(u64::from(welcome.idle_ms));
        watch::start(&client, idle).map_err(ConnectError::Here)?;
        Ok(client)
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

/// The first connection makes the session, the others join it.
async fn gather(how: &How) -> Result<(Welcome, Vec<OwnedFd>), ConnectError> {
    let way = Way {
        agent: &how.source.agent,
        key: how.key.as_ref(),
        tls: how.tls.as_ref(),
        patience: how.patience,
    };
    let purpose = Purpose::Mount {
        export: how.source.export.clone(),
        subtree: how.source.subtree.clone().into_bytes(),
        client: how.client.clone(),
    };
    let (welcome, first) = welcomed(&way, &purpose).await?;
    let mut sockets = vec![first];
    let join = Purpose::Join { session: welcome.session, token: welcome.token };
    for _ in 1..how.connections {
        sockets.push(welcomed(&way, &join).await?.1);
    }
    Ok((welcome, sockets))
}

async fn welcomed(way: &Way<'_>, purpose: &Purpose) -> Result<(Welcome, OwnedFd), ConnectError> {
    match way.enter(purpose).await? {
        (Reception::Welcome(welcome), socket) => Ok((welcome, socket)),
        _ => Err(ConnectError::NoAgent(way.agent.clone(), unexpected())),
    }
}

/// Threads that take answers off the connections, at most.
const THREADS: usize = 16;
/// Bytes of writes that may wait for room at the agent; whoever brings more waits itself.
const WAITING_BYTES: usize = 256 << 20;
