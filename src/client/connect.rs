//! Becoming a client: reach the agent, greet it, and open as many connections as are wanted.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::budget::Budget;
use crate::handshake::{Challenge, ClientHandshake, NONCE};
use crate::key::Key;
use crate::link::Hub;
use crate::link::exchange::{agreement, hear, tell};
use crate::wire::agree;
use crate::wire::greeting::{Enter, Hello, Purpose, Reception, Welcome};

use super::callers::Callers;
use super::connection::{Connection, Receiver};
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
        let (welcome, sockets) = runtime()?.block_on(gather(how))?;
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
            callers: Callers::default(),
            next: AtomicU64::new(1),
            budget: Budget::new(WAITING_BYTES),
            hub,
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
    let told = runtime()?.block_on(async {
        let (reception, _) = enter(agent, key, &purpose, patience).await?;
        Ok::<_, ConnectError>(reception)
    })?;
    let Reception::Told(text) = told else {
        return Err(ConnectError::NoAgent(agent.clone(), unexpected()));
    };
    Ok(text)
}

fn runtime() -> Result<tokio::runtime::Runtime, ConnectError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(ConnectError::Here)
}

/// The first connection makes the session, the others join it.
async fn gather(how: &How) -> Result<(Welcome, Vec<OwnedFd>), ConnectError> {
    let agent = &how.source.agent;
    let purpose = Purpose::Mount {
        export: how.source.export.clone(),
        subtree: how.source.subtree.clone().into_bytes(),
        client: how.client.clone(),
    };
    let (welcome, first) = welcomed(agent, how.key.as_ref(), &purpose, how.patience).await?;
    let mut sockets = vec![first];
    let join = Purpose::Join { session: welcome.session, token: welcome.token };
    for _ in 1..how.connections {
        sockets.push(welcomed(agent, how.key.as_ref(), &join, how.patience).await?.1);
    }
    Ok((welcome, sockets))
}

async fn welcomed(
    agent: &Address,
    key: Option<&Key>,
    purpose: &Purpose,
    patience: Duration,
) -> Result<(Welcome, OwnedFd), ConnectError> {
    match enter(agent, key, purpose, patience).await? {
        (Reception::Welcome(welcome), socket) => Ok((welcome, socket)),
        _ => Err(ConnectError::NoAgent(agent.clone(), unexpected())),
    }
}

/// Reach the agent, and be let in.
async fn enter(
    agent: &Address,
    key: Option<&Key>,
    purpose: &Purpose,
    patience: Duration,
) -> Result<(Reception, OwnedFd), ConnectError> {
    let late = || io::Error::from(io::ErrorKind::TimedOut);
    let reached = tokio::time::timeout(patience, reach(agent)).await.unwrap_or(Err(late()));
    let mut stream = reached.map_err(|error| ConnectError::Unreachable(agent.clone(), error))?;
    let greeted = match &mut stream {
        Stream::Tcp(stream) => tokio::time::timeout(patience, greet(stream, key, purpose)).await,
        // Whoever owns the socket is known: no key is needed.
        Stream::Unix(stream) => tokio::time::timeout(patience, greet(stream, None, purpose)).await,
    };
    let reception = greeted
        .unwrap_or(Err(late()))
        .map_err(|error| ConnectError::NoAgent(agent.clone(), error))?;
    if let Reception::Refused(reason) = reception {
        return Err(ConnectError::Refused(agent.clone(), reason));
    }
    Ok((reception, stream.into_fd().map_err(ConnectError::Here)?))
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn into_fd(self) -> io::Result<OwnedFd> {
        Ok(match self {
            Stream::Tcp(stream) => stream.into_std()?.into(),
            Stream::Unix(stream) => stream.into_std()?.into(),
        })
    }
}

async fn reach(agent: &Address) -> io::Result<Stream> {
    Ok(match agent {
        Address::Tcp(host) => {
            let stream = TcpStream::connect(host).await?;
            stream.set_nodelay(true)?;
            Stream::Tcp(stream)
        }
        Address::Unix(path) => Stream::Unix(UnixStream::connect(path).await?),
    })
}

/// The greeting, up to the agent's last word. An agent that is not local must have our key.
async fn greet(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    key: Option<&Key>,
    purpose: &Purpose,
) -> io::Result<Reception> {
    let (handshake, nonce) = match key.map(ClientHandshake::start) {
        Some((handshake, hello)) => (Some(handshake), hello.nonce),
        None => (None, [0; NONCE]),
    };
    let hello = Hello::new(purpose, nonce);
    tell(stream, &hello).await?;
    let offer = match hear(stream).await? {
        Reception::Offer(offer) => offer,
        refused @ Reception::Refused(_) => return Ok(refused),
        Reception::Welcome(_) | Reception::Told(_) => return Err(unexpected()),
    };
    if agree(&[offer.version]).is_none() {
        return Err(unexpected());
    }
    let proof = match (handshake, offer.proof) {
        (None, None) => None,
        (None, Some(_)) => return Ok(Reception::Refused(NEEDS_KEY.into())),
        (Some(_), None) => return Err(io::Error::other("it did not prove that it has our key")),
        (Some(handshake), Some(proof)) => {
            let challenge = Challenge { nonce: offer.nonce, proof };
            let agreed = agreement(&hello, offer.version);
            let proof = handshake.finish(&challenge, agreed.bytes()).map_err(io::Error::other)?;
            Some(proof.proof)
        }
    };
    tell(stream, &Enter { proof }).await?;
    hear(stream).await
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an answer out of place")
}

/// Threads that take answers off the connections, at most.
const THREADS: usize = 16;
/// Bytes of writes that may wait for room at the agent; whoever brings more waits itself.
const WAITING_BYTES: usize = 256 << 20;
const NEEDS_KEY: &str = "it has a key, and wants it proven: give --key-file";
