//! Where clients connect: accepts, greets, and hands over whoever is welcome.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};

use crate::handshake::{self, AgentHandshake, Transcript};
use crate::link::exchange::{agreement, hear, tell};
use crate::settings::Listen;
use crate::tls;
use crate::wire::agree;
use crate::wire::greeting::{Bytes32, Enter, Hello, Offer, Purpose, Reception};

use super::control::obey;
use super::service::{Peer, Service, Wanted};
use super::session::Session;

/// Places that are listened at.
#[derive(Debug)]
pub struct Listeners(Vec<Listener>);

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listeners {
    /// Listen at these places; they are shown as they are then.
    pub async fn bind(places: &[Listen]) -> Result<(Listeners, Vec<String>), String> {
        let mut listeners = Vec::new();
        let mut shown = Vec::new();
        for place in places {
            let fail = |error: io::Error| format!("cannot listen at {place}: {error}");
            match place {
                Listen::Tcp(address) => {
                    let listener = TcpListener::bind(address).await.map_err(fail)?;
                    shown.push(listener.local_addr().map_err(fail)?.to_string());
                    listeners.push(Listener::Tcp(listener));
                }
                Listen::Unix(path) => {
                    listeners.push(Listener::Unix(bind_unix(path).map_err(fail)?));
                    shown.push(place.to_string());
                }
            }
        }
        Ok((Listeners(listeners), shown))
    }

    /// Let clients in, until the task is ended.
    pub fn serve(self, service: &Arc<Service>) {
        for listener in self.0 {
            let service = Arc::clone(service);
            match listener {
                Listener::Tcp(listener) => tokio::spawn(accept_tcp(listener, service)),
                Listener::Unix(listener) => tokio::spawn(accept_unix(listener, service)),
            };
        }
    }
}

/// A socket that an agent which died left behind is replaced; one that answers is not.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another agent listens there"));
        }
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    // Who may connect is decided by who they are.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

async fn accept_tcp(listener: TcpListener, service: Arc<Service>) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let peer = Peer::Address(address.ip().to_canonical());
                tokio::spawn(receive_tcp(Arc::clone(&service), stream, peer));
            }
            Err(error) => rest(&error).await,
        }
    }
}

async fn receive_tcp(service: Arc<Service>, mut stream: TcpStream, peer: Peer) {
    let _ = stream.set_nodelay(true);
    let Some(tls) = &service.tls else {
        let greeted = receive(&service, &mut stream, &peer, None).await;
        return hand_over(&service, greeted, || Ok(stream.into_std()?.into()));
    };
    let accepted = tls.accept(stream).await;
    let safe = accepted.and_then(|stream| tls::exporter(&stream).map(|channel| (stream, channel)));
    match safe {
        Ok((mut stream, channel)) => {
            let greeted = receive(&service, &mut stream, &peer, Some(&channel)).await;
            hand_over(&service, greeted, || {
                let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
                tls::relay(stream, theirs);
                Ok(ours.into())
            });
        }
        Err(error) => tracing::info!(%peer, %error, "somebody connected without TLS as it is here"),
    }
}

async fn accept_unix(listener: UnixListener, service: Arc<Service>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let service = Arc::clone(&service);
                tokio::spawn(async move {
                    let Ok(credentials) = stream.peer_cred() else { return };
                    let peer = Peer::Local { uid: credentials.uid(), gid: credentials.gid() };
                    let mut stream = stream;
                    let greeted = receive(&service, &mut stream, &peer, None).await;
                    hand_over(&service, greeted, || Ok(stream.into_std()?.into()));
                });
            }
            Err(error) => rest(&error).await,
        }
    }
}

