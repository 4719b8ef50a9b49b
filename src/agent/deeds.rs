//! What the operations of the store do to nodes, names and open files.

use std::ffi::OsStr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use iofwd_mount::store::{
    Attr, Changes, Controlled, Created, Entry, HandleId, NewNode, NodeId, OpenHow, Opened, WriteAt,
};
use iofwd_mount::{Caller, DirectoryReply, Errno, Reply};

use crate::backend::posix::{File, Found, Identity, Inode, Made};
use crate::control::LAYOUT;

use super::Agent;
use super::engine::Asker;
use super::files::OpenFile;
use super::nodes::Node;
use super::once::Ticket;

impl Agent {
    /// The node, with this thread acting as the caller.
    pub(super) fn node_as(&self, caller: &Caller, id: NodeId) -> Result<Arc<Node>, Errno> {
        self.act_as(caller);
        self.nodes.get(id)
    }

    /// What a name led to, as the kernel wants to hear of it.
    pub(super) fn enter(&self, found: &Found) -> Result<Entry, Errno> {
        Ok(self.nodes.refer(found)?.entry(found.attr))
    }

    /// Do something in a directory that leads to a node.
    pub(super) fn make(
        &self,
        caller: &Caller,
        parent: NodeId,
        make: impl FnOnce(&Arc<Inode>) -> Result<Found, Errno>,
    ) -> Result<Entry, Errno> {
        let parent = self.node_as(caller, parent)?;
        self.enter(&make(&parent.inode)?)
    }

    pub(super) fn find(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
    ) -> Result<Entry, Errno> {
        let parent = self.node_as(caller, parent)?;
        // A name that is replaced between being found and being opened is looked up again.
        for _ in 0..STALE_RETRIES {
            match self.enter(&parent.inode.lookup(name)?) {
                Err(errno) if errno == Errno::ESTALE => {}
                result => return result,
            }
        }
        Err(Errno::ESTALE)
    }

    pub(super) fn open_file(&self, node: Arc<Node>, how: OpenHow) -> Result<Opened, Errno> {
        let claim = self.claim(&node.inode);
        let file = File::open(&node.inode, how.flags, how.readable)?;
        let attr = node.name(file.attr(&node.inode)?);
        let open = OpenFile::new(node, file, claim);
        self.find_layout(&open, &attr);
        self.choose_way(&open);
        Ok(Opened { handle: self.files.insert(open), attr })
    }

    pub(super) fn made(&self, made: Made) -> Created {
        let node = self.nodes.adopt(made.inode);
        let entry = node.entry(made.attr);
        let claim = self.claim(&node.inode);
        let open = OpenFile::new(node, made.file, claim);
        self.find_layout(&open, &entry.attr);
        self.choose_way(&open);
        Created { entry, handle: self.files.insert(open) }
    }

    pub(super) fn create_file(
        &self,
        caller: &Caller,
        parent: NodeId,
        name: &OsStr,
        how: OpenHow,
        new: NewNode,
    ) -> Result<Created, Errno> {
        let parent = self.node_as(caller, parent)?;
        if let Some(made) = parent.inode.create(name, for_making(how), new)? {
            return Ok(self.made(made));
        }
        // Somebody else has made it meanwhile. Only a file can be opened here; for anything else
        // the kernel must look the name up again.
        let found = parent.inode.lookup(name)?;
        let node = self.nodes.refer(&found)?;
        let opened = if node.inode.is_file() {
            self.open_file(Arc::clone(&node), how)
        } else {
            Err(Errno::ESTALE)
        };
        match opened {
            Ok(opened) => Ok(Created { entry: Entry { attr: opened.attr }, handle: opened.handle }),
            Err(errno) => {
                self.nodes.forget(node.id, 1);
                Err(errno)
            }
        }
    }

    pub(super) fn change(
        &self,
        caller: &Caller,
        id: NodeId,
        changes: &Changes,
    ) -> Result<Attr, Errno> {
        let node = self.node_as(caller, id)?;
        let file = changes.handle.map(|handle| self.files.get(handle)).transpose()?;
        node.inode.change(changes, file.as_ref().map(|open| &open.file))?;
        Ok(node.name(node.inode.attr()?))
    }

    pub(super) fn list(
        &self,
        caller: &Caller,
        handle: HandleId,
        offset: u64,
        reply: &mut DirectoryReply,
        id: NodeId,
    ) -> Result<(), Errno> {
        let node = self.node_as(caller, id)?;
        let directory = self.directories.get(handle)?;
        let mut directory = directory.lock().unwrap_or_else(PoisonError::into_inner);
        directory.list(offset, |dirent| {
            if !reply.fits(dirent.name) {
                return false;
            }
            let dots = dirent.name == b"." || dirent.name == b"..";
            let entry = (reply.wants_attributes() && !dots)
                .then(|| name_of(dirent.name))
                .and_then(|name| node.inode.lookup(name).ok())
                .and_then(|found| self.enter(&found).ok());
            reply.push(dirent, entry.as_ref());
            true
        })
    }

    /// Write; if it appends and comes with a ticket, once.
    pub(super) fn write_once(
        &self,
        caller: &Caller,
        at: WriteAt,
        data: &[u8],
        once: Option<Ticket>,
        reply: Reply<u32>,
    ) {
        let open = match self.files.get(at.handle).and_then(|open| open.late_error().map(|()| open))
        {
            Ok(open) => open,
            Err(errno) => return reply.send(Err(errno)),
        };
        open.written.store(true, Ordering::Relaxed);
        self.ask_again_if_in_doubt(&open);
        let identity =
            (Identity::can_be_assumed() && !at.late).then(|| self.callers.identity(caller));
        let asker = Asker { key: caller.request, job: self.callers.job(caller), once };
        self.engine.write(asker, identity, open, &at, data, reply);
    }

    pub(super) fn flush_file(&self, handle: HandleId) -> Result<(), Errno> {
        let open = self.files.get(handle)?;
        open.late_error()?;
        // Only what was written through this file can have gone wrong.
        if open.written.load(Ordering::Relaxed) { open.file.flush() } else { Ok(()) }
    }

    pub(super) fn control_handle(
        &self,
        caller: &Caller,
        handle: HandleId,
        command: u32,
        argument: &[u8],
        room: usize,
    ) -> Result<Controlled, Errno> {
        if let Some(answer) = self.control(caller, command, argument, room) {
            return answer;
        }
        // The kernel does not say which of the two it is, but their numbers are apart.
        match self.files.get(handle) {
            Ok(open) if command == LAYOUT => self.tell_layout(&open, argument, room),
            Ok(open) => open.file.control(command, argument, room),
            Err(_) => {
                let directory = self.directories.get(handle)?;
                let directory = directory.lock().unwrap_or_else(PoisonError::into_inner);
                directory.control(command, argument, room)
            }
        }
    }
}

/// The flags to make a file with. Whoever makes it may read it, so that pages of it can be filled.
pub(super) fn for_making(how: OpenHow) -> i32 {
    let write_only = how.flags & libc::O_ACCMODE == libc::O_WRONLY;
    if how.readable && write_only {
        (how.flags & !libc::O_ACCMODE) | libc::O_RDWR
    } else {
        how.flags
    }
}

fn name_of(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// A name that changes faster than it can be looked up this often is given up.
const STALE_RETRIES: usize = 16;
