//! Connections that carry frames between clients and agents: read by a crew of threads that all
//! connections of a process share, written from any thread, and never waited for.
//!
//! A thread of the crew takes a frame off a connection and does what it says: a request passes with
//! no hand-over inside the process. It goes on with the next while they are quick; otherwise another
//! thread gets the connection meanwhile, so that a slow one holds up no other (`reading`). What an answer does not get rid of at once is kept and sent when the other
//! side takes it.
//!
//! Memory is bounded by what is let in: a frame is read only if it, and the largest answer to it,
//! fit what its connection was granted and what all of them share. Until then its bytes stay with
//! the sender.

mod buffer;
pub mod exchange;
mod inbox;
mod lending;
mod memory;
mod outbox;
mod pace;
mod reading;
mod socket;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};

use iofwd_mount::crew::{Crew, Lookout, Patience, Strength, Watched};

use crate::wire::frame::Prefix;

use inbox::Inbox;
use memory::Memory;
use outbox::{Gathered, Outbox};
use pace::Pace;
use reading::{Post, Reading};

pub use buffer::Buffer;
pub use memory::Share;
pub use outbox::Outgoing;

/// All connections of a process.
#[derive(Debug)]
pub struct Hub {
    epoll: Epoll,
    links: DashMap<u64, Arc<Link>>,
    /// How many there are.
    count: AtomicUsize,
    next: AtomicU64,
    memory: Arc<Memory>,
    buffers: Arc<buffer::Pool>,
    /// Wakes the crew when it is to end.
    bell: EventFd,
    /// Connections to be served though nothing came from their sockets, and what tells the crew.
    called: Mutex<VecDeque<Arc<Link>>>,
    call: EventFd,
    lookout: Arc<Lookout>,
    /// What each thread of the crew has in hand.
    posts: Mutex<Vec<Weak<Post>>>,
    begun: Instant,
    /// A thread looks for the next frame instead of waiting for it: one is enough.
    looking: AtomicBool,
    /// No more frames are taken.
    held: AtomicBool,
    stopping: AtomicBool,
}

/// One connection.
pub struct Link {
    id: u64,
    hub: Arc<Hub>,
    socket: OwnedFd,
    /// The same socket, under a name of its own: it is waited for separately.
    writing: OwnedFd,
    inbox: Mutex<Inbox>,
    outbox: Mutex<Outbox>,
    gathered: Mutex<Gathered>,
    /// Small frames wait for those that follow at once.
    is_gathering: AtomicBool,
    /// The cost of what is under way, and how much it may be.
    under_way: AtomicUsize,
    grant: usize,
    /// Not read because its grant is used up.
    paused: AtomicBool,
    /// Milliseconds since the hub began, when something was last read
    heard: AtomicU64,
    /// and when the first byte of the frame that is being read was; 0 if none is.
    frame_began: AtomicU64,
    closed: AtomicBool,
    pace: Pace,
    patience: Patience,
    handler: Box<dyn Handler>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Who is told what comes over a connection.
pub trait Handler: Send + Sync {
    /// A frame. Its share of the memory is given back when it is dropped.
    fn frame(&self, link: &Arc<Link>, frame: Frame);
    /// The connection is no more. Called once.
    fn closed(&self, link: &Arc<Link>, reason: &str);
}

/// What was read.
#[derive(Debug)]
pub struct Frame {
    /// Lengths, and the room for an answer.
    pub prefix: Prefix,
    /// Small values.
    pub head: Vec<u8>,
    /// Bytes.
    pub payload: Buffer,
    /// Kept until the answer is sent.
    pub share: Share,
}

impl Hub {
    /// A hub with at most so many threads, and so many bytes under way in all.
    pub fn start(threads: usize, memory: usize) -> io::Result<Arc<Hub>> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        epoll.add(&bell, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        let call = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        epoll.add(&call, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, CALL))?;
        let lookout = Lookout::of_process()?;
        let hub = Arc::new(Hub {
            epoll,
            links: DashMap::new(),
            count: AtomicUsize::new(0),
            next: AtomicU64::new(1),
            memory: Memory::new(memory),
            buffers: Arc::default(),
            bell,
            called: Mutex::default(),
            call,
            lookout: Arc::clone(&lookout),
            posts: Mutex::default(),
            begun: Instant::now(),
            looking: AtomicBool::new(false),
            held: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        });
        let few = std::thread::available_parallelism().map_or(1, |count| count.get());
        let strength = Strength { few, most: threads };
        lookout.watch(&(Arc::clone(&hub) as Arc<dyn Watched>));
        Crew::start(Reading::new(&hub), strength, &lookout)?;
        Ok(hub)
    }

