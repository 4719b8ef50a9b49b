//! A client that comes back tells what it had: to the agent that knows it still, to one that was
//! started again, or to another one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use iofwd_mount::Errno;
use iofwd_mount::store::{HandleId, LockRequest, NodeId};

use crate::wire::call::LockCall;

use super::{Kind, Opened, Session, Told};

impl Session {
    /// Everything that came over connections that are gone is done; from here on it begins anew.
    pub(in crate::agent) fn come_back(&self, patience: Duration) -> Result<(), String> {
        self.round.fetch_add(1, Ordering::SeqCst);
        self.close("the client came back by another connection");
        self.agent.stop_waiting(self.id);
        let end = Instant::now() + patience;
        while self.under_way.load(Ordering::SeqCst) > 0 {
            if Instant::now() > end {
                return Err("it is still busy with what the client asked before".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // Somebody may have looked for clients that are gone for too long just now.
        self.links().alone_since = Some(Instant::now());
        if self.has_ended() { Err("it has just given the client up".into()) } else { Ok(()) }
    }

    /// The client knows this node.
    pub(super) fn adopt(
        &self,
        theirs: NodeId,
        references: u64,
        voucher: &[u8],
        place: (NodeId, &[u8]),
    ) {
        let round = self.round.load(Ordering::Relaxed);
        if let Some(mut told) = self.nodes.get_mut(&theirs) {
            told.references = references;
            told.round = round;
            let held = told.held;
            drop(told);
            if let Some(passage) = self.agent.passage() {
                passage.adopt(theirs, held, voucher, place);
            }
            return;
        }
        if let Some(passage) = self.agent.passage() {
            return self.adopt_elsewhere(passage, theirs, references, voucher, place);
        }
        let parent = self.node(place.0).ok();
        let place = parent.map(|parent| (parent, OsStr::from_bytes(place.1)));
        // Without it every call that names the node is answered with `ESTALE`.
        let recalled = self.local().and_then(|agent| agent.recall(voucher, place));
        let Ok(ours) = recalled else { return };
        if theirs != ours {
            self.aliases.insert(ours, theirs);
        }
        self.nodes.insert(theirs, Told { ours, references, held: 1, round });
    }

    /// The client has this open.
    pub(super) fn reopen(&self, theirs: HandleId, node: NodeId, voucher: &[u8], lost: bool) {
        let round = self.round.load(Ordering::Relaxed);
        if let Some(mut open) = self.files.get_mut(&theirs) {
            open.round = round;
            return;
        }
        // Directories have even numbers.
        let kind = if theirs.0.is_multiple_of(2) { Kind::Directory } else { Kind::File };
        if let (Some(passage), false) = (self.agent.passage(), lost) {
            let opened = self.reopen_elsewhere(passage, theirs, node, voucher, kind);
            self.files.insert(theirs, opened);
            return;
        }
        let ours = if lost {
            Err(Errno::EIO)
        } else {
            self.node(node).and_then(|node| self.local()?.open_again(node, voucher))
        };
        if let Err(error) = ours {
            tracing::warn!(client = self.client, ?node, %error, "a file could not be opened again");
        }
        self.files.insert(theirs, Opened { ours, kind, round });
    }

    /// The client holds this lock; if somebody else has it now, the file that it was taken through
    /// is of no use any more.
    pub(super) fn reclaim(&self, call: &LockCall) {
        if let Some(passage) = self.agent.passage() {
            return self.reclaim_elsewhere(passage, call);
        }
        let request = self.node(call.node).and_then(|node| {
            Ok(LockRequest {
                node,
                handle: self.handle(call.handle)?,
                owner: self.owner(call.owner),
                lock: call.lock,
                whole_file: call.whole_file,
                wait: false,
            })
        });
        let reclaimed = request.and_then(|request| self.local()?.reclaim(&request));
        if let Err(error) = reclaimed {
            tracing::warn!(client = self.client, node = ?call.node, %error, "a lock is lost");
            self.lose(call.handle);
        }
    }

    /// What is done through this handle from now on fails.
    fn lose(&self, handle: HandleId) {
        let Some(mut open) = self.files.get_mut(&handle) else { return };
        if let Ok(ours) = std::mem::replace(&mut open.ours, Err(Errno::EIO)) {
            drop(open);
            self.agent.close_file(ours, self.id);
        }
    }

    /// What the client did not name again it never heard of, or has given up.
    pub(super) fn restored(&self) -> Result<(), Errno> {
        let round = self.round.load(Ordering::Relaxed);
        let files: Vec<HandleId> =
            self.files.iter().filter(|open| open.round < round).map(|open| *open.key()).collect();
        files.into_iter().for_each(|handle| self.drop_handle(handle));
        let nodes: Vec<NodeId> =
            self.nodes.iter().filter(|told| told.round < round).map(|told| *told.key()).collect();
        nodes.into_iter().for_each(|node| {
            if let Some((_, told)) = self.nodes.remove(&node) {
                self.aliases.remove(&told.ours);
                self.agent.forget(told.ours, told.held);
            }
        });
        if let Some(agent) = self.agent.local() {
            agent.locks.reclaimed(self.id);
        }
        self.agent.passage().map_or(Ok(()), |passage| passage.restored())?;
        let (files, nodes) = (self.files.len(), self.nodes.len());
        tracing::info!(client = self.client, session = self.id, files, nodes, "client is back");
        Ok(())
    }
}
