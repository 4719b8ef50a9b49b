//! The reading side of a connection: bytes become frames, never more than one at a time. But for a
//! few bytes that came along with others, what is not taken yet stays in the socket.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed as RELAXED;

use crate::wire::frame::{Malformed, PREFIX, Prefix};

use super::buffer::Buffer;
use super::memory::Share;
use super::{Frame, Link, socket};

/// How far the frame that comes has come.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    ahead: Ahead,
    prefix: [u8; PREFIX],
    /// Bytes of the frame that are there.
    have: usize,
    body: Option<Body>,
    /// Frames of this connection that are dealt with at this moment.
    pub(super) busy: usize,
    /// It is to be read again when one of them is done.
    pub(super) is_waiting: bool,
}

#[derive(Debug)]
struct Body {
    prefix: Prefix,
    head: Vec<u8>,
    payload: Buffer,
    share: Share,
}

/// What came of reading.
#[derive(Debug)]
pub(super) enum Received {
    /// A frame is complete.
    Frame(Frame),
    /// There is more to come.
    Part,
    /// There is no room for it now.
    Paused,
    /// There is nothing to come any more.
    End,
}

impl Inbox {
    /// Nothing more will come.
    pub(super) fn clear(&mut self) {
        self.body = None;
        self.ahead = Ahead::default();
    }

    /// Whether there are bytes that the socket does not have any more.
    pub(super) fn has_more(&self) -> bool {
        self.ahead.used < self.ahead.end
    }

    /// Whether another frame is at hand, or will be as soon as it is asked for. One that is large
    /// takes its time.
    pub(super) fn has_another(&self) -> bool {
        let at_hand = &self.ahead.bytes[self.ahead.used..self.ahead.end];
        let prefix = at_hand.first_chunk().map(Prefix::from_bytes);
        match prefix {
            Some(Ok(prefix)) if prefix.length() <= at_hand.len() => true,
            Some(Ok(prefix)) => prefix.length() <= AHEAD_MOST && !self.ahead.is_emptied,
            Some(Err(_)) => false,
            None => !at_hand.is_empty() && !self.ahead.is_emptied,
        }
    }

    /// Whether everything that had come was read. Answered once: more may come at any time.
    pub(super) fn is_emptied(&mut self) -> bool {
        !self.has_more() && std::mem::take(&mut self.ahead.is_emptied)
    }

    /// Read what is there, until a frame is complete.
    pub(super) fn receive(&mut self, link: &Arc<Link>) -> io::Result<Received> {
        while self.have < PREFIX {
            self.have += self.ahead.take(&mut self.prefix[self.have..]);
            if self.have == PREFIX {
                break;
            }
            match self.ahead.receive(link, &mut [], &mut [])? {
                None => return Ok(self.part(link)),
                Some(0) if self.have == 0 => return Ok(Received::End),
                Some(0) => return Err(torn()),
                Some(_) => {}
            }
        }
        if self.body.is_none() {
            let prefix = Prefix::from_bytes(&self.prefix).map_err(invalid)?;
            let Some(share) = link.admit(prefix) else {
                // Not its fault: it is we who do not read on.
                link.frame_began.store(0, RELAXED);
                return Ok(Received::Paused);
            };
            let payload = link.hub.buffers.buffer(prefix.payload);
            self.body = Some(Body { prefix, head: vec![0; prefix.head], payload, share });
        }
        self.fill(link)
    }

    /// It has come so far. Since when, if it has begun to come: its last bytes are those heard last.
    fn part(&self, link: &Link) -> Received {
        let began = if self.have == 0 { 0 } else { link.heard.load(RELAXED) };
        if began == 0 || link.frame_began.load(RELAXED) == 0 {
            link.frame_began.store(began, RELAXED);
        }
        Received::Part
    }

    fn fill(&mut self, link: &Arc<Link>) -> io::Result<Received> {
        let Some(body) = &mut self.body else { return Ok(Received::Part) };
        let end = body.prefix.length();
        while self.have < end {
            let (head, payload) = body.missing(self.have - PREFIX);
            let at_hand = self.ahead.take(head) + self.ahead.take(payload);
            if at_hand > 0 {
                self.have += at_hand;
                continue;
            }
            match self.ahead.receive(link, head, payload)? {
                None => return Ok(self.part(link)),
                Some(0) => return Err(torn()),
                Some(count) => self.have += count,
            }
        }
        self.have = 0;
        link.frame_began.store(0, RELAXED);
        let complete = self.body.take().map(|Body { prefix, head, payload, share }| {
            Received::Frame(Frame { prefix, head, payload, share })
        });
        Ok(complete.unwrap_or(Received::Part))
    }
}

/// Bytes that came along: the beginning of what is next.
#[derive(Debug, Default)]
struct Ahead {
    bytes: Vec<u8>,
    used: usize,
    end: usize,
    /// There was more than fitted.
    is_crowded: bool,
    /// Whatever the socket had by then was read.
    is_emptied: bool,
}

impl Ahead {
    /// Copy as much as there is, and fits.
    fn take(&mut self, to: &mut [u8]) -> usize {
        let count = to.len().min(self.end - self.used);
        to[..count].copy_from_slice(&self.bytes[self.used..self.used + count]);
        self.used += count;
        count
    }

    /// Read what is there into two places, and what follows, but not much of it. Everything from
    /// before is used. How much came into the two places, or, if there is nothing to be read into
    /// them, at all.
    fn receive(
        &mut self,
        link: &Link,
        first: &mut [u8],
        second: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let missing = first.len() + second.len();
        // As long as they are small and come many at a time, more of them are read at a time. What
        // follows a large one begins with the prefix that tells where the rest of it belongs.
        let room = match self.is_crowded {
            _ if missing > AHEAD_MOST => 0,
            true => AHEAD_MOST,
            false => AHEAD,
        };
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let parts = [first, second, &mut self.bytes[..room]];
        let received = socket::receive(&link.socket, parts)?;
        let Some(count) = received else {
            self.is_emptied = false;
            return Ok(None);
        };
        link.heard.store(link.hub.elapsed(), RELAXED);
        (self.used, self.end) = (0, count.saturating_sub(missing));
        self.is_crowded = self.end >= AHEAD;
        self.is_emptied = count < missing + room;
        Ok(Some(if missing == 0 { count } else { count.min(missing) }))
    }
}

/// Room for a request of a page with its head: one system call reads it.
const AHEAD: usize = 6 << 10;
/// Room for several.
const AHEAD_MOST: usize = 48 << 10;

impl Body {
    /// Where the bytes that are not there yet belong.
    fn missing(&mut self, have: usize) -> (&mut [u8], &mut [u8]) {
        let in_head = have.min(self.head.len());
        let in_payload = have - in_head;
        (&mut self.head[in_head..], &mut self.payload.room()[in_payload..])
    }
}

fn torn() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other side closed it within a frame")
}

fn invalid(malformed: Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, malformed)
}