/// No descriptors, for example: the next one may have more luck.
async fn rest(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

fn hand_over(
    service: &Service,
    greeted: Option<Arc<Session>>,
    socket: impl FnOnce() -> io::Result<OwnedFd>,
) {
    let Some(session) = greeted else { return };
    match socket() {
        Ok(socket) => service.serve(&session, socket),
        Err(error) => tracing::warn!(client = session.client(), %error, "a connection was lost"),
    }
}

/// Greet whoever connected. Its session, if it is one that stays.
async fn receive(
    service: &Arc<Service>,
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    peer: &Peer,
    channel: Option<&Bytes32>,
) -> Option<Arc<Session>> {
    match tokio::time::timeout(GREETING, greet(service, stream, peer, channel)).await {
        Ok(Ok(session)) => session,
        Ok(Err(error)) => {
            tracing::info!(%peer, %error, "somebody connected and did not talk as clients do");
            None
        }
        Err(_) => {
            tracing::info!(%peer, "somebody connected and did not go on");
            None
        }
    }
}

async fn greet(
    service: &Arc<Service>,
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    peer: &Peer,
    channel: Option<&Bytes32>,
) -> io::Result<Option<Arc<Session>>> {
    let hello: Hello = hear(stream).await?;
    hello.check().map_err(io::Error::other)?;
    let Some(version) = agree(&hello.versions) else {
        let why = format!(
            "it speaks versions {:?} of the protocol, the client {:?}: use an iofwd of the same age",
            crate::wire::VERSIONS,
            hello.versions
        );
        tell(stream, &Reception::Refused(why)).await?;
        return Ok(None);
    };
    let agreed = agreement(&hello, version, channel);
    if let Err(why) = authenticate(service, stream, peer, (&hello, version), &agreed).await? {
        tracing::warn!(%peer, reason = why, "refused");
        tell(stream, &Reception::Refused(why)).await?;
        return Ok(None);
    }
    let purpose = hello.purpose().map_err(io::Error::other)?;
    let (session, reception) = match fulfil(service, peer, purpose).await {
        Ok((session, reception)) => (session, reception),
        Err(why) => {
            tracing::info!(%peer, reason = why, "refused");
            (None, Reception::Refused(why))
        }
    };
    tell(stream, &reception).await?;
    Ok(session)
}

/// Both prove that they have the key, if there is one. Whoever owns a unix socket is known anyway.
async fn authenticate(
    service: &Arc<Service>,
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    peer: &Peer,
    (hello, version): (&Hello, u16),
    agreed: &Transcript,
) -> io::Result<Result<(), String>> {
    let key = match peer {
        Peer::Address(_) => service.key.as_ref(),
        Peer::Local { .. } => None,
    };
    if let Some(left) = service.penalty(peer) {
        return Ok(Err(format!("too many wrong keys: try again in {} s", left.as_secs() + 1)));
    }
    let Some(key) = key else {
        let offer = Offer { version, nonce: [0; 32], proof: None };
        tell(stream, &Reception::Offer(offer)).await?;
        let _: Enter = hear(stream).await?;
        return Ok(Ok(()));
    };
    let theirs = handshake::Hello { nonce: hello.nonce };
    let (shake, challenge) = AgentHandshake::respond(key, &theirs, agreed.bytes());
    let offer = Offer { version, nonce: challenge.nonce, proof: Some(challenge.proof) };
    tell(stream, &Reception::Offer(offer)).await?;
    let enter: Enter = hear(stream).await?;
    let proof = enter.proof.map(|proof| handshake::Proof { proof });
    let is_right = proof.is_some_and(|proof| shake.verify(&proof).is_ok());
    service.tried(peer, is_right);
    Ok(if is_right { Ok(()) } else { Err("the client has another key".into()) })
}

/// Give the client what it wants.
async fn fulfil(
    service: &Arc<Service>,
    peer: &Peer,
    purpose: Purpose,
) -> Result<(Option<Arc<Session>>, Reception), String> {
    if service.is_stopping() {
        return Err("it is about to stop".into());
    }
    let (service, peer) = (Arc::clone(service), peer.clone());
    // Looks at files, which may take its time.
    let fulfilled = tokio::task::spawn_blocking(move || match purpose {
        Purpose::Mount { export, subtree, client } => {
            let wanted = Wanted { export: &export, subtree: &subtree, client: &client };
            let (session, welcome) = service.admit(&peer, &wanted)?;
            tracing::info!(client = session.client(), session = session.id(), export, "client");
            Ok((Some(session), Reception::Welcome(welcome)))
        }
        Purpose::Join { session, token } => {
            let (session, welcome) = service.join(session, &token)?;
            Ok((Some(session), Reception::Welcome(welcome)))
        }
        Purpose::Resume { token, export, subtree, client } => {
            let wanted = Wanted { export: &export, subtree: &subtree, client: &client };
            Ok(match service.resume(&peer, &token, &wanted)? {
                Some((session, welcome)) => (Some(session), Reception::Welcome(welcome)),
                None => (None, Reception::Unknown),
            })
        }
        Purpose::Control { words } => Ok((None, Reception::Told(obey(&service, &peer, &words)?))),
    });
    fulfilled.await.unwrap_or_else(|_| Err("it failed".into()))
}

/// How long a greeting may take.
const GREETING: Duration = Duration::from_secs(10);
