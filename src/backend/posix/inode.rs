//! A node of the tree: which inode it is, and a descriptor that names it.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use iofwd_mount::Errno;
use iofwd_mount::store::Timestamp;

use super::descriptor::Descriptors;
use super::home::Home;
use super::identity::Identity;
use super::system::{self, FileHandle};

/// Which inode: device and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What stands for the file system of the exported directory; or the major and minor number of a
    /// device that is mounted below it.
    pub device: (u32, u32),
    /// The number on it.
    pub number: u64,
}

/// When the inode was made, where the file system tells: a number used again is another inode.
pub type Birth = Option<Timestamp>;

/// What is enough to find a node again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Which inode it was,
    pub key: Key,
    /// made at that time,
    pub birth: Birth,
    /// of that type,
    pub mode: u32,
    /// and by what its file system finds it, where it has such a thing.
    pub handle: Option<(i32, Vec<u8>)>,
}

/// Where a node was last found.
#[derive(Clone, Debug)]
pub struct Place {
    /// In this directory,
    pub parent: Arc<Inode>,
    /// under this name.
    pub name: CString,
}

/// A node of the tree.
#[derive(Debug)]
pub struct Inode {
    key: Key,
    birth: Birth,
    mode: u32,
    /// The file system of the exported directory.
    home: Home,
    descriptors: Arc<Descriptors>,
    descriptor: Mutex<Option<Arc<OwnedFd>>>,
    used: AtomicBool,
    handle: OnceLock<Option<FileHandle>>,
    place: Mutex<Option<Place>>,
    this: Weak<Inode>,
}

impl Inode {
    pub(super) fn root(fd: OwnedFd, descriptors: Arc<Descriptors>) -> Result<Inode, Errno> {
        let stat = system::statx(&fd, c"")?;
        let home = Home::of(descriptors.home().unwrap_or(&fd))?;
        Ok(Inode {
            home,
            key: home.key_of(&stat),
            birth: birth_of(&stat),
            mode: u32::from(stat.stx_mode),
            descriptors,
            descriptor: Mutex::new(Some(Arc::new(fd))),
            used: AtomicBool::new(true),
            handle: OnceLock::new(),
            place: Mutex::new(None),
            // The root is in no clock and its descriptor stays open.
            this: Weak::new(),
        })
    }

    /// A node just found, held by its descriptor.
    pub(super) fn found(
        fd: OwnedFd,
        stat: &libc::statx,
        place: Option<Place>,
        parent: &Inode,
    ) -> Arc<Inode> {
        let number = fd.as_raw_fd();
        let inode = Arc::new_cyclic(|this| Inode {
            key: parent.home.key_of(stat),
            birth: birth_of(stat),
            mode: u32::from(stat.stx_mode),
            home: parent.home,
            descriptors: Arc::clone(&parent.descriptors),
            descriptor: Mutex::new(Some(Arc::new(fd))),
            used: AtomicBool::new(true),
            handle: OnceLock::new(),
            place: Mutex::new(place),
            this: Weak::clone(this),
        });
        parent.descriptors.opened(Arc::downgrade(&inode), number);
        inode
    }

    /// A node that was known before; its descriptor is opened when it is needed.
    pub(super) fn recalled(node: Remembered, place: Option<Place>, root: &Inode) -> Arc<Inode> {
        let handle = node.handle.map(|(kind, bytes)| FileHandle { kind, bytes });
        Arc::new_cyclic(|this| Inode {
            key: node.key,
            birth: node.birth,
            mode: node.mode,
            home: root.home,
            descriptors: Arc::clone(&root.descriptors),
            descriptor: Mutex::new(None),
            used: AtomicBool::new(true),
            handle: OnceLock::from(handle),
            place: Mutex::new(place),
            this: Weak::clone(this),
        })
    }

    /// What it can be found by again.
    pub fn remember(&self) -> Remembered {
        let handle = self.handle.get_or_init(|| {
            let named = self.descriptor().ok()?;
            system::name_to_handle(&*named).ok()
        });
        let handle = handle.as_ref().map(|handle| (handle.kind, handle.bytes.clone()));
        Remembered { key: self.key, birth: self.birth, mode: self.mode, handle }
    }

    /// Which inode it is.
    pub fn key(&self) -> Key {
        self.key
    }

