//! Calls that nobody has answered for long: which, about which file, since when.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use iofwd_mount::Errno;
use iofwd_mount::store::NodeId;

use crate::wire::call::Call;

use super::Client;
use super::pending::Pending;

/// A call that waits.
#[derive(Debug)]
pub(super) struct Stalled {
    pub(super) call: String,
    pub(super) path: String,
    pub(super) waiting: Duration,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most calls are not asked for")]
impl Client {
    /// Calls that have just been waiting for too long, or for twice as long as when it was last told.
    pub(super) fn newly_stalled(&self) -> Vec<Stalled> {
        let mut found = Vec::new();
        for connection in &self.connections {
            found.extend(connection.overdue(STALLED).iter().filter_map(|it| self.stalled(it)));
        }
        found
    }

    /// Whoever has been waiting for so long gets an error. Not those who wait for a lock, who may wait
    /// for ever.
    pub(super) fn end_overdue(&self, deadline: Duration) {
        let is_lock = |call: &Pending| matches!(call.request(), Some(request) if matches!(request.call, Call::Setlk(lock) if lock.wait));
        let is_due =
            |call: &Pending| call.thread != 0 && call.since.elapsed() >= deadline && !is_lock(call);
        for connection in &self.connections {
            let look =
                |call: &Pending| is_due(call).then(|| (call.head.clone(), call.since.elapsed()));
            for late in connection.sent(look).iter().filter_map(|late| self.stalled(late)) {
                let seconds = late.waiting.as_secs();
                tracing::error!(agent = %self.agent(), call = late.call, file = late.path, seconds,
                    "not answered by the deadline: it failed");
            }
            connection.detach(Errno::from_raw(libc::ETIMEDOUT), is_due);
        }
    }

    /// The call that has been waiting longest.
    pub(super) fn oldest(&self) -> Option<Stalled> {
        let first = |call: &Pending| Some((call.head.clone(), call.since.elapsed()));
        let oldest = |of: &std::sync::Arc<super::Connection>| of.sent(first).into_iter().next();
        let all = self.connections.iter().filter_map(oldest);
        all.max_by_key(|(_, waiting)| *waiting).and_then(|oldest| self.stalled(&oldest))
    }

    /// Files with bytes that were written and not acknowledged, and how many.
    pub(super) fn unacknowledged(&self) -> BTreeMap<String, u64> {
        let mut files = BTreeMap::new();
        let written = |call: &Pending| match call.request()?.call {
            Call::Write(at) => Some((at.node, call.payload.len() as u64)),
            _ => None,
        };
        for (node, bytes) in self.connections.iter().flat_map(|one| one.sent(written)) {
            *files.entry(self.holdings.path(node)).or_default() += bytes;
        }
        files
    }

    fn stalled(&self, (head, waiting): &(Vec<u8>, Duration)) -> Option<Stalled> {
        let request = super::pending::request(head)?;
        // Whoever waits for a lock may wait for ever.
        if matches!(request.call, Call::Setlk(lock) if lock.wait) {
            return None;
        }
        let (name, path) = (format!("{:?}", request.call), self.path_of(&request.call));
        let call = name.split([' ', '(', '{']).next().unwrap_or_default().to_lowercase();
        Some(Stalled { call, path, waiting: *waiting })
    }

    /// The file that a call is about, as far as it is known here.
    fn path_of(&self, call: &Call<'_>) -> String {
        let holdings = &self.holdings;
        let open = |handle| holdings.files.get(&handle).map_or(NodeId::ROOT, |file| file.node);
        let named = |parent: NodeId, name: &[u8]| {
            let name = std::ffi::OsStr::from_bytes(name).to_string_lossy().into_owned();
            format!("{}/{name}", holdings.path(parent)).trim_start_matches('/').to_owned()
        };
        match *call {
            Call::Read(at) => holdings.path(at.node),
            Call::Write(at) => holdings.path(at.node),
            Call::Getattr { node, .. }
            | Call::Setattr { node, .. }
            | Call::Open { node, .. }
            | Call::Opendir { node, .. }
            | Call::Readdir { node, .. }
            | Call::Flush { node, .. }
            | Call::Fsync { node, .. }
            | Call::Release { node, .. } => holdings.path(node),
            Call::Fallocate { handle, .. } | Call::Lseek { handle, .. } => {
                holdings.path(open(handle))
            }
            Call::CopyFileRange(copy) => holdings.path(open(copy.target)),
            Call::Lookup { parent, name }
            | Call::Create { parent, name, .. }
            | Call::Mkdir { parent, name, .. }
            | Call::Mknod { parent, name, .. }
            | Call::Symlink { parent, name, .. }
            | Call::Link { parent, name, .. }
            | Call::Unlink { parent, name }
            | Call::Rmdir { parent, name }
            | Call::Rename { from: parent, name, .. } => named(parent, name),
            _ => String::new(),
        }
    }
}

/// A call that waits for so long is worth a word.
const STALLED: Duration = Duration::from_secs(10);
