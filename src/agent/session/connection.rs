//! One connection of a client: takes calls off the wire, and knows who the callers are.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use iofwd_mount::Caller;
use iofwd_mount::caller::{Introduction, RequestKey};
use iofwd_scheduler::request::JobId;

use crate::agent::Guest;
use crate::agent::once::Ticket;
use crate::link::{Frame, Handler, Link};
use crate::wire::call::{Call, Once, Request};
use crate::wire::frame::{self, Malformed};

use super::dispatch::dispatch;
use super::responder::Responder;
use super::{Session, UnderWay};

/// A connection of a client.
pub(super) struct Connection {
    session: Arc<Session>,
    /// How often the client had come back when it began. What came over it then, and is looked at
    /// later, is as if it had never come: the client has sent it again.
    round: u64,
    /// Whom the client's numbers for its users mean.
    slots: Mutex<Slots>,
}

/// Users by their numbers, and those whose number means somebody else by now: what they asked for
/// may be under way.
#[derive(Default)]
struct Slots {
    now: Vec<Option<Introduction>>,
    before: VecDeque<Introduction>,
}

impl Connection {
    pub(super) fn new(session: Arc<Session>) -> Connection {
        let round = session.round.load(Ordering::SeqCst);
        Connection { session, round, slots: Mutex::default() }
    }

    fn serve(&self, link: &Arc<Link>, frame: Frame) -> Result<(), Malformed> {
        let Frame { prefix, head, payload, share } = frame;
        let request: Request<'_> = frame::decode(&head)?;
        let session = &self.session;
        let under_way = UnderWay::new(session);
        if session.round.load(Ordering::SeqCst) != self.round {
            return Ok(());
        }
        if let Call::Introduce { slot, uid, gid, job } = request.call {
            let identity = session.rights.identity(uid, gid, &groups(&payload)?);
            self.introduce(slot, Guest { identity, job: JobId(job) })?;
        } else if let Call::Cancel { id } = request.call {
            session.agent.interrupt(session.key(id));
        } else if let Call::Forget { node, references } = request.call {
            session.forget(node, references);
        } else if let Call::Adopt { node, references, parent, name } = request.call {
            session.adopt(node, references, &payload, (parent, name));
        } else if let Call::Reopen { node, handle, lost } = request.call {
            session.reopen(handle, node, &payload, lost);
        } else if let Call::Reclaim(lock) = request.call {
            session.reclaim(&lock);
        } else {
            let caller = Caller {
                uid: NOBODY,
                gid: NOBODY,
                pid: 0,
                request: session.key(request.id),
                introduced: Some(self.introduced(request.slot)?),
            };
            session.counts.accepted.fetch_add(1, Ordering::Relaxed);
            let to = Responder {
                session: Arc::clone(session),
                link: Arc::clone(link),
                id: request.id,
                share: Some(share),
                room: prefix.room,
                answered: false,
                passed: self.pass(request.once, &caller, request.id),
                _under_way: under_way,
            };
            let once = request.once.and_then(|once| self.ticket(once, request.id));
            dispatch(session, &caller, (&request.call, once), &payload, to);
        }
        Ok(())
    }

    /// A call that must not be done twice is known as such to whoever it is passed on to.
    fn pass(&self, once: Option<Once>, caller: &Caller, id: u64) -> Option<RequestKey> {
        let (once, passage) = (once?, self.session.agent.passage()?);
        passage.begin_once(caller.request, id, once);
        Some(caller.request)
    }

    /// The right to do a call once; `None` where nothing outlives the agent.
    fn ticket(&self, once: Once, id: u64) -> Option<Ticket> {
        let record = Arc::clone(self.session.record.as_ref()?);
        let agent = self.session.agent.local()?;
        let state = Arc::clone(&agent.survival.as_ref()?.state);
        Some(Ticket { state, record, place: once.place, id, again: once.again })
    }

    fn introduce(&self, slot: u32, guest: Guest) -> Result<(), Malformed> {
        let slot = slot as usize;
        if slot >= SLOTS_MOST {
            return Err(Malformed("more users than a connection may have"));
        }
        let introduction = self.session.agent.introduce(guest);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.now.len() <= slot {
            slots.now.resize(slot + 1, None);
        }
        if let Some(before) = slots.now[slot].replace(introduction) {
            slots.before.push_back(before);
        }
        if slots.before.len() > BEFORE_MOST
            && let Some(oldest) = slots.before.pop_front()
        {
            self.session.agent.dismiss(oldest);
        }
        Ok(())
    }

    fn introduced(&self, slot: u32) -> Result<Introduction, Malformed> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slots.now.get(slot as usize).copied().flatten();
        known.ok_or(Malformed("a call by somebody who was not introduced"))
    }
}

impl Handler for Connection {
    fn frame(&self, link: &Arc<Link>, frame: Frame) {
        if let Err(malformed) = self.serve(link, frame) {
            tracing::warn!(client = self.session.client, reason = %malformed, "cut off");
            link.close(malformed.0);
        }
    }

    fn closed(&self, link: &Arc<Link>, reason: &str) {
        self.session.disconnected(link, reason);
    }
}

/// When nobody uses it any more: what it brought may still be under way when it is closed, and must be
/// done as whoever asked for it, not as nobody.
impl Drop for Connection {
    fn drop(&mut self) {
        let slots = std::mem::take(&mut *self.slots.lock().unwrap_or_else(PoisonError::into_inner));
        let all = slots.now.into_iter().flatten().chain(slots.before);
        all.for_each(|guest| self.session.agent.dismiss(guest));
    }
}

fn groups(payload: &[u8]) -> Result<Vec<u32>, Malformed> {
    let (groups, rest) = payload.as_chunks::<4>();
    if !rest.is_empty() || groups.len() > GROUPS_MOST {
        return Err(Malformed("a list of groups that is none"));
    }
    Ok(groups.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

/// Users whose number means somebody else, and who are remembered.
const BEFORE_MOST: usize = 1024;
/// Users that one connection may introduce at a time.
const SLOTS_MOST: usize = 1 << 16;
/// Supplementary groups that the kernel allows.
const GROUPS_MOST: usize = 1 << 16;
/// Who a caller is until it is introduced.
const NOBODY: u32 = 65_534;
