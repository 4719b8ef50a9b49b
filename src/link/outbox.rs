//! The writing side of a connection: frames leave at once if the socket takes them; what it does
//! not take is kept, in order, until it does.
//!
//! Whoever finds another thread at the socket leaves a small frame with it and goes on: the other
//! sends both in one call. So do answers to requests that came together: they are gathered until
//! the last of those is dealt with.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use iofwd_mount::company::KeepsBack;

use super::buffer::{Buffer, Pool};
use super::lending::Lending;
use super::memory::Share;
use super::{Link, socket};

/// What the socket did not take yet. Locked by whoever sends.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: VecDeque<Kept>,
    /// Of the last bytes that were gathered: the next ones find room.
    spare: Vec<u8>,
    lending: Lending,
}

#[derive(Debug)]
struct Kept {
    bytes: Buffer,
    sent: usize,
    _shares: Vec<Share>,
}

/// Frames that leave with the next one. Locked for moments only.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    shares: Vec<Share>,
    /// Somebody waits for one of them.
    is_urgent: bool,
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

impl Outgoing<'_> {
    /// Nothing but what was gathered.
    const NOTHING: Outgoing<'static> = Outgoing { head: &[], payload: &[], share: None };

    fn length(&self) -> usize {
        self.head.len() + self.payload.iter().map(|part| part.len()).sum::<usize>()
    }
}

impl Gathered {
    fn add(&mut self, outgoing: Outgoing<'_>) {
        self.bytes.extend_from_slice(outgoing.head);
        for part in outgoing.payload {
            self.bytes.extend_from_slice(part);
        }
        self.shares.extend(outgoing.share);
        self.is_urgent = true;
    }
}

impl Outbox {
    /// Nothing of it will be sent any more.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
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

    /// Send what was gathered and a frame, whose payload may be lent, and keep what the socket does
    /// not take. Whether all is gone.
    fn send(&mut self, link: &Link, outgoing: Outgoing<'_>, lends: bool) -> io::Result<bool> {
        let Outgoing { head, payload, share } = outgoing;
        let spare = std::mem::take(&mut self.spare);
        let Gathered { mut bytes, mut shares, .. } = std::mem::replace(
            &mut *link.gathered(),
            Gathered { bytes: spare, shares: Vec::new(), is_urgent: false },
        );
        shares.extend(share);
        let mut parts = Vec::with_capacity(payload.len() + 2);
        parts.extend([IoSlice::new(&bytes), IoSlice::new(head)]);
        parts.extend_from_slice(payload);
        let mut sent = 0;
        if self.queue.is_empty() {
            sent = match lends {
                true => self.lend(link, &parts)?,
                false => socket::send(&link.socket, &parts)?.unwrap_or(0),
            };
            let all: usize = parts.iter().map(|part| part.len()).sum();
            if sent == all {
                bytes.clear();
                self.spare = bytes;
                return Ok(true);
            }
        }
        let bytes = rest(&parts, sent, &link.hub.buffers);
        self.queue.push_back(Kept { bytes, sent: 0, _shares: shares });
        self.drain(link)
    }

    /// Send parts, all but the first two without a copy. How much of it the socket takes.
    fn lend(&mut self, link: &Link, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let (first, lent) = parts.split_at(2.min(parts.len()));
        let mut all = first.iter().map(|part| part.len()).sum();
        let mut sent = socket::send_more(&link.socket, first)?.unwrap_or(0);
        for part in lent {
            if sent < all {
                break;
            }
            all += part.len();
            sent += self.lending.send(&link.socket, part)?;
        }
        Ok(sent)
    }
}

