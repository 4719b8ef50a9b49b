//! A mounted tree from its beginning to its end: mount, threads, unmount.
//!
//! `fuser` mounts (as root directly, else through `fusermount3`) and agrees with the kernel on the
//! terms. The loop that reads requests is ours, because the library's (0.18) refuses interruption,
//! does not tell `flock` from `fcntl` locks, knows no files without a name, makes the inode number
//! the node's identity, and offers no way to lay a payload on a page.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::attach::attach;
use crate::cache::Cache;
use crate::conversation;
use crate::crew::{Crew, Duty, Lookout, Strength};
use crate::device::{Buffer, Connection, Device};
use crate::line::Line;
use crate::negotiation::{Negotiation, Terms};
use crate::payload::Spares;
use crate::protocol::question::Question;
use crate::ring::{self, Queue};
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
    /// Take requests over `io_uring` where the kernel offers it.
    pub rings: bool,
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
            rings: true,
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
    queues: Vec<Arc<Crew<Queue>>>,
}

impl Session {
    /// Mount, and begin to serve.
    pub fn mount(store: Arc<dyn Store>, options: &Options) -> io::Result<Session> {
        let rings = options.rings && ring::queues().is_some() && ring::is_possible();
        let (negotiation, terms) = Negotiation::new(options.cache, options.max_write, rings);
        let fuser = attach(options, negotiation)?;
        let terms = *terms.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = Arc::new(Connection::new(options.cache));
        let device = Arc::new(Device::new(fuser.as_fd().try_clone_to_owned()?, connection));
        let lookout = Lookout::start()?;
        let queues = start_queues(&store, &device, terms, options.threads, &lookout)?;
        let few = if terms.rings { 1 } else { listeners() };
        let strength = Strength { few, most: options.threads };
        let payload = terms.max_write as usize;
        let spares = Arc::default();
        let service = Service { store, device, payload, spares, is_aside: terms.rings };
        let crew = Crew::start(service, strength, &lookout)?;
        Ok(Session { fuser, crew, queues })
    }

    /// Wait until the tree is unmounted, by whomever, and every request is answered.
    pub fn wait(self) {
        self.crew.wait();
        for queue in self.queues {
            queue.wait();
        }
        drop(self.fuser);
    }
}

/// How many threads read requests: one for each processor, and one more for what an application
/// does not wait for, such as that its file is closed.
fn listeners() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get) + 1
}

/// A crew for each queue of the kernel, if requests come over rings.
fn start_queues(
    store: &Arc<dyn Store>,
    device: &Arc<Device>,
    terms: Terms,
    threads: usize,
    lookout: &Arc<Lookout>,
) -> io::Result<Vec<Arc<Crew<Queue>>>> {
    let count = ring::queues().filter(|_| terms.rings).unwrap_or(0);
    let start = |number| {
        let descriptor: OwnedFd = device.descriptor()?;
        let (store, connection) = (Arc::clone(store), Arc::clone(&device.connection));
        let payload = terms.max_write as usize;
        let queue = Queue::new(store, connection, descriptor, number, payload);
        Crew::start(queue, Strength { few: 1, most: threads }, lookout)
    };
    (0..count).map(start).collect()
}

/// Reads requests of the kernel, and has them answered.
struct Service {
    store: Arc<dyn Store>,
    device: Arc<Device>,
    payload: usize,
    spares: Arc<Spares>,
    /// Most requests come by another way: what comes here nobody waits for.
    is_aside: bool,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("payload", &self.payload).finish_non_exhaustive()
    }
}

/// A descriptor of the connection, and room for a request.
struct Post {
    line: Line,
    device: Arc<Device>,
    buffer: Buffer,
    /// The kernel has begun to forget.
    pauses: bool,
}

impl Duty for Service {
    type Tools = Post;

    fn name(&self) -> &'static str {
        "iofwd-fuse"
    }

    fn equip(&self) -> io::Result<Post> {
        let device = Arc::new(self.device.another()?);
        let line = Line::Device(Arc::clone(&device));
        let buffer = Buffer::new(self.payload, &self.spares);
        Ok(Post { line, device, buffer, pauses: false })
    }

    fn may_stand_by(&self) -> bool {
        // Every request waits for whoever reads first.
        true
    }

    fn serve(&self, post: &mut Post, begin: &dyn Fn()) -> bool {
        if std::mem::take(&mut post.pauses) {
            std::thread::sleep(PAUSE);
        }
        match post.device.receive(&mut post.buffer) {
            Ok(Some(length)) => {
                begin();
                match Question::parse(post.buffer.filled(length)) {
                    Some(question) => {
                        post.pauses = self.is_aside && question.is_forgetting();
                        post.buffer.offer(length, || {
                            conversation::serve(&*self.store, &post.line, question);
                        });
                    }
                    None => tracing::error!(length, "the kernel sent something that is no request"),
                }
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

/// What the kernel forgets meanwhile comes in one request, and wakes nobody.
const PAUSE: Duration = Duration::from_millis(1);
