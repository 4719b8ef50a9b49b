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

    /// Read what is there, until a frame is complete.
    pub(super) fn receive(&mut self, link: &Arc<Link>) -> io::Result<Received> {
        link.frame_began.compare_exchange(0, link.hub.elapsed(), RELAXED, RELAXED).ok();
        while self.have < PREFIX {
            self.have += self.ahead.take(&mut self.prefix[self.have..]);
            if self.have == PREFIX {
                break;
            }
            match self.ahead.receive(link)? {
                None => {
                    if self.have == 0 {
                        link.frame_began.store(0, RELAXED);
                    }
                    return Ok(Received::Part);
                }
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

    fn fill(&mut self, link: &Arc<Link>) -> io::Result<Received> {
        let Some(body) = &mut self.body else { return Ok(Received::Part) };
        let end = PREFIX + body.prefix.head + body.prefix.payload;
        while self.have < end {
            let (head, payload) = body.missing(self.have - PREFIX);
            let at_hand = self.ahead.take(head) + self.ahead.take(payload);
            if at_hand > 0 {
                self.have += at_hand;
                continue;
            }
            self.ahead.is_crowded = false;
            match socket::receive(&link.socket, head, payload)? {
                None => return Ok(Received::Part),
                Some(0) => return Err(torn()),
                Some(count) => self.have += count,
            }
            link.heard.store(link.hub.elapsed(), RELAXED);
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
}

impl Ahead {
    /// Copy as much as there is, and fits.
    fn take(&mut self, to: &mut [u8]) -> usize {
        let count = to.len().min(self.end - self.used);
        to[..count].copy_from_slice(&self.bytes[self.used..self.used + count]);
        self.used += count;
        count
    }

    /// Read what is there, but not much. Everything from before is used.
    fn receive(&mut self, link: &Link) -> io::Result<Option<usize>> {
        // As long as they are small and come many at a time, more of them are read at a time.
        let room = if self.is_crowded { AHEAD_MOST } else { AHEAD };
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let received = socket::receive(&link.socket, &mut self.bytes[..room], &mut [])?;
        self.is_crowded = received.is_some_and(|count| count >= AHEAD);
        (self.used, self.end) = (0, received.unwrap_or(0));
        if received.is_some() {
            link.heard.store(link.hub.elapsed(), RELAXED);
        }
        Ok(received)
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
