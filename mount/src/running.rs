//! Programs that are run from the mount: nobody cuts them off.
//!
//! The kernel lets nobody write to a program that is running. But as a file is cut off by the very
//! request that opens it (`O_TRUNC`), it finds out too late where the file is opened for reading
//! only: the caller is told `ETXTBSY`, and the program is empty.

use std::sync::Arc;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use nix::libc;

use crate::reply::Reply;
use crate::store::{NodeId, Opened};

/// How often each node is open to be run.
#[derive(Debug, Default)]
pub(crate) struct Running {
    nodes: DashMap<NodeId, usize>,
}

impl Running {
    /// Whether to open a node in this way would cut off a running program that the kernel cannot
    /// protect.
    pub(crate) fn forbids(&self, node: NodeId, flags: u32) -> bool {
        let reads = flags as i32 & libc::O_ACCMODE == libc::O_RDONLY;
        reads && flags as i32 & libc::O_TRUNC != 0 && self.nodes.contains_key(&node)
    }

    /// A node is opened: if it is to be run, it counts as running unless that fails.
    pub(crate) fn opening(
        self: &Arc<Running>,
        node: NodeId,
        flags: u32,
        reply: Reply<Opened>,
    ) -> Reply<Opened> {
        if flags & RUN == 0 {
            return reply;
        }
        *self.nodes.entry(node).or_default() += 1;
        let running = Arc::clone(self);
        Reply::call(move |opened| {
            if opened.is_err() {
                running.released(node, flags);
            }
            reply.send(opened);
        })
    }

    /// What was opened in this way is closed.
    pub(crate) fn released(&self, node: NodeId, flags: u32) {
        if flags & RUN == 0 {
            return;
        }
        if let Entry::Occupied(mut times) = self.nodes.entry(node) {
            *times.get_mut() -= 1;
            if *times.get() == 0 {
                times.remove();
            }
        }
    }
}

/// The kernel opens what it is going to run with this flag, and closes it when the last process that
/// runs it is gone.
const RUN: u32 = 0x20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errno::Errno;

    const NODE: NodeId = NodeId(7);
    const CUT: u32 = libc::O_TRUNC as u32;

    fn open_to_run(running: &Arc<Running>) -> Reply<Opened> {
        running.opening(NODE, RUN, Reply::call(|_| {}))
    }

    #[test]
    fn who_runs_twice_is_running_until_the_second_end() {
        let running = Arc::new(Running::default());
        let (_first, _second) = (open_to_run(&running), open_to_run(&running));
        running.released(NODE, RUN);
        assert!(running.forbids(NODE, CUT));
        assert!(!running.forbids(NodeId(8), CUT), "another one");
        assert!(!running.forbids(NODE, 0), "nothing is cut off");
        assert!(!running.forbids(NODE, CUT | libc::O_WRONLY as u32), "the kernel sees to that");
        running.released(NODE, RUN);
        assert!(!running.forbids(NODE, CUT));
    }

    #[test]
    fn what_could_not_be_opened_does_not_run() {
        let running = Arc::new(Running::default());
        open_to_run(&running).send(Err(Errno::ENOENT));
        assert!(!running.forbids(NODE, CUT) && running.nodes.is_empty());
    }

    #[test]
    fn whoever_only_reads_does_not_count() {
        let running = Arc::new(Running::default());
        let _reply = running.opening(NODE, 0, Reply::call(|_| {}));
        assert!(running.nodes.is_empty());
    }
}
