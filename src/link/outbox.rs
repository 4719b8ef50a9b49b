//! The writing side of a connection: frames leave at once if the socket takes them; what it does
//! not take is kept, in order, until it does.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, MutexGuard, PoisonError};

use super::memory::Share;
use super::{Link, socket};

/// What is still to be sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: VecDeque<Kept>,
    /// Frames that nobody waits for: they leave with the next one.
    unhurried: Vec<u8>,
}

#[derive(Debug)]
struct Kept {
    bytes: Vec<u8>,
    sent: usize,
    _share: Option<Share>,
}

/// A frame on its way out.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// Prefix and head.
    pub head: &'a [u8],
    /// The payload, in pieces.
    pub payload: &'a [IoSlice<'a>],
    /// Memory that is held until it is sent.
    pub share: Option<Share>,
}

impl Outbox {
    /// Nothing of it will be sent any more.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.unhurried.clear();
    }

    /// Send what is kept, as far as the socket takes it. Whether all is gone.
    fn drain(&mut self, link: &Link) -> io::Result<bool> {
        while let Some(kept) = self.queue.front_mut() {
            match socket::send(&link.socket, &[IoSlice::new(&kept.bytes[kept.sent..])])? {
                None => return Ok(false),
                Some(count) => kept.sent += count,
            }
            if kept.sent == kept.bytes.len() {
                self.queue.pop_front();
            }
        }
        Ok(true)
    }

    /// Send a frame, and keep what the socket does not take. Whether all is gone.
    fn send(&mut self, link: &Link, outgoing: Outgoing<'_>) -> io::Result<bool> {
        let Outgoing { head, payload, share } = outgoing;
        let unhurried = std::mem::take(&mut self.unhurried);
        let mut parts = Vec::with_capacity(payload.len() + 2);
        parts.extend([IoSlice::new(&unhurried), IoSlice::new(head)]);
        parts.extend_from_slice(payload);
        let mut sent = 0;
        if self.queue.is_empty() {
            sent = socket::send(&link.socket, &parts)?.unwrap_or(0);
            let all: usize = parts.iter().map(|part| part.len()).sum();
            if sent == all {
                return Ok(true);
            }
        }
        let bytes = rest(&parts, sent);
        self.queue.push_back(Kept { bytes, sent: 0, _share: share });
        self.drain(link)
    }
}

/// The bytes of the parts behind the first `skip`.
fn rest(parts: &[IoSlice<'_>], mut skip: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        let passed = skip.min(part.len());
        skip -= passed;
        bytes.extend_from_slice(&part[passed..]);
    }
    bytes
}

impl Link {
    /// Send a frame. Never waits.
    pub fn send(self: &Arc<Link>, outgoing: Outgoing<'_>) {
        if self.is_closed() {
            return;
        }
        let result = self.outbox().send(self, outgoing);
        self.after_sending(&result);
    }

    /// Send a frame that nobody waits for: with the next one, or when many have come together.
    pub fn send_unhurried(self: &Arc<Link>, head: &[u8]) {
        let mut outbox = self.outbox();
        outbox.unhurried.extend_from_slice(head);
        let is_many = outbox.unhurried.len() > UNHURRIED_MOST;
        drop(outbox);
        if is_many {
            self.send(Outgoing { head: &[], payload: &[], share: None });
        }
    }

    /// The socket takes more again.
    pub(super) fn send_on(self: &Arc<Link>) {
        let result = self.outbox().drain(self);
        self.after_sending(&result);
    }

    fn after_sending(self: &Arc<Link>, result: &io::Result<bool>) {
        match result {
            Ok(true) => {}
            Ok(false) => self.write_on(),
            Err(error) => self.close(&error.to_string()),
        }
    }

    pub(super) fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More bytes than these are not kept back.
const UNHURRIED_MOST: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_taken_is_kept_in_order() {
        let parts = [IoSlice::new(b"abc"), IoSlice::new(b"de"), IoSlice::new(b"fgh")];
        assert_eq!(rest(&parts, 0), b"abcdefgh");
        assert_eq!(rest(&parts, 4), b"efgh");
        assert_eq!(rest(&parts, 8), b"");
    }
}
