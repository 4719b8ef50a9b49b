//! The system calls of a connection; none of them waits.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::sockopt::{
    KeepAlive, RcvBuf, SndBuf, SndBufForce, TcpKeepCount, TcpKeepIdle, TcpKeepInterval, TcpNoDelay,
    TcpUserTimeout,
};
use nix::sys::socket::{
    AddressFamily, MsgFlags, Shutdown, SockaddrLike, SockaddrStorage, getsockname, recvmsg,
    sendmsg, setsockopt, shutdown,
};

/// Set a connection up: small messages leave at once, large ones fit, and a dead peer is noticed.
pub(super) fn prepare(socket: &impl AsFd) -> io::Result<()> {
    let fd = socket.as_fd();
    // Pages are sent by a call that asks the descriptor whether it may wait.
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    let address: SockaddrStorage = getsockname(fd.as_raw_fd())?;
    if address.family() == Some(AddressFamily::Unix) {
        // What a system allows ordinary users is less; then large answers leave in pieces.
        if setsockopt(&fd, SndBufForce, &BUFFERED).is_err() {
            let _ = setsockopt(&fd, SndBuf, &BUFFERED);
        }
        let _ = setsockopt(&fd, RcvBuf, &BUFFERED);
        return Ok(());
    }
    // Without the right to it the system finds a size by itself, up to what it allows.
    let _ = setsockopt(&fd, SndBufForce, &BUFFERED);
    setsockopt(&fd, TcpNoDelay, &true)?;
    setsockopt(&fd, KeepAlive, &true)?;
    setsockopt(&fd, TcpKeepIdle, &5)?;
    setsockopt(&fd, TcpKeepInterval, &5)?;
    setsockopt(&fd, TcpKeepCount, &5)?;
    setsockopt(&fd, TcpUserTimeout, &UNANSWERED_MS)?;
    Ok(())
}

/// Read into one place after the other. `None` if nothing is there yet, 0 at the end.
pub(super) fn receive<const PLACES: usize>(
    socket: &impl AsFd,
    places: [&mut [u8]; PLACES],
) -> io::Result<Option<usize>> {
    let mut parts = places.map(IoSliceMut::new);
    let fd = socket.as_fd().as_raw_fd();
    loop {
        match recvmsg::<()>(fd, &mut parts, None, MsgFlags::MSG_DONTWAIT) {
            Ok(message) => return Ok(Some(message.bytes)),
            Err(nix::Error::EINTR) => {}
            Err(nix::Error::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Write the parts, as far as the socket takes them. `None` if it takes nothing now.
pub(super) fn send(socket: &impl AsFd, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
    send_with(socket, parts, MsgFlags::empty())
}

/// Write the parts; more will follow at once.
pub(super) fn send_more(socket: &impl AsFd, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
    send_with(socket, parts, MsgFlags::from_bits_retain(libc::MSG_MORE))
}

fn send_with(
    socket: &impl AsFd,
    parts: &[IoSlice<'_>],
    flags: MsgFlags,
) -> io::Result<Option<usize>> {
    let fd = socket.as_fd().as_raw_fd();
    let flags = flags | MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    loop {
        match sendmsg::<()>(fd, parts, &[], flags, None) {
            Ok(count) => return Ok(Some(count)),
            Err(nix::Error::EINTR) => {}
            Err(nix::Error::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whoever waits at the other end learns that it is over.
pub(super) fn shut(socket: &impl AsFd) {
    let _ = shutdown(socket.as_fd().as_raw_fd(), Shutdown::Both);
}

/// Bytes that a socket holds for the other side: a few of the largest requests.
const BUFFERED: usize = 4 << 20;
/// How long the other side may leave data unacknowledged before it is given up.
const UNANSWERED_MS: u32 = 60_000;