/// The bytes of the parts behind the first `skip`.
fn rest(parts: &[IoSlice<'_>], mut skip: usize, buffers: &Arc<Pool>) -> Buffer {
    let all: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = buffers.buffer(all - skip);
    let mut room = bytes.room();
    for part in parts {
        let passed = skip.min(part.len());
        skip -= passed;
        let (now, next) = room.split_at_mut(part.len() - passed);
        now.copy_from_slice(&part[passed..]);
        room = next;
    }
    bytes
}

impl Link {
    /// Send a frame. Never waits.
    pub fn send(self: &Arc<Link>, outgoing: Outgoing<'_>) {
        if self.is_closed() {
            return;
        }
        if outgoing.length() > SMALL {
            return self.send_large(outgoing, false);
        }
        let is_gathering = self.is_gathering.load(Ordering::Acquire);
        if !is_gathering && let Some(mut outbox) = try_lock(&self.outbox) {
            let result = outbox.send(self, outgoing, false);
            drop(outbox);
            self.after_sending(&result);
        } else {
            let mut gathered = self.gathered();
            gathered.add(outgoing);
            if is_gathering && gathered.bytes.len() < GATHERED_MOST {
                return;
            }
        }
        self.send_gathered();
    }

    /// Send a large frame whose payload nobody writes to before it was answered over this connection:
    /// it need not be copied. Never waits.
    pub fn send_lending(self: &Arc<Link>, outgoing: Outgoing<'_>) {
        if !self.is_closed() {
            self.send_large(outgoing, true);
        }
    }

    fn send_large(self: &Arc<Link>, outgoing: Outgoing<'_>, lends: bool) {
        let result = self.outbox().send(self, outgoing, lends);
        self.after_sending(&result);
        self.send_gathered();
    }

    /// Send a frame when this thread lets it depart, if it is small.
    pub fn send_soon(self: &Arc<Link>, outgoing: Outgoing<'_>) {
        if self.is_closed() || outgoing.length() > SMALL {
            return self.send(outgoing);
        }
        let mut gathered = self.gathered();
        gathered.add(outgoing);
        let is_much = gathered.bytes.len() >= GATHERED_MOST;
        drop(gathered);
        if is_much {
            self.send_gathered();
        }
    }

    /// Whether small frames wait for those that follow at once.
    pub(super) fn gather(&self, gathers: bool) {
        self.is_gathering.store(gathers, Ordering::Release);
    }

    /// Send what was gathered, or left by others while the socket was in use.
    pub(super) fn send_gathered(self: &Arc<Link>) {
        while self.gathered().is_urgent && !self.is_closed() {
            // Whoever is at the socket comes here afterwards.
            let Some(mut outbox) = try_lock(&self.outbox) else { return };
            let result = outbox.send(self, Outgoing::NOTHING, false);
            drop(outbox);
            self.after_sending(&result);
        }
        if self.is_closed() {
            self.give_up_sending();
        }
    }

    /// Send a frame that nobody waits for: with the next one, or when many have come together.
    pub fn send_unhurried(self: &Arc<Link>, head: &[u8]) {
        let mut gathered = self.gathered();
        gathered.bytes.extend_from_slice(head);
        let is_many = gathered.bytes.len() > UNHURRIED_MOST;
        gathered.is_urgent |= is_many;
        drop(gathered);
        if is_many {
            self.send_gathered();
        }
    }

    /// The socket takes more again.
    pub(super) fn send_on(self: &Arc<Link>) {
        let result = self.outbox().drain(self);
        self.after_sending(&result);
        self.send_gathered();
    }

    fn after_sending(self: &Arc<Link>, result: &io::Result<bool>) {
        match result {
            Ok(true) => {}
            Ok(false) => self.write_on(),
            Err(error) => self.close(&error.to_string()),
        }
    }

    /// Nothing of it will be sent any more.
    pub(super) fn give_up_sending(&self) {
        self.outbox().clear();
        let gathered = std::mem::take(&mut *self.gathered());
        drop(gathered);
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeepsBack for Link {
    fn depart(self: Arc<Link>) {
        self.send_gathered();
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// More bytes than these are not kept back.
const UNHURRIED_MOST: usize = 4 << 10;
/// A longer frame is sent from where it lies.
const SMALL: usize = 16 << 10;
/// What was gathered is sent when it is longer.
const GATHERED_MOST: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_taken_is_kept_in_order() {
        let parts = [IoSlice::new(b"abc"), IoSlice::new(b"de"), IoSlice::new(b"fgh")];
        let rest = |skip| rest(&parts, skip, &Arc::default()).to_vec();
        assert_eq!(rest(0), b"abcdefgh");
        assert_eq!(rest(4), b"efgh");
        assert_eq!(rest(8), b"");
    }
}