    /// When it was made.
    pub fn birth(&self) -> Birth {
        self.birth
    }

    /// Whether it is a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFLNK
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFDIR
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG
    }

    /// The file system of the exported directory.
    pub(super) fn home(&self) -> Home {
        self.home
    }

    /// Remember where it was found last: the way back if its descriptor had to be closed.
    pub(super) fn found_at(&self, parent: &Arc<Inode>, name: &CString) {
        if self.this.strong_count() > 0 {
            let place = Place { parent: Arc::clone(parent), name: name.clone() };
            *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        }
    }

    /// The path where it was found last, below the exported directory: for people to read.
    pub fn seen_at(&self) -> Vec<u8> {
        let mut names: Vec<CString> = Vec::new();
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        while let Some(Place { parent, name }) = place.filter(|_| names.len() < DEEPEST) {
            names.push(name);
            place = parent.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        }
        names.reverse();
        names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>().join(&b'/')
    }

    /// The descriptor that names it; opened again if it had to be closed.
    pub(super) fn descriptor(&self) -> Result<Arc<OwnedFd>, Errno> {
        self.used.store(true, Ordering::Relaxed);
        let mut held = self.descriptor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fd) = &*held {
            return Ok(Arc::clone(fd));
        }
        let fd = Arc::new(self.reopen()?);
        *held = Some(Arc::clone(&fd));
        drop(held);
        self.descriptors.opened(Weak::clone(&self.this), fd.as_raw_fd());
        Ok(fd)
    }

    /// By its handle, or else where it was seen last; whoever asks, it is the agent who looks.
    fn reopen(&self) -> Result<OwnedFd, Errno> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Identity::as_agent(|| {
            let found = self.by_handle(place.as_ref());
            let fd = found.or_else(|errno| match &place {
                Some(Place { parent, name }) => {
                    system::openat(&*parent.descriptor()?, name, libc::O_PATH, 0)
                }
                None => Err(errno),
            });
            let fd = fd.map_err(|errno| if errno == Errno::ENOENT { Errno::ESTALE } else { errno });
            let fd = fd?;
            let stat = system::statx(&fd, c"")?;
            let same = self.home.key_of(&stat) == self.key && birth_of(&stat) == self.birth;
            if same { Ok(fd) } else { Err(Errno::ESTALE) }
        })
    }

    fn by_handle(&self, place: Option<&Place>) -> Result<OwnedFd, Errno> {
        let handle = self.handle.get().and_then(Option::as_ref);
        let handle = handle.filter(|_| Identity::can_be_assumed()).ok_or(Errno::ESTALE)?;
        if self.home.has(self.key)
            && let Some(home) = self.descriptors.home()
        {
            return system::open_by_handle(home, handle);
        }
        let parent = place.ok_or(Errno::ESTALE)?.parent.descriptor()?;
        // The handle is looked for on the file system of a descriptor that can be read.
        let mount = system::reopen(&*parent, libc::O_RDONLY | libc::O_DIRECTORY)?;
        system::open_by_handle(&mount, handle)
    }

    /// Close the descriptor, unless it was used since this was last asked.
    pub(super) fn close_if_unused(&self) -> bool {
        if self.used.swap(false, Ordering::Relaxed) {
            return false;
        }
        let mut held = self.descriptor.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            // Somebody is about to use it.
            Some(fd) if Arc::strong_count(fd) > 1 => false,
            Some(fd) => {
                self.handle.get_or_init(|| system::name_to_handle(&**fd).ok());
                *held = None;
                self.descriptors.closed();
                true
            }
            None => true,
        }
    }
}

impl Drop for Inode {
    fn drop(&mut self) {
        let held = self.descriptor.get_mut().unwrap_or_else(PoisonError::into_inner);
        if held.take().is_some() {
            self.descriptors.closed();
        }
    }
}

pub(super) fn birth_of(stat: &libc::statx) -> Birth {
    (stat.stx_mask & libc::STATX_BTIME != 0)
        .then_some(Timestamp { secs: stat.stx_btime.tv_sec, nanos: stat.stx_btime.tv_nsec })
}

/// Names of a path that are shown: directories may have been moved into each other meanwhile.
const DEEPEST: usize = 64;
