//! Clients of which somebody behind the agent keeps what they hold: it is passed on, under the numbers
//! by which the client knows it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use iofwd_mount::Errno;
use iofwd_mount::store::{HandleId, NodeId, OpenHow};

use crate::agent::Passage;
use crate::agent::state::{Opening, opening_in};
use crate::wire::call::LockCall;

use super::{Kind, Opened, Session, Told};

impl Session {
    /// The client does not come back: whoever keeps what it held is told.
    pub(super) fn end_elsewhere(&self, passage: &dyn Passage) {
        self.agent.stop_waiting(self.id);
        passage.leave();
        if let (Some(record), Some(state)) = (&self.record, &self.state) {
            state.end(record);
        }
    }

    /// The client knows this node.
    pub(super) fn adopt_elsewhere(
        &self,
        passage: &dyn Passage,
        node: NodeId,
        references: u64,
        voucher: &[u8],
        place: (NodeId, &[u8]),
    ) {
        passage.adopt(node, references, voucher, place);
        let round = self.round.load(Ordering::Relaxed);
        let told = Told { ours: node, references, held: references, round };
        self.nodes.insert(node, told);
    }

    /// The client has this open. Whether it may is found out when it is used.
    pub(super) fn reopen_elsewhere(
        &self,
        passage: &dyn Passage,
        handle: HandleId,
        node: NodeId,
        voucher: &[u8],
        kind: Kind,
    ) -> Opened {
        let how = match opening_in(voucher) {
            Some(Opening::File { flags, readable }) => Some(OpenHow { flags, readable }),
            Some(Opening::Directory { .. }) | None => None,
        };
        let is_right = how.is_some() == (kind == Kind::File);
        if is_right {
            passage.reopen(node, handle, voucher, how);
        }
        let ours = if is_right { Ok(handle) } else { Err(Errno::ESTALE) };
        Opened { ours, kind, round: self.round.load(Ordering::Relaxed) }
    }

    /// The client holds this lock.
    pub(super) fn reclaim_elsewhere(&self, passage: &dyn Passage, lock: &LockCall) {
        if self.handle(lock.handle).is_ok() {
            passage.reclaim(lock);
        }
    }

    /// Whoever acted for its clients is dead: what it sent is done, and what it sends is not heard.
    pub(in crate::agent) fn evict(&self, patience: Duration) -> Result<(), Errno> {
        if self.has_ended() {
            return Ok(());
        }
        self.come_back(patience).map_err(|_| Errno::from_raw(libc::EBUSY))?;
        self.end();
        Ok(())
    }
}

/// When nothing that the client sent is under way any more: another agent may go on for it.
impl Drop for Session {
    fn drop(&mut self) {
        let Some(passage) = self.agent.passage() else { return };
        passage.part();
        if let Some(record) = &self.record
            && let Err(error) = record.put_down()
        {
            tracing::warn!(%error, "that nothing is under way for a client could not be kept");
        }
    }
}
