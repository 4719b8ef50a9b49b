//! A call that waits for its answer, and what is needed to send it again.

use std::sync::Arc;
use std::time::Instant;

use iofwd_mount::Errno;
use iofwd_mount::caller::RequestKey;
use iofwd_mount::payload::{self, Kept};
use iofwd_mount::store::{Entry, NodeId};

use crate::budget::Share;
use crate::link::{Buffer, Hub, Link};
use crate::wire::answer::Value;
use crate::wire::call::{Call, Once, Request};
use crate::wire::frame::{self, PREFIX};

use super::callers::Who;
use super::room::Purpose;
use super::whereabouts::Bytes;

/// What came of a call.
pub(super) type Answered = Result<(Value, Buffer), Errno>;
/// Whom to tell.
pub(super) type Then = Box<dyn FnOnce(Answered) + Send>;

/// What is asked.
pub(super) struct Ask<'a> {
    pub(super) call: Call<'a>,
    pub(super) payload: &'a [u8],
    /// The most bytes that the answer may have.
    pub(super) room: usize,
}

impl<'a> Ask<'a> {
    /// A call without bytes in either direction.
    pub(super) fn of(call: Call<'a>) -> Ask<'a> {
        Ask { call, payload: &[], room: 0 }
    }
}

/// On whose behalf something is asked, and by which number.
pub(super) struct Asker<'a> {
    pub(super) id: u64,
    pub(super) key: RequestKey,
    /// The thread that waits for the answer.
    pub(super) thread: u32,
    pub(super) who: &'a Arc<Who>,
    pub(super) once: Option<Once>,
    /// It may go together with those that come with it.
    pub(super) may_wait: bool,
}

/// A call that was sent, or is about to be.
pub(super) struct Pending {
    pub(super) key: RequestKey,
    pub(super) thread: u32,
    pub(super) who: Arc<Who>,
    pub(super) slot: u32,
    pub(super) cost: usize,
    /// What it reads or writes,
    pub(super) bytes: Option<Bytes>,
    /// and for what it has room at the agent therefore.
    pub(super) purpose: Purpose,
    pub(super) since: Instant,
    /// As it was sent first.
    pub(super) head: Vec<u8>,
    pub(super) payload: Arc<Payload>,
    /// The connection that the payload was lent to.
    pub(super) lent: Option<u64>,
    pub(super) room: usize,
    /// How often it was told that it takes long.
    pub(super) told: u32,
    pub(super) then: Then,
    /// Whoever asked waits no more: what it gets is to be given back.
    pub(super) is_late: bool,
    pub(super) share: Option<Share>,
}

/// The bytes of a call, in case it has to be sent again.
#[derive(Debug, Default)]
pub(super) enum Payload {
    /// There are none.
    #[default]
    None,
    /// Where they were read from the kernel.
    Kept(Kept),
    Copied(Buffer),
}

impl Payload {
    pub(super) fn of(bytes: &[u8], hub: &Hub) -> Payload {
        if bytes.is_empty() {
            return Payload::None;
        }
        payload::keep(bytes).map_or_else(|| Payload::Copied(hub.copy(bytes)), Payload::Kept)
    }

    /// Whether it can be sent without a copy. If it is not taken back its memory is not used again.
    fn lend(&self) -> bool {
        match self {
            Payload::Kept(kept) => {
                kept.lend();
                true
            }
            Payload::None | Payload::Copied(_) => false,
        }
    }

    fn take_back(&self) {
        match self {
            Payload::Kept(kept) => kept.take_back(),
            Payload::None | Payload::Copied(_) => {}
        }
    }
}

impl std::ops::Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Payload::None => &[],
            Payload::Kept(kept) => kept,
            Payload::Copied(copy) => copy,
        }
    }
}

impl Pending {
    /// It is about to be sent for the first time: whether without a copy of the payload.
    pub(super) fn lend(&mut self, link: &Link) -> bool {
        self.lent = self.payload.lend().then(|| link.id());
        self.lent.is_some()
    }

    /// It was answered. Over the connection that the payload was lent to nothing can be answered before
    /// it was read; over another one nobody knows what may read it still.
    pub(super) fn take_back(&self, link: &Link) {
        if self.lent == Some(link.id()) {
            self.payload.take_back();
        }
    }

    /// The call itself.
    pub(super) fn request(&self) -> Option<Request<'_>> {
        request(&self.head)
    }

    /// Whether it must not be done twice.
    pub(super) fn is_once(&self) -> bool {
        self.request().is_some_and(|request| request.once.is_some())
    }

    /// The call as it is sent again.
    pub(super) fn again(&self) -> Vec<u8> {
        let Some(request) = self.request() else { return self.head.clone() };
        let once = request.once.map(|once| Once { again: true, ..once });
        let request = Request { once, slot: self.slot, ..request };
        frame::encode(&request, self.payload.len(), self.room)
    }
}

/// What gives back what a call got for somebody who has waited for too long, and left.
#[expect(clippy::wildcard_enum_match_arm, reason = "most answers hold nothing")]
pub(super) fn give_back(value: Value) -> Vec<Call<'static>> {
    let forget = |entry: Entry| Call::Forget { node: entry.attr.node, references: 1 };
    match value {
        Value::Entry(entry) => vec![forget(entry)],
        Value::Opened(opened) => {
            vec![Call::Release { node: opened.attr.node, handle: opened.handle }]
        }
        Value::OpenedDirectory(opened) => {
            vec![Call::Releasedir { node: NodeId::ROOT, handle: opened.handle }]
        }
        Value::Created(created) => {
            let node = created.entry.attr.node;
            vec![Call::Release { node, handle: created.handle }, forget(created.entry)]
        }
        _ => Vec::new(),
    }
}

/// The call in a frame.
pub(super) fn request(head: &[u8]) -> Option<Request<'_>> {
    frame::decode(head.get(PREFIX..)?).ok()
}
