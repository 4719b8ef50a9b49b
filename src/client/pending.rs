//! A call that waits for its answer, and one that waits to be sent.

use std::time::Instant;

use iofwd_mount::Errno;
use iofwd_mount::caller::RequestKey;

use crate::budget::Share;
use crate::link::Buffer;
use crate::wire::answer::Value;
use crate::wire::call::Call;

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

/// A call that was sent.
pub(super) struct Pending {
    pub(super) key: RequestKey,
    pub(super) cost: usize,
    pub(super) since: Instant,
    pub(super) then: Then,
}

/// A call that is sent when the agent has room for it.
pub(super) struct Waiting {
    pub(super) id: u64,
    pub(super) head: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) pending: Pending,
    pub(super) _share: Share,
}
