//! Opening files: at the server that has the names, which decides who may.

use std::ffi::OsStr;
use std::sync::Arc;

use dashmap::DashMap;

use iofwd_mount::store::{Created, HandleId, NewNode, NodeId, OpenHow, Opened};
use iofwd_mount::{Caller, Errno, Reply, Store};

use super::dressing::Dressed;
use super::file::Open;
use super::{Striped, wait};

/// Open files, by the numbers that the server that has the names gave them.
pub(super) type Handles = Arc<DashMap<HandleId, Arc<Open>>>;

/// How a name is opened: what is to happen to its bytes is this agent's business.
fn plain(how: OpenHow) -> OpenHow {
    OpenHow { flags: how.flags & !(libc::O_TRUNC | libc::O_DIRECT), ..how }
}

fn keep(handles: &Handles, node: NodeId, handle: HandleId, how: OpenHow, now: u64) {
    handles.insert(handle, Arc::new(Open::new(node, handle, how, now)));
}

impl Striped {
    pub(super) fn open_file(
        &self,
        caller: &Caller,
        node: NodeId,
        how: OpenHow,
        reply: Reply<Opened>,
    ) {
        if how.flags & libc::O_TRUNC != 0 {
            return reply.send(self.open_emptied(caller, node, how));
        }
        let (handles, now) = (Arc::clone(&self.handles), self.names.resumed());
        let reply = Reply::call(move |result: Result<Opened, Errno>| {
            if let Ok(opened) = &result {
                keep(&handles, opened.attr.node, opened.handle, how, now);
            }
            reply.send(result.map(Dressed::dressed));
        });
        self.names.open(caller, node, plain(how), reply);
    }

    /// Open a file and leave nothing in it.
    fn open_emptied(&self, caller: &Caller, node: NodeId, how: OpenHow) -> Result<Opened, Errno> {
        let now = self.names.resumed();
        let opened: Opened = wait(|reply| self.names.open(caller, node, plain(how), reply))?;
        keep(&self.handles, opened.attr.node, opened.handle, how, now);
        self.empty(caller, node, opened.handle, how)?;
        let attr = iofwd_mount::store::Attr { size: 0, ..opened.attr };
        Ok(Opened { attr, ..opened }.dressed())
    }

    /// Cut off everything. If that may not be, the file is not open.
    fn empty(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: HandleId,
        how: OpenHow,
    ) -> Result<(), Errno> {
        // Through a file that is open for reading nothing can be cut off; the name must do.
        let is_writable = how.flags & libc::O_ACCMODE != libc::O_RDONLY;
        let emptied = self.truncate(caller, node, is_writable.then_some(handle), 0);
        if emptied.is_err() {
            self.close(node, handle, Reply::call(|_| {}));
        }
        emptied
    }

    pub(super) fn create_file(
        &self,
        caller: &Caller,
        (parent, name): (NodeId, &OsStr),
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        let may_be_there = how.flags & libc::O_TRUNC != 0 && how.flags & libc::O_EXCL == 0;
        if may_be_there {
            return reply.send(self.create_emptied(caller, (parent, name), how, new));
        }
        self.names.create(caller, parent, name, plain(how), new, self.keeping(how, reply));
    }

    /// A reply that keeps what was made and opened.
    pub(super) fn keeping(&self, how: OpenHow, reply: Reply<Created>) -> Reply<Created> {
        let (handles, now) = (Arc::clone(&self.handles), self.names.resumed());
        Reply::call(move |result: Result<Created, Errno>| {
            if let Ok(created) = &result {
                keep(&handles, created.entry.attr.node, created.handle, how, now);
            }
            reply.send(result.map(Dressed::dressed));
        })
    }

    fn create_emptied(
        &self,
        caller: &Caller,
        (parent, name): (NodeId, &OsStr),
        how: OpenHow,
        new: NewNode,
    ) -> Result<Created, Errno> {
        let now = self.names.resumed();
        let mut created: Created =
            wait(|reply| self.names.create(caller, parent, name, plain(how), new, reply))?;
        let attr = &mut created.entry.attr;
        keep(&self.handles, attr.node, created.handle, how, now);
        if attr.size > 0 {
            self.empty(caller, attr.node, created.handle, how).inspect_err(|_| {
                self.names.forget(attr.node, 1);
            })?;
            attr.size = 0;
        }
        Ok(created.dressed())
    }

    pub(super) fn open_nameless(
        &self,
        caller: &Caller,
        parent: NodeId,
        how: OpenHow,
        new: NewNode,
        reply: Reply<Created>,
    ) {
        self.names.tmpfile(caller, parent, plain(how), new, self.keeping(how, reply));
    }

    pub(super) fn close(&self, node: NodeId, handle: HandleId, reply: Reply<()>) {
        self.handles.remove(&handle);
        self.names.release(node, handle, reply);
    }
}
