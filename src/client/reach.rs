//! One connection to an agent: reached, made safe, and greeted.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as LocalStream;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsStream;

use crate::handshake::{Challenge, ClientHandshake, NONCE};
use crate::key::Key;
use crate::link::exchange::{agreement, hear, tell};
use crate::tls::{self, ClientTls};
use crate::wire::agree;
use crate::wire::greeting::{Bytes32, Enter, Hello, Purpose, Reception};

use super::connect::ConnectError;
use super::source::Address;

/// The way to an agent.
pub(super) struct Way<'a> {
    pub(super) agent: &'a Address,
    pub(super) key: Option<&'a Key>,
    pub(super) tls: Option<&'a ClientTls>,
    pub(super) patience: Duration,
}

enum Stream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

impl Way<'_> {
    /// Reach the agent, and be let in.
    pub(super) async fn enter(
        &self,
        purpose: &Purpose,
    ) -> Result<(Reception, OwnedFd), ConnectError> {
        let mut stream = self.reach().await?;
        let reception = self
            .in_time(self.greet(&mut stream, purpose))
            .await
            .map_err(|error| ConnectError::NoAgent(self.agent.clone(), error))?;
        if let Reception::Refused(reason) = reception {
            return Err(ConnectError::Refused(self.agent.clone(), reason));
        }
        Ok((reception, stream.into_fd().map_err(ConnectError::Here)?))
    }

    async fn reach(&self) -> Result<Stream, ConnectError> {
        let unreachable = |error| ConnectError::Unreachable(self.agent.clone(), error);
        let host = match self.agent {
            Address::Unix(path) => {
                let stream = self.in_time(UnixStream::connect(path)).await.map_err(unreachable)?;
                return Ok(Stream::Unix(stream));
            }
            Address::Tcp(host) => host,
        };
        let stream = self.in_time(TcpStream::connect(host)).await.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(ConnectError::Here)?;
        let Some(tls) = self.tls else { return Ok(Stream::Tcp(stream)) };
        match tls.connect(stream).await {
            Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
            Err(error) => Err(ConnectError::Unsafe(self.agent.clone(), error)),
        }
    }

    async fn greet(&self, stream: &mut Stream, purpose: &Purpose) -> io::Result<Reception> {
        match stream {
            Stream::Tcp(stream) => greet(stream, self.key, None, purpose).await,
            Stream::Tls(stream) => {
                let channel = tls::exporter(stream).map_err(io::Error::other)?;
                greet(&mut **stream, self.key, Some(&channel), purpose).await
            }
            // Whoever owns the socket is known: no key is needed.
            Stream::Unix(stream) => greet(stream, None, None, purpose).await,
        }
    }

    async fn in_time<T>(&self, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let late = || Err(io::ErrorKind::TimedOut.into());
        tokio::time::timeout(self.patience, future).await.unwrap_or_else(|_| late())
    }
}

impl Stream {
    /// What carries frames from now on.
    fn into_fd(self) -> io::Result<OwnedFd> {
        Ok(match self {
            Stream::Tcp(stream) => stream.into_std()?.into(),
            Stream::Unix(stream) => stream.into_std()?.into(),
            Stream::Tls(stream) => {
                let (ours, theirs) = LocalStream::pair()?;
                tls::relay(*stream, theirs);
                ours.into()
            }
        })
    }
}

/// The greeting, up to the agent's last word. An agent that is not local must have our key.
async fn greet(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    key: Option<&Key>,
    channel: Option<&Bytes32>,
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
        Reception::Welcome(_) | Reception::Told(_) | Reception::Unknown => return Err(unexpected()),
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
            let agreed = agreement(&hello, offer.version, channel);
            let proof = handshake.finish(&challenge, agreed.bytes()).map_err(io::Error::other)?;
            Some(proof.proof)
        }
    };
    tell(stream, &Enter { proof }).await?;
    hear(stream).await
}

pub(super) fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an answer out of place")
}

const NEEDS_KEY: &str = "it has a key, and wants it proven: give --key-file";
