//! A directory of a mounted file system, reached by descriptors and never by paths.
//!
//! Every node is held by a descriptor that names the inode itself, so that no rename or symbolic
//! link, whenever it happens, leads anywhere else. Every call is made as the user who asked.

mod attributes;
mod descriptor;
mod direct;
mod directory;
mod file;
mod home;
mod identity;
mod inode;
mod lock;
mod names;
mod system;

pub use descriptor::raise_limit;
pub use directory::Directory;
pub use file::File;
pub use identity::Identity;
pub use inode::{Birth, Inode, Key, Place, Remembered};
pub use lock::RangeLocks;
pub use names::{Found, Made};

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use iofwd_mount::Errno;

use self::descriptor::Descriptors;

/// An exported directory.
#[derive(Debug)]
pub struct Tree {
    root: Arc<Inode>,
    descriptors: Arc<Descriptors>,
}

impl Tree {
    /// Open the directory that is to be exported.
    pub fn open(path: &Path) -> Result<Tree, Errno> {
        let fd = system::open_directory_path(path)?;
        let descriptors = Arc::new(Descriptors::new());
        // Whoever may not read it does without handles.
        if let Ok(home) = system::reopen(&fd, libc::O_RDONLY | libc::O_DIRECTORY) {
            descriptors.set_home(home);
        }
        let root = Inode::root(fd, Arc::clone(&descriptors))?;
        Ok(Tree { root: Arc::new(root), descriptors })
    }

    /// The exported directory itself.
    pub fn root(&self) -> &Arc<Inode> {
        &self.root
    }

    /// A node that was known before, and where it was seen last. It is looked for when it is needed.
    pub fn recall(&self, node: Remembered, place: Option<(Arc<Inode>, &OsStr)>) -> Arc<Inode> {
        let place = place.and_then(|(parent, name)| {
            system::component(name).ok().map(|name| Place { parent, name })
        });
        Inode::recalled(node, place, &self.root)
    }

    /// Write everything that was written to the file systems of these nodes to their devices.
    /// Of those of one file system, one that is still there is enough.
    pub fn sync(&self, others: &[Vec<Arc<Inode>>]) -> Result<(), Errno> {
        system::syncfs(&readable(&self.root)?)?;
        for inodes in others {
            let open = |inode: &Arc<Inode>| match readable(inode) {
                Err(errno) if errno == Errno::ESTALE => None,
                opened => Some(opened),
            };
            if let Some(opened) = inodes.iter().find_map(open) {
                system::syncfs(&opened?)?;
            }
        }
        Ok(())
    }

    /// Descriptors held for nodes, and the most that may be held.
    pub fn descriptors(&self) -> (usize, usize) {
        self.descriptors.usage()
    }
}

fn readable(inode: &Inode) -> Result<OwnedFd, Errno> {
    system::reopen(&*inode.descriptor()?, libc::O_RDONLY | libc::O_NONBLOCK)
}
