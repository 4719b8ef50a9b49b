//! Carrying bytes between an encrypted connection and a plain one.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsStream;

/// Carry bytes both ways until both ends have closed, or one is gone. Must be called in a runtime.
///
/// That one end says it will send no more is passed on, and the other way stays open. When the
/// local end is closed altogether, what it has sent is delivered and the peer gets some seconds to
/// close too. When the peer is lost, the local end reads the end of the stream; why is logged.
/// Memory: two buffers of 64 KiB, besides those of TLS.
pub fn relay(stream: TlsStream<TcpStream>, local: UnixStream) -> JoinHandle<()> {
    tokio::spawn(async move {
        let peer = stream.get_ref().0.peer_addr().map_or("?".into(), |peer| peer.to_string());
        match carry(stream, local).await {
            Ok(()) => tracing::debug!(%peer, "the TLS connection has ended"),
            Err(error) => tracing::warn!(%peer, %error, "the TLS connection was lost"),
        }
    })
}

async fn carry(stream: TlsStream<TcpStream>, local: UnixStream) -> io::Result<()> {
    local.set_nonblocking(true)?;
    let watched = local.try_clone()?;
    // SAFETY: the stream is owned by what watches it, and has one descriptor for all its life.
    let watched = unsafe { AsyncFd::register_with_interest(watched, Interest::PRIORITY) }?;
    let local = tokio::net::UnixStream::from_std(local)?;
    let (from_peer, to_peer) = tokio::io::split(stream);
    let (from_local, to_local) = local.into_split();
    let both = async {
        tokio::try_join!(inward(from_peer, to_local), outward(from_local, to_peer)).map(drop)
    };
    tokio::select! {
        result = both => result,
        result = abandoned(&watched) => result,
    }
}

/// Which side of a copy failed.
enum Broken {
    Source(io::Error),
    Target(io::Error),
}

/// From the peer to the local end. If nobody listens there any more, the rest is thrown away: a
/// connection that is dropped with bytes unread would take those on their way out with it.
async fn inward(
    mut peer: impl AsyncRead + Unpin,
    mut local: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    match copy(&mut peer, &mut local).await {
        Ok(()) => unless_gone(local.shutdown().await),
        Err(Broken::Target(error)) => {
            unless_gone(Err(error))?;
            copy(&mut peer, &mut tokio::io::sink()).await.map_err(Broken::into_inner)
        }
        Err(Broken::Source(error)) => Err(error),
    }
}

/// From the local end to the peer.
async fn outward(
    mut local: impl AsyncRead + Unpin,
    mut peer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    match copy(&mut local, &mut peer).await {
        // It was closed before it had read everything; what it sent came before this.
        Err(Broken::Source(error)) => unless_gone(Err(error))?,
        result => result.map_err(Broken::into_inner)?,
    }
    unless_gone(peer.shutdown().await)
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Broken> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = from.read(&mut buffer).await.map_err(Broken::Source)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count]).await.map_err(Broken::Target)?;
        // What TLS has taken may still be in its own buffer.
        to.flush().await.map_err(Broken::Target)?;
    }
}

impl Broken {
    fn into_inner(self) -> io::Error {
        match self {
            Broken::Source(error) | Broken::Target(error) => error,
        }
    }
}

/// That somebody has closed is how connections end.
fn unless_gone(result: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    let is_gone = |kind| matches!(kind, BrokenPipe | ConnectionReset | NotConnected);
    result.or_else(|error| if is_gone(error.kind()) { Ok(()) } else { Err(error) })
}

/// Some time after the local end was closed altogether. The kernel tells that to whoever waits for
/// urgent bytes, which a unix socket never has, so that nothing else wakes this.
async fn abandoned(local: &AsyncFd<UnixStream>) -> io::Result<()> {
    drop(local.ready(Interest::PRIORITY).await?);
    tokio::time::sleep(LINGER).await;
    Ok(())
}

const BUFFER: usize = 64 << 10;
/// How long a peer may take to close after the local end has.
const LINGER: Duration = Duration::from_secs(5);
