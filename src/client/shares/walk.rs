//! Opening at another agent what is open already: by its names, one after the other.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex};

use iofwd_mount::store::{Attr, Entry, HandleId, NodeId, OpenHow, Opened, Timestamp};
use iofwd_mount::{Caller, Errno, Reply, Store};

use super::Elsewhere;
use super::parts::Finish;
use crate::client::Client;

/// On the way to a file.
pub(super) struct Walk {
    client: Arc<Client>,
    caller: Caller,
    how: OpenHow,
    /// Which file it must be.
    inode: (u64, Option<Timestamp>),
    found: (Arc<Elsewhere>, usize),
    finish: Arc<Mutex<Finish>>,
}

impl Walk {
    pub(super) fn new(
        client: &Arc<Client>,
        caller: Caller,
        (how, attr): (OpenHow, &Attr),
        found: (Arc<Elsewhere>, usize),
        finish: &Arc<Mutex<Finish>>,
    ) -> Walk {
        // It is there, and what it was opened for has been done to it.
        let flags = how.flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC);
        Walk {
            client: Arc::clone(client),
            caller,
            how: OpenHow { flags, ..how },
            inode: (attr.inode, attr.btime),
            found,
            finish: Arc::clone(finish),
        }
    }

    /// From the root on.
    pub(super) fn go(self, names: VecDeque<Box<[u8]>>) {
        self.step(NodeId::ROOT, names);
    }

    fn step(self, at: NodeId, mut names: VecDeque<Box<[u8]>>) {
        let (client, caller) = (Arc::clone(&self.client), self.caller);
        let Some(name) = names.pop_front() else { return self.open(at) };
        let found = move |found: Result<Entry, Errno>| {
            forget(&self.client, at);
            if let Ok(entry) = found {
                self.step(entry.attr.node, names);
            }
        };
        client.lookup(&caller, at, OsStr::from_bytes(&name), Reply::call(found));
    }

    fn open(self, node: NodeId) {
        let (client, caller, how) = (Arc::clone(&self.client), self.caller, self.how);
        let opened = move |opened: Result<Opened, Errno>| {
            match opened {
                Ok(Opened { handle, attr }) if (attr.inode, attr.btime) == self.inode => {
                    let (file, number) = &self.found;
                    let _ = file.places[*number].set((node, handle));
                }
                Ok(Opened { handle, .. }) => close(&self.client, node, handle),
                Err(_) => forget(&self.client, node),
            }
            // Only now: whoever waits reads and writes at once.
            drop(self.finish);
        };
        client.open(&caller, node, how, Reply::call(opened));
    }
}

/// Nobody needs it there any more.
pub(super) fn close(client: &Client, node: NodeId, handle: HandleId) {
    client.release(node, handle, Reply::call(|_: Result<(), Errno>| {}));
    forget(client, node);
}

fn forget(client: &Client, node: NodeId) {
    if node != NodeId::ROOT {
        client.forget(node, 1);
    }
}
