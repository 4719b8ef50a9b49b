//! A mounted tree from its beginning to its end: mount, threads, unmount.
//!
//! `fuser` mounts (as root directly, else through `fusermount3`) and agrees with the kernel on the
//! terms. The loop that reads requests is ours, because the library's (0.18) refuses interruption,
//! does not tell `flock` from `fcntl` locks, knows no files without a name, makes the inode number
//! the node's identity, and offers no way to lay a payload on a page.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use crate::attach::attach;
use crate::cache::Cache;
use crate::conversation;
use crate::crew::{Crew, Duty};
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
    crew: Arc<Crew<Service>>,
}

impl Session {
    /// Mount, and begin to serve.
    pub fn mount(store: Arc<dyn Store>, options: &Options) -> io::Result<Session> {
        let (negotiation, terms) = Negotiation::new(options.cache, options.max_write);
        let fuser = attach(options, negotiation)?;
        let terms = *terms.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = Arc::new(Connection::new(options.cache));
        let device = Device::new(fuser.as_fd().try_clone_to_owned()?, connection);
        let payload = terms.max_write as usize;
        let post = Post { device: Arc::new(device), buffer: Buffer::new(payload) };
        let crew = Crew::start(Service { store, payload }, options.threads, post)?;
        Ok(Session { fuser, crew })
    }

    /// Wait until the tree is unmounted, by whomever, and every request is answered.
    pub fn wait(self) {
        self.crew.wait();
        drop(self.fuser);
    }
}

/// Reads requests of the kernel, and has them answered.
struct Service {
    store: Arc<dyn Store>,
    payload: usize,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("payload", &self.payload).finish_non_exhaustive()
    }
}

/// A descriptor of the connection, and room for a request.
struct Post {
    device: Arc<Device>,
    buffer: Buffer,
}

impl Duty for Service {
    type Tools = Post;

    fn name(&self) -> &'static str {
        "iofwd-fuse"
    }

    fn equip(&self, from: &Post) -> io::Result<Post> {
        let device = Arc::new(from.device.another()?);
        Ok(Post { device, buffer: Buffer::new(self.payload) })
    }

    fn serve(&self, post: &mut Post, begin: &dyn Fn(&Post)) -> bool {
        match post.device.receive(&mut post.buffer) {
            Ok(Some(length)) => {
                begin(post);
                conversation::serve(&*self.store, &post.device, post.buffer.filled(length));
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::error!(%error, "the connection to the kernel broke");
                false
            }
        }
    }
}
