//! Asking and waiting for the answer: for those who put a store together from several servers.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use iofwd_mount::caller::Introduction;
use iofwd_mount::{Caller, Errno};

use crate::link::Buffer;
use crate::wire::answer::Value;
use crate::wire::call::Call;

use super::callers::Who;
use super::pending::{Answered, Ask};
use super::{Client, NOBODY, PATIENCE};

/// A call that was made, and whose answer will come.
#[derive(Debug)]
pub(crate) struct Demanded(Receiver<Answered>);

impl Demanded {
    /// Wait for the answer.
    pub(crate) fn answer(self) -> Result<(Value, Buffer), Errno> {
        self.0.recv_timeout(PATIENCE).unwrap_or(Err(Errno::from_raw(libc::ETIMEDOUT)))
    }
}

impl Client {
    /// Ask something, as a caller or as the client itself.
    pub(crate) fn demand(
        &self,
        caller: Option<&Caller>,
        call: Call<'_>,
        payload: &[u8],
        room: usize,
    ) -> Demanded {
        let who = caller.map_or_else(Who::client, |caller| self.callers.of(caller));
        let asker = caller.map_or(NOBODY, |caller| (caller.request, caller.pid));
        let (sender, receiver) = channel();
        let then = move |answered: Answered| {
            let _ = sender.send(answered);
        };
        self.ask_as(&who, asker, Ask { call, payload, room }, Box::new(then));
        Demanded(receiver)
    }

    /// Whether nothing is answered now.
    pub(crate) fn is_gone(&self) -> bool {
        self.presence.lost().is_some()
    }

    /// Somebody of another node may be named as a caller from now on.
    pub(crate) fn introduce(
        &self,
        uid: u32,
        gid: u32,
        groups: Arc<[u32]>,
        job: u64,
    ) -> Introduction {
        self.callers.introduce(Who { uid, gid, groups, job })
    }

    /// Nobody will be named so any more.
    pub(crate) fn dismiss(&self, introduction: Introduction) {
        self.callers.dismiss(introduction);
    }

    /// The job that a caller belongs to.
    pub(crate) fn job_of(&self, caller: &Caller) -> u64 {
        self.callers.of(caller).job
    }
}