    /// Take a connection over: frames go to the handler from now on.
    pub fn adopt(
        self: &Arc<Hub>,
        socket: OwnedFd,
        grant: usize,
        handler: Box<dyn Handler>,
    ) -> io::Result<Arc<Link>> {
        socket::prepare(&socket)?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let writing = socket.try_clone()?;
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::empty(), id * 2))?;
        self.epoll.add(&writing, EpollEvent::new(EpollFlags::empty(), id * 2 + 1))?;
        let link = Arc::new(Link {
            id,
            hub: Arc::clone(self),
            socket,
            writing,
            inbox: Mutex::default(),
            outbox: Mutex::default(),
            gathered: Mutex::default(),
            is_gathering: AtomicBool::new(false),
            under_way: AtomicUsize::new(0),
            grant,
            paused: AtomicBool::new(false),
            heard: AtomicU64::new(self.elapsed()),
            frame_began: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            pace: Pace::default(),
            patience: Patience::default(),
            handler,
        });
        self.links.insert(id, Arc::clone(&link));
        self.count.fetch_add(1, Ordering::Relaxed);
        link.read_on();
        Ok(link)
    }

    /// Take no more frames off any connection.
    pub fn hold(&self) {
        self.held.store(true, Ordering::SeqCst);
        // Whoever was about to take one has it.
        self.links().iter().for_each(|link| drop(link.inbox()));
    }

    /// Whether frames were taken that are not dealt with yet.
    pub fn is_busy(&self) -> bool {
        self.links().iter().any(|link| link.inbox().busy > 0)
    }

    /// Close every connection, and let the threads go.
    pub fn stop(&self, reason: &str) {
        self.stopping.store(true, Ordering::SeqCst);
        for link in self.links() {
            link.close(reason);
        }
        // Never read, so that every thread of the crew wakes.
        let _ = self.bell.write(1);
    }

    /// Give up connections from which nothing was heard for so long, or no whole frame.
    pub fn reap(&self, idle: Duration) {
        for link in self.links() {
            if link.silent_for() > idle {
                link.close("nothing was heard of it for too long");
            } else if link.reading_for() > idle {
                link.close("a frame took too long to arrive");
            }
        }
    }

    /// A copy of bytes, in memory that is used again when it is large.
    pub fn copy(&self, bytes: &[u8]) -> Buffer {
        self.buffers.copy(bytes)
    }

    /// Bytes under way, and the most there were at a time.
    pub fn memory_used(&self) -> (usize, usize) {
        self.memory.used()
    }

    fn links(&self) -> Vec<Arc<Link>> {
        self.links.iter().map(|link| Arc::clone(&link)).collect()
    }

    /// Milliseconds since it began; never 0.
    fn elapsed(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64 + 1
    }
}

impl Link {
    /// Its number in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it is no more.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Since when nothing was heard of the other side.
    pub fn silent_for(&self) -> Duration {
        let heard = self.heard.load(Ordering::Relaxed);
        Duration::from_millis(self.hub.elapsed().saturating_sub(heard))
    }

    fn reading_for(&self) -> Duration {
        match self.frame_began.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => Duration::from_millis(self.hub.elapsed().saturating_sub(began)),
        }
    }

    /// Close it, now.
    pub fn close(self: &Arc<Link>, reason: &str) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let _ = self.hub.epoll.delete(&self.socket);
        let _ = self.hub.epoll.delete(&self.writing);
        socket::shut(&self.socket);
        if self.hub.links.remove(&self.id).is_some() {
            self.hub.count.fetch_sub(1, Ordering::Relaxed);
        }
        self.give_up_sending();
        self.give_up_frame();
        self.handler.closed(self, reason);
    }

    /// What has come of a frame is of no use any more; it holds memory, and the connection itself.
    /// If somebody is reading just now, it is for them to call this when they are done.
    fn give_up_frame(&self) {
        if let Ok(mut inbox) = self.inbox.try_lock() {
            inbox.clear();
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a frame and its answer; `None` if it has to wait, and is read again later.
    fn admit(self: &Arc<Link>, prefix: Prefix) -> Option<Share> {
        let cost = prefix.cost();
        loop {
            let before = self.under_way.load(Ordering::SeqCst);
            // One that is larger than the whole grant goes alone.
            if before == 0 || before + cost <= self.grant {
                break;
            }
            self.paused.store(true, Ordering::SeqCst);
            if self.under_way.load(Ordering::SeqCst) == before {
                return None;
            }
            self.paused.store(false, Ordering::SeqCst);
        }
        self.hub.memory.reserve(self, cost)
    }

    /// Something under way is done.
    fn release(self: &Arc<Link>, cost: usize) {
        self.under_way.fetch_sub(cost, Ordering::SeqCst);
        if self.paused.swap(false, Ordering::SeqCst) {
            self.resume();
        }
    }

    /// Whether more frames are taken off it at all.
    fn is_read_on(&self) -> bool {
        !self.is_closed() && !self.hub.held.load(Ordering::SeqCst)
    }

    /// There is room again for the frame that waits. Its first bytes are here already, so it is not
    /// the socket that tells.
    fn resume(self: &Arc<Link>) {
        if self.is_read_on() {
            self.hub.call(Arc::clone(self));
        }
    }

    /// Wait for what comes next.
    fn read_on(&self) {
        if self.is_read_on() {
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLONESHOT;
            self.wait_for(&self.socket, flags, self.id * 2);
        }
    }

    fn write_on(&self) {
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLONESHOT;
        self.wait_for(&self.writing, flags, self.id * 2 + 1);
    }

    fn wait_for(&self, fd: &impl AsFd, flags: EpollFlags, token: u64) {
        // Refused only if the connection was closed a moment ago.
        let _ = self.hub.epoll.modify(fd, &mut EpollEvent::new(flags, token));
    }
}

/// These name no connection.
const STOP: u64 = u64::MAX;
const CALL: u64 = u64::MAX - 1;

#[cfg(test)]
mod tests;
