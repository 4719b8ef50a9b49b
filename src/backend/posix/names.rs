//! The names of the tree: find, make, remove, rename.

use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use iofwd_mount::Errno;
use iofwd_mount::store::{Attr, NewNode};

use super::attributes;
use super::file::File;
use super::identity;
use super::inode::{self, Birth, Inode, Key, Place};
use super::system;

/// What a name led to.
#[derive(Debug)]
pub struct Found {
    /// Which inode.
    pub key: Key,
    /// When it was made.
    pub birth: Birth,
    /// Its attributes; the node number is not filled in.
    pub attr: Attr,
    parent: Arc<Inode>,
    name: CString,
}

impl Found {
    /// The node, for somebody who does not hold it yet. `ESTALE` if the name leads elsewhere now.
    pub fn open(&self) -> Result<Arc<Inode>, Errno> {
        let parent = self.parent.descriptor()?;
        let fd = system::openat(&*parent, &self.name, libc::O_PATH, 0)?;
        let stat = system::statx(&fd, c"")?;
        if self.parent.home().key_of(&stat) != self.key {
            return Err(Errno::ESTALE);
        }
        let place = Place { parent: Arc::clone(&self.parent), name: self.name.clone() };
        Ok(Inode::found(fd, &stat, Some(place), &self.parent))
    }

    /// The node is held already: remember that it was found here.
    pub fn remember(&self, inode: &Inode) {
        inode.found_at(&self.parent, &self.name);
    }
}

impl Inode {
    /// Find a name in this directory.
    pub fn lookup(self: &Arc<Inode>, name: &OsStr) -> Result<Found, Errno> {
        self.find(system::component(name)?)
    }

    fn find(self: &Arc<Inode>, name: CString) -> Result<Found, Errno> {
        let stat = system::statx(&*self.descriptor()?, &name)?;
        Ok(Found {
            key: self.home().key_of(&stat),
            birth: inode::birth_of(&stat),
            attr: attributes::convert(&stat, self.home()),
            parent: Arc::clone(self),
            name,
        })
    }

    /// Make a file, fifo, socket or device node.
    pub fn mknod(self: &Arc<Inode>, name: &OsStr, new: NewNode) -> Result<Found, Errno> {
        let name = system::component(name)?;
        identity::set_umask(new.umask);
        // The kernel packs the number as it did for 32 bits; the C library expects its own form.
        let (major, minor) =
            ((new.device & 0xfff00) >> 8, (new.device & 0xff) | ((new.device >> 12) & 0xfff00));
        let device = libc::makedev(major, minor);
        system::mknodat(&*self.descriptor()?, &name, new.mode, device)?;
        self.find(name)
    }

    /// Make a directory.
    pub fn mkdir(self: &Arc<Inode>, name: &OsStr, new: NewNode) -> Result<Found, Errno> {
        let name = system::component(name)?;
        identity::set_umask(new.umask);
        system::mkdirat(&*self.descriptor()?, &name, new.mode)?;
        self.find(name)
    }

    /// Make a symbolic link.
    pub fn symlink(self: &Arc<Inode>, name: &OsStr, target: &OsStr) -> Result<Found, Errno> {
        let (name, target) = (system::component(name)?, system::c_string(target)?);
        system::symlinkat(&target, &*self.descriptor()?, &name)?;
        self.find(name)
    }

    /// Give another node a name in this directory.
    pub fn link(self: &Arc<Inode>, node: &Inode, name: &OsStr) -> Result<Found, Errno> {
        let name = system::component(name)?;
        system::linkat(&*node.descriptor()?, &*self.descriptor()?, &name)?;
        self.find(name)
    }

    /// Give this node a name outside the tree, where only the agent comes.
    pub fn link_at(&self, path: &std::path::Path) -> Result<(), Errno> {
        let path = system::c_string(path.as_os_str())?;
        system::linkat(&*self.descriptor()?, &nix::fcntl::AT_FDCWD, &path)
    }

    /// Remove a name that is not a directory.
    pub fn unlink(&self, name: &OsStr) -> Result<(), Errno> {
        system::unlinkat(&*self.descriptor()?, &system::component(name)?, 0)
    }

    /// Remove an empty directory.
    pub fn rmdir(&self, name: &OsStr) -> Result<(), Errno> {
        system::unlinkat(&*self.descriptor()?, &system::component(name)?, libc::AT_REMOVEDIR)
    }

    /// Rename, with the flags of `renameat2`.
    pub fn rename(
        &self,
        name: &OsStr,
        to: &Inode,
        to_name: &OsStr,
        flags: u32,
    ) -> Result<(), Errno> {
        let (from, target) = (self.descriptor()?, to.descriptor()?);
        let (name, to_name) = (system::component(name)?, system::component(to_name)?);
        system::renameat2((&*from, &name), (&*target, &to_name), flags)
    }

    /// Make and open a file. `None` if the name is taken and the caller does not mind.
    pub fn create(
        self: &Arc<Inode>,
        name: &OsStr,
        flags: i32,
        new: NewNode,
    ) -> Result<Option<Made>, Errno> {
        let name = system::component(name)?;
        identity::set_umask(new.umask);
        // Always exclusive: whatever has taken the name meanwhile is opened by the usual way,
        // which neither follows links nor waits for the other end of a fifo.
        let open_flags = File::backing_flags(flags) | libc::O_CREAT | libc::O_EXCL;
        match system::openat(&*self.descriptor()?, &name, open_flags, new.mode) {
            Ok(fd) => Made::new(fd, self, Some(name), flags).map(Some),
            Err(errno) if errno.raw() == libc::EEXIST && flags & libc::O_EXCL == 0 => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Make and open a file without a name.
    pub fn tmpfile(self: &Arc<Inode>, flags: i32, new: NewNode) -> Result<Made, Errno> {
        identity::set_umask(new.umask);
        let open_flags = (File::backing_flags(flags) & !libc::O_CREAT) | (flags & libc::O_EXCL);
        let fd = system::open_tmpfile(&*self.descriptor()?, open_flags, new.mode)?;
        Made::new(fd, self, None, flags)
    }
}

/// A file that was made and is open.
#[derive(Debug)]
pub struct Made {
    /// The node.
    pub inode: Arc<Inode>,
    /// Its attributes; the node number is not filled in.
    pub attr: Attr,
    /// The open file.
    pub file: File,
}

impl Made {
    fn new(
        fd: OwnedFd,
        parent: &Arc<Inode>,
        name: Option<CString>,
        flags: i32,
    ) -> Result<Made, Errno> {
        let stat = system::statx(&fd, c"")?;
        // A descriptor of its own, lest the node keep the file open for writing.
        let named = system::reopen(&fd, libc::O_PATH)?;
        let place = name.map(|name| Place { parent: Arc::clone(parent), name });
        let inode = Inode::found(named, &stat, place, parent);
        let attr = attributes::convert(&stat, parent.home());
        let file = File::new(fd, flags);
        Ok(Made { inode, attr, file })
    }
}
