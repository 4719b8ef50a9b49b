//! A call that waits for its answer, and what is needed to send it again.

use std::sync::Arc;
use std::time::Instant;

use iofwd_mount::Errno;
use iofwd_mount::caller::RequestKey;

use crate::budget::Share;
use crate::link::Buffer;
use crate::wire::answer::Value;
use crate::wire::call::{Call, Once, Request};
use crate::wire::frame::{self, PREFIX};

use super::callers::Who;

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
}

/// A call that was sent, or is about to be.
pub(super) struct Pending {
    pub(super) key: RequestKey,
    pub(super) thread: u32,
    pub(super) who: Arc<Who>,
    pub(super) slot: u32,
    pub(super) cost: usize,
    pub(super) since: Instant,
    /// As it was sent first.
    pub(super) head: Vec<u8>,
    pub(super) payload: Arc<Buffer>,
    pub(super) room: usize,
    /// How often it was told that it takes long.
    pub(super) told: u32,
    pub(super) then: Then,
    pub(super) share: Option<Share>,
}

impl Pending {
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

/// The call in a frame.
pub(super) fn request(head: &[u8]) -> Option<Request<'_>> {
    frame::decode(head.get(PREFIX..)?).ok()
}
