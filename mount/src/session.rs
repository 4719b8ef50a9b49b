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
use crate::company;
use crate::conversation;
use crate::crew::{Crew, Duty, Lookout, Patience, Strength};
use crate::device::{Buffer, Connection, Device};
use crate::line::Line;
use crate::negotiation::{Negotiation, Terms};
use crate::payload::Spares;
use crate::protocol::question::Question;
use crate::ring::{self, Queue, Switch};
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
        let switch = (rings && are_worth_it(&*store)).then(Switch::on).flatten();
        let fuser = attach(options, negotiation)?;
        drop(switch);
        let terms = *terms.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = Arc::new(Connection::new(options.cache));
        let device = Arc::new(Device::new(fuser.as_fd().try_clone_to_owned()?, connection));
        let lookout = Lookout::of_process()?;
        let queues = start_queues(&store, &device, terms, options.threads, &lookout)?;
        let few = if terms.rings { 1 } else { listeners(store.hands_on()) };
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

/// Whether rings are to be switched on where they are off. Where requests are handed on, reading them
/// from the device is as quick, and wakes fewer. And every processor there could ever be needs a
/// thread: some machines could have hundreds, and have two.
fn are_worth_it(store: &dyn Store) -> bool {
    let queues = ring::queues().map_or(0, usize::from);
    !store.hands_on() && queues <= IDLE_QUEUES * processors()
}

const IDLE_QUEUES: usize = 4;

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// How many threads read requests: one for each processor, and one more for what an application
/// does not wait for, such as that its file is closed. Where requests are handed on each takes a few
/// microseconds, and who finds several at hand wakes others less often: half of the processors do.
fn listeners(hand_on: bool) -> usize {
    if hand_on { processors().div_ceil(2) } else { processors() + 1 }
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
    let most = threads_of_a_queue(threads, usize::from(count));
    let trails = Arc::default();
    let start = |number| {
        let descriptor: OwnedFd = device.descriptor()?;
        let (store, connection) = (Arc::clone(store), Arc::clone(&device.connection));
        let payload = terms.max_write as usize;
        let queue = Queue::new(store, connection, descriptor, number, payload, &trails);
        Crew::start(queue, Strength { few: 1, most }, lookout)
    };
    (0..count).map(start).collect()
}

/// How many threads one of so many queues may have. Whoever waits in one cannot be helped by those of
/// another, so all together may be twice as many as without queues; but many processors must not
/// become thousands of threads, each with room for a large request.
fn threads_of_a_queue(threads: usize, queues: usize) -> usize {
    let share = 2 * threads / queues.max(1);
    share.clamp(threads.min(FEW_OF_A_QUEUE), threads)
}

const FEW_OF_A_QUEUE: usize = 4;

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

/// A way to the kernel.
struct Way {
    line: Line,
    device: Arc<Device>,
}

impl Way {
    fn new(device: Device) -> Way {
        let device = Arc::new(device);
        Way { line: Line::Device(Arc::clone(&device)), device }
    }
}

/// A way that is not waited at: for requests that are at hand.
struct Aside {
    way: Way,
    patience: Patience,
}

impl Aside {
    fn glance(&self, buffer: &mut Buffer) -> Option<Found<'_>> {
        Some((&self.way, self.way.device.glance(buffer)?))
    }

    /// Whoever is about to ask something may do so first.
    fn glance_after_others(&self, buffer: &mut Buffer) -> Option<Found<'_>> {
        if self.patience.gives_way() { self.glance(buffer) } else { None }
    }

    /// Look for a while: others wait for answers, and will have more to ask when they have them.
    fn look(&self, buffer: &mut Buffer) -> Option<Found<'_>> {
        let looking = self.patience.begin()?;
        while self.patience.goes_on(&looking) {
            if let Some(found) = self.glance(buffer) {
                self.patience.was_right();
                return Some(found);
            }
        }
        None
    }
}

/// The length of a request, and the way it came.
type Found<'a> = (&'a Way, usize);

/// A descriptor of the connection, and room for a request.
struct Post {
    way: Way,
    /// Where several requests are better handed on together.
    aside: Option<Aside>,
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
        let way = Way::new(self.device.another()?);
        let looks = self.store.hands_on() && !self.is_aside;
        let aside = || {
            let way = Way::new(self.device.another_to_look_at()?);
            Ok::<_, io::Error>(Aside { way, patience: Patience::default() })
        };
        let aside = looks.then(aside).transpose()?;
        Ok(Post { way, aside, buffer: Buffer::new(self.payload, &self.spares), pauses: false })
    }

    fn may_stand_by(&self) -> bool {
        // Every request waits for whoever reads first.
        true
    }

    fn serve(&self, post: &mut Post, begin: &dyn Fn()) -> bool {
        if std::mem::take(&mut post.pauses) {
            std::thread::sleep(PAUSE);
        }
        match post.way.device.receive(&mut post.buffer) {
            Ok(Some(length)) => {
                begin();
                self.serve_those_at_hand(post, length);
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

impl Service {
    /// Serve a request, and others that are at hand if they are better handed on together.
    fn serve_those_at_hand(&self, post: &mut Post, length: usize) {
        let Post { way, aside, buffer, pauses } = post;
        let Some(aside) = aside else {
            *pauses = self.serve_one(&way.line, buffer, length) && self.is_aside;
            return;
        };
        let mut found = Some((&*way, length));
        while found.is_some() {
            let mut after_others = Some(|buffer: &mut Buffer| aside.glance_after_others(buffer));
            let serve = || {
                let next = found.take().or_else(|| aside.glance(buffer));
                let next = next.or_else(|| after_others.take()?(buffer));
                if let Some((way, length)) = next {
                    self.serve_one(&way.line, buffer, length);
                }
                next.is_some()
            };
            let are_several = company::gather(serve);
            found = if are_several { aside.look(buffer) } else { None };
        }
    }

    /// Serve the request in the buffer. Whether the kernel forgets.
    fn serve_one(&self, line: &Line, buffer: &Buffer, length: usize) -> bool {
        let Some(question) = Question::parse(buffer.filled(length)) else {
            tracing::error!(length, "the kernel sent something that is no request");
            return false;
        };
        let forgets = question.is_forgetting();
        buffer.offer(length, || conversation::serve(&*self.store, line, question));
        forgets
    }
}

/// What the kernel forgets meanwhile comes in one request, and wakes nobody.
const PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_processors_do_not_become_thousands_of_threads() {
        let all = |queues| (1..=queues).map(|_| threads_of_a_queue(32, queues)).sum::<usize>();
        assert_eq!([1, 2, 8, 16, 128].map(all), [32, 64, 64, 64, 512]);
        assert_eq!(threads_of_a_queue(1, 128), 1, "who asks for one gets no more");
    }
}
