//! What the threads of the crew do: wait for any connection, and serve it.
//!
//! Whoever reads a connection keeps it as long as its frames are dealt with quickly: then the next
//! one is found without waking anybody. Where they take longer, on the average or just now, the
//! connection is let go first, and another thread reads on.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use iofwd_mount::crew::{Duty, Sight, Watched};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{EpollEvent, EpollTimeout};

use super::inbox::{Inbox, Received};
use super::pace::{Absence, Pace};
use super::{CALL, Frame, Hub, Link, STOP};

/// The duty of the crew.
pub(super) struct Reading {
    hub: Arc<Hub>,
}

/// What a thread has in hand.
#[derive(Debug, Default)]
pub(super) struct Post {
    /// The connection that only this thread reads; taken away if a frame takes long.
    kept: Mutex<Option<Arc<Link>>>,
    /// Frames it has dealt with, and how many those were when the look-out looked last.
    frames: AtomicU64,
    seen: AtomicU64,
    absence: Absence,
}

impl Post {
    fn kept(&self) -> MutexGuard<'_, Option<Arc<Link>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, link: &Arc<Link>) {
        *self.kept() = Some(Arc::clone(link));
    }

    fn keeps(&self) -> bool {
        self.kept().is_some()
    }

    /// Give it back. Whether it had not been taken away.
    fn let_go(&self) -> bool {
        self.kept().take().is_some()
    }
}

/// Frames of one connection that are dealt with at a time: it must not keep all threads busy.
/// Many, because some of them may wait for a server that does not answer.
const BUSY_MOST: usize = 256;

impl Reading {
    pub(super) fn new(hub: &Arc<Hub>) -> Reading {
        Reading { hub: Arc::clone(hub) }
    }
}

impl Duty for Reading {
    type Tools = Arc<Post>;

    fn name(&self) -> &'static str {
        "iofwd-link"
    }

    fn equip(&self) -> io::Result<Arc<Post>> {
        let post = Arc::new(Post::default());
        let mut posts = self.hub.posts.lock().unwrap_or_else(PoisonError::into_inner);
        posts.retain(|post| post.strong_count() > 0);
        posts.push(Arc::downgrade(&post));
        Ok(post)
    }

    fn may_stand_by(&self) -> bool {
        // Any of them may read any connection.
        true
    }

    fn serve(&self, post: &mut Arc<Post>, begin: &dyn Fn()) -> bool {
        let mut events = [EpollEvent::empty()];
        match self.hub.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(1) => {}
            Ok(_) | Err(nix::Error::EINTR) => return true,
            Err(error) => {
                tracing::error!(%error, "connections can be waited for no more");
                return false;
            }
        }
        let token = events[0].data();
        if token == STOP || self.hub.stopping.load(Ordering::SeqCst) {
            return false;
        }
        begin();
        if token == CALL {
            if let Some(link) = self.hub.answer_call() {
                link.serve(post);
            }
            return true;
        }
        let (id, is_writing) = (token / 2, token % 2 == 1);
        let link = self.hub.links.get(&id).map(|link| Arc::clone(&link));
        match link {
            Some(link) if is_writing => link.send_on(),
            Some(link) => link.serve(post),
            None => {}
        }
        true
    }
}

impl Hub {
    /// Have a thread serve that connection.
    pub(super) fn call(&self, link: Arc<Link>) {
        self.called.lock().unwrap_or_else(PoisonError::into_inner).push_back(link);
        // It fails only if it was rung beyond all bounds, and then it rings.
        let _ = self.call.write(1);
    }

