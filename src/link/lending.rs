//! Sending bytes from where they lie: the socket refers to their pages instead of copying them, and
//! the other side copies them out of there.
//!
//! They must not be written to before all of them were read. Whoever lends them knows when that is:
//! when the other side has answered over the same connection.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice, vmsplice};
use nix::unistd::pipe2;

/// Carries pages to a socket. Empty between two calls.
#[derive(Debug, Default)]
pub(super) struct Lending {
    pipe: Option<Pipe>,
    /// The system does not do it.
    is_refused: bool,
}

#[derive(Debug)]
struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
}

impl Lending {
    /// Send as much as the socket takes at once, without a copy. Whatever it does not take is to be
    /// sent in another way.
    pub(super) fn send(&mut self, socket: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() && !self.is_refused {
            match self.send_some(socket, &bytes[sent..])? {
                0 => break,
                count => sent += count,
            }
        }
        Ok(sent)
    }

    fn send_some(&mut self, socket: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        let filled = match self.pipe() {
            Ok(pipe) => vmsplice(&pipe.to, &[IoSlice::new(bytes)], SpliceFFlags::SPLICE_F_NONBLOCK),
            Err(error) => Err(error),
        };
        let (Ok(filled), Some(pipe)) = (filled, &self.pipe) else {
            self.is_refused = true;
            return Ok(0);
        };
        let mut flags = SpliceFFlags::SPLICE_F_NONBLOCK;
        flags.set(SpliceFFlags::SPLICE_F_MORE, filled < bytes.len());
        let mut sent = 0;
        while sent < filled {
            match splice(&pipe.from, None, socket, None, filled - sent, flags) {
                Ok(count) if count > 0 => sent += count,
                Err(nix::Error::EINTR) => {}
                result => {
                    // What the socket did not take must not leave later, behind something else.
                    self.pipe = None;
                    self.is_refused = result == Err(nix::Error::EINVAL);
                    return match result {
                        Ok(_) | Err(nix::Error::EAGAIN | nix::Error::EINVAL) => Ok(sent),
                        Err(error) => Err(error.into()),
                    };
                }
            }
        }
        Ok(sent)
    }

    fn pipe(&mut self) -> nix::Result<&Pipe> {
        if self.pipe.is_none() {
            let (from, to) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
            // Where it may not be as large, it is filled several times.
            let _ = fcntl(&to, FcntlArg::F_SETPIPE_SZ(ROOM));
            self.pipe = Some(Pipe { from, to });
        }
        self.pipe.as_ref().ok_or(nix::Error::EBADF)
    }
}

/// The pages of most large writes.
const ROOM: i32 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_socket_takes_what_it_can_and_in_order() {
        let (ours, mut theirs) = UnixStream::pair().expect("sockets");
        ours.set_nonblocking(true).expect("it can be");
        let bytes: Vec<u8> = (0..3_000_001).map(|at| (at % 251) as u8).collect();
        let mut lending = Lending::default();
        let (mut sent, mut read) = (0, Vec::new());
        while read.len() < bytes.len() {
            sent += lending.send(&ours, &bytes[sent..]).expect("the other side is there");
            assert!(sent > read.len(), "nothing was sent");
            let mut piece = vec![0; sent - read.len()];
            theirs.read_exact(&mut piece).expect("it was sent");
            read.extend(piece);
        }
        assert_eq!(read, bytes);
    }

    #[test]
    fn who_is_gone_is_noticed() {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        ours.set_nonblocking(true).expect("it can be");
        drop(theirs);
        assert!(Lending::default().send(&ours, &[7; 100]).is_err());
    }
}
