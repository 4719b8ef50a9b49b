//! A mounted tree from its beginning to its end: mount, threads, unmount.
//!
//! `fuser` mounts (as root directly, else through `fusermount3`) and agrees with the kernel on the
//! terms. The loop that reads requests is ours, because the library's (0.18) refuses interruption,
//! does not tell `flock` from `fcntl` locks, knows no files without a name, makes the inode number
//! the node's identity, and offers no way to lay a payload on a page.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use crate::attach::attach;
use crate::cache::Cache;
use crate::conversation;
use crate::device::{Buffer, Connection, Device};
use crate::negotiation::Negotiation;
use crate::store::Store;

/// How to mount.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the tree appears.
    pub mountpoint: PathBuf,
    /// What the list of mounts shows as its source.
    pub source: String,
    /// What the kernel may cache.
    pub cache: Cache,
    /// Let other users in; their own permissions decide.
    pub allow_other: bool,
    /// Refuse every change.
    pub read_only: bool,
    /// Honour set-user-id bits.
    pub suid: bool,
    /// Honour device nodes.
    pub dev: bool,
    /// Other options of `mount`, handed on as they are (`noexec`, `noatime`, `context=...`).
    pub extra: Vec<String>,
    /// The largest read or write in one request, if the kernel agrees.
    pub max_write: u32,
    /// At most so many requests are served at a time.
    pub threads: usize,
}

impl Options {
    /// Mount `source`, whatever that is, with the defaults.
    pub fn new(mountpoint: PathBuf, source: String) -> Options {
        Options {
            mountpoint,
            source,
            cache: Cache::default(),
            allow_other: false,
            read_only: false,
            suid: false,
            dev: false,
            extra: Vec::new(),
            max_write: largest_request(),
            threads: 32,
        }
    }
}

/// The largest request this kernel sends: 1 MiB, or more where the administrator allows it.
fn largest_request() -> u32 {
    let pages: u32 = std::fs::read_to_string("/proc/sys/fs/fuse/max_pages_limit")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(256);
    pages.clamp(256, 1024) * 4096
}

/// A mounted tree.
#[derive(Debug)]
pub struct Session {
    fuser: fuser::Session<Negotiation>,
    crew: Arc<Crew>,
}

impl Session {
    /// Mount, and begin to serve.
    pub fn mount(store: Arc<dyn Store>, options: &Options) -> io::Result<Session> {
        let (negotiation, terms) = Negotiation::new(options.cache, options.max_write);
        let fuser = attach(options, negotiation)?;
        let terms = *terms.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = Arc::new(Connection::new(options.cache));
        let device = Device::new(fuser.as_fd().try_clone_to_owned()?, connection);
        let crew = Arc::new(Crew {
            store,
            payload: terms.max_write as usize,
            most: options.threads.max(1),
            idle: AtomicUsize::new(0),
            members: Mutex::new(0),
            gone: Condvar::new(),
        });
        crew.enlist(device)?;
        Ok(Session { fuser, crew })
    }

    /// Wait until the tree is unmounted, by whomever, and every request is answered.
    pub fn wait(self) {
        self.crew.wait();
        drop(self.fuser);
    }
}

/// The threads that serve. There is always one that listens; another joins when all are busy, and
/// leaves when too many wait.
struct Crew {
    store: Arc<dyn Store>,
    payload: usize,
    most: usize,
    idle: AtomicUsize,
    members: Mutex<usize>,
    gone: Condvar,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Crew {
    /// One more thread, unless there are enough.
    fn enlist(self: &Arc<Crew>, device: Device) -> io::Result<()> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        if *members >= self.most {
            return Ok(());
        }
        let crew = Arc::clone(self);
        thread::Builder::new().name("iofwd-fuse".into()).spawn(move || {
            crew.work(&Arc::new(device));
            *crew.members.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            crew.gone.notify_all();
        })?;
        *members += 1;
        Ok(())
    }

    fn work(self: &Arc<Crew>, device: &Arc<Device>) {
        let mut buffer = Buffer::new(self.payload);
        loop {
            if self.idle.fetch_add(1, Ordering::Relaxed) >= IDLE_MOST {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            let received = device.receive(&mut buffer);
            let was_last_idle = self.idle.fetch_sub(1, Ordering::Relaxed) == 1;
            match received {
                Ok(Some(bytes)) => {
                    if was_last_idle {
                        self.reinforce(device);
                    }
                    conversation::serve(&*self.store, device, bytes);
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%error, "the connection to the kernel broke");
                    return;
                }
            }
        }
    }

    /// Nobody listens any more: let one more join, so that a slow request holds up no other.
    fn reinforce(self: &Arc<Crew>, device: &Arc<Device>) {
        if *self.members.lock().unwrap_or_else(PoisonError::into_inner) >= self.most {
            return;
        }
        let joined = device.another().and_then(|another| self.enlist(another));
        if let Err(error) = joined {
            tracing::warn!(%error, "cannot start another thread; going on with those there are");
        }
    }

    fn wait(&self) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        while *members > 0 {
            members = self.gone.wait(members).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// More threads than these need not wait for work at a time.
const IDLE_MOST: usize = 8;