    /// Whether there is something to do on another connection than the one that is being served.
    fn is_called_elsewhere(&self) -> bool {
        if self.count.load(Ordering::Relaxed) < 2 {
            return false;
        }
        let mut all = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        poll(&mut all, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    fn answer_call(&self) -> Option<Arc<Link>> {
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        let link = called.pop_front();
        let is_more = !called.is_empty();
        drop(called);
        if is_more {
            // Several calls may have been heard as one.
            let _ = self.call.write(1);
        }
        link
    }
}

impl Watched for Hub {
    /// Who has been at the same frame since the last time holds up those behind it.
    fn look(self: Arc<Self>, _since: Duration) -> Sight {
        let posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut sight = Sight::default();
        for post in posts.iter().filter_map(Weak::upgrade) {
            let frames = post.frames.load(Ordering::Relaxed);
            let seen = post.seen.swap(frames, Ordering::Relaxed);
            sight.served += frames.wrapping_sub(seen);
            let kept = (seen == frames).then(|| post.kept().take()).flatten();
            if let Some(link) = kept {
                sight.is_held_up = true;
                // What came before the one that takes long was gathered.
                link.stop_gathering();
                self.call(link);
            }
        }
        sight
    }
}

/// What a thread found on a connection.
enum Found {
    /// A frame, and it may look for the next.
    Frame,
    /// Nothing yet.
    Nothing,
    /// It is not for this thread to read on.
    Enough,
}

impl Link {
    /// Take what has come, and have it dealt with.
    fn serve(self: &Arc<Link>, post: &Arc<Post>) {
        post.keep(self);
        post.absence.woke();
        self.hub.lookout.alert();
        loop {
            match self.serve_one(post) {
                Found::Frame => {}
                Found::Nothing if self.look_again(post) => {}
                Found::Nothing => {
                    if post.let_go() {
                        self.read_on();
                    }
                    break;
                }
                Found::Enough => break,
            }
        }
        // Whoever keeps it until here does not read on, or has closed it.
        post.let_go();
        if self.is_closed() {
            self.give_up_frame();
        }
    }

    /// Look for the next frame for a moment, if nobody else does on another connection, and nothing is
    /// to be done on others: who has asked goes before who may. Whether one was dealt with. Where
    /// frames take long the next one is not to be expected, but the rest of one that has begun to
    /// come is.
    fn look_again(self: &Arc<Link>, post: &Arc<Post>) -> bool {
        let has_begun = self.frame_began.load(Ordering::Relaxed) != 0;
        if !has_begun && !self.pace.is_quick() {
            return false;
        }
        let Some(looking) = self.patience.begin() else { return false };
        if self.hub.looking.swap(true, Ordering::Acquire) {
            return false;
        }
        let mut found = Found::Nothing;
        while matches!(found, Found::Nothing)
            && post.keeps()
            && self.is_read_on()
            && !self.hub.is_called_elsewhere()
            && self.patience.goes_on(&looking)
        {
            found = self.serve_one(post);
        }
        self.hub.looking.store(false, Ordering::Release);
        if matches!(found, Found::Frame) {
            self.patience.was_right();
        }
        matches!(found, Found::Frame)
    }

    /// One frame, if it is there.
    fn serve_one(self: &Arc<Link>, post: &Arc<Post>) -> Found {
        match self.take(post) {
            Ok((Received::Frame(frame), is_more)) => {
                // Those that came together are answered together.
                self.gather(is_more && post.keeps());
                self.deal_with(frame, post);
                post.frames.fetch_add(1, Ordering::Relaxed);
                if !is_more {
                    self.send_gathered();
                }
                self.one_less_busy();
                if post.keeps() && self.is_read_on() {
                    return Found::Frame;
                }
                self.stop_gathering();
                return Found::Enough;
            }
            Ok((Received::Part, _)) => {
                self.stop_gathering();
                return Found::Nothing;
            }
            Ok((Received::Paused, _)) => self.stop_gathering(),
            Ok((Received::End, _)) => self.close("the other side closed it"),
            Err(error) => self.close(&error.to_string()),
        }
        Found::Enough
    }

    fn stop_gathering(self: &Arc<Link>) {
        self.gather(false);
        self.send_gathered();
    }

    fn deal_with(self: &Arc<Link>, frame: Frame, post: &Post) {
        let begun = Instant::now();
        self.handler.frame(self, frame);
        let taken = begun.elapsed();
        // Another thread would have had to leave the processor just so.
        if !Pace::is_long(taken) || !post.absence.was_forced() {
            self.pace.add(taken);
        }
    }

    fn one_less_busy(self: &Arc<Link>) {
        let mut inbox = self.inbox();
        inbox.busy -= 1;
        if std::mem::take(&mut inbox.is_waiting) {
            self.let_another_read(&inbox);
        }
    }

    /// Read a frame, and let the next thread read on if this one takes long. What has to be dealt
    /// with in order is.
    /// Also whether another one is at hand.
    fn take(self: &Arc<Link>, post: &Arc<Post>) -> io::Result<(Received, bool)> {
        let mut inbox = self.inbox();
        if self.hub.held.load(Ordering::SeqCst) {
            return Ok((Received::Paused, false));
        }
        if inbox.is_emptied() {
            return Ok((Received::Part, false));
        }
        loop {
            match inbox.receive(self)? {
                Received::Frame(frame) if frame.prefix.in_order => {
                    self.handler.frame(self, frame);
                    post.frames.fetch_add(1, Ordering::Relaxed);
                }
                Received::Frame(frame) => {
                    inbox.busy += 1;
                    if !self.pace.is_quick() && post.let_go() {
                        inbox.is_waiting = inbox.busy >= BUSY_MOST;
                        if !inbox.is_waiting {
                            self.let_another_read(&inbox);
                        }
                    }
                    return Ok((Received::Frame(frame), inbox.has_another()));
                }
                other @ (Received::Part | Received::Paused | Received::End) => {
                    return Ok((other, false));
                }
            }
        }
    }

    /// Whoever is free reads the next frame, once there is one.
    fn let_another_read(self: &Arc<Link>, inbox: &Inbox) {
        if inbox.has_more() { self.resume() } else { self.read_on() }
    }
}
