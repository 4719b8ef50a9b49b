//! Requests over `io_uring`, where the kernel offers it: one system call a request instead of two,
//! served on the processor that the application runs on.
//!
//! The kernel has a queue for each processor. A thread of a queue's crew has a ring of its own with
//! a slot in it; handing the kernel an answer and waiting for the next request is one call. What is
//! answered later and elsewhere goes back by way of its thread, for which it leaves a letter;
//! meanwhile the thread goes on with another slot. What nobody answers (forgetting, interruption)
//! still comes from the device.

mod abi;
mod mail;
mod slot;
mod switch;
mod trails;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::squeue::Entry128;
use io_uring::{IoUring, cqueue, opcode, types};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use zerocopy::IntoBytes;

use crate::conversation;
use crate::crew::{Duty, Seen, courtesy_is_possible};
use crate::device::Connection;
use crate::line::Line;
use crate::store::Store;

use abi::{Command, Submission};
use mail::Mailbox;

pub(crate) use slot::Slot;
pub(crate) use switch::Switch;
pub(crate) use trails::Trails;

type Ring = IoUring<Entry128, cqueue::Entry>;

/// Whether this process may use rings as they are used here.
pub(crate) fn is_possible() -> bool {
    make_ring().is_ok()
}

/// How many queues the kernel has: one for each processor there could be.
pub(crate) fn queues() -> Option<u16> {
    count_of(&std::fs::read_to_string("/sys/devices/system/cpu/possible").ok()?)
}

/// How many numbers a list like `0-3,8` has.
fn count_of(list: &str) -> Option<u16> {
    let mut count = 0;
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        count += last.checked_sub(first)? + 1;
    }
    Some(count)
}

/// Made here, used by the thread that enables it.
fn make_ring() -> io::Result<Ring> {
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_r_disabled()
        .setup_clamp()
        .build(ENTRIES)
}

const ENTRIES: u32 = 32;

/// Serves the requests of one queue of the kernel.
pub(crate) struct Queue {
    store: Arc<dyn Store>,
    connection: Arc<Connection>,
    device: OwnedFd,
    number: u16,
    payload: usize,
    trails: Arc<Trails>,
    /// Its threads may let the application go first.
    is_courteous: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Queue {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        connection: Arc<Connection>,
        device: OwnedFd,
        number: u16,
        payload: usize,
        trails: &Arc<Trails>,
    ) -> Queue {
        // Where answers come from elsewhere, nobody waits on this processor for this thread.
        let is_courteous = !store.hands_on() && courtesy_is_possible();
        Queue {
            store,
            connection,
            device,
            number,
            payload,
            trails: Arc::clone(trails),
            is_courteous,
        }
    }

    /// The thread's first call: the ring becomes its own.
    fn begin(&self, post: &mut Post) -> io::Result<()> {
        self.stay_with_the_application();
        post.ring.submitter().register_enable_rings()?;
        self.add_slot(post)?;
        post.listen_for_mail()
    }

    /// The application waits on this processor until the request is done: nobody needs to be woken
    /// on another. Where the system does not allow it, it works all the same.
    fn stay_with_the_application(&self) {
        let mut here = CpuSet::new();
        if here.set(usize::from(self.number)).is_ok() {
            let _ = sched_setaffinity(Pid::from_raw(0), &here);
        }
    }

    fn add_slot(&self, post: &mut Post) -> io::Result<()> {
        let index = post.slots.len();
        let slot = Arc::new(Slot::new(self.payload, index, &post.mail, &self.connection));
        post.slots.push(slot);
        self.submit(post, index, Command::Register)?;
        // The kernel looks at the places while it takes the submission, so it is taken now.
        post.ring.submit()?;
        Ok(())
    }

    fn submit(&self, post: &mut Post, index: usize, command: Command) -> io::Result<()> {
        let slot = Arc::clone(&post.slots[index]);
        let places = slot.places();
        let file = self.device.as_raw_fd();
        let submission = Submission::new(file, self.number, command, &places, index as u64);
        post.free_slots += 1;
        post.push(&entry(&submission))?;
        match command {
            Command::Register => post.ring.submit().map(|_| ()),
            Command::CommitAndFetch(_) => Ok(()),
        }
    }

    /// Wait, and deal with what has come. `false` once the tree is unmounted.
    fn serve_some(&self, post: &mut Post, begin: &dyn Fn()) -> io::Result<bool> {
        if post.is_new {
            post.is_new = false;
            self.begin(post)?;
        }
        match post.ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Ok(_) | Err(_) => {}
        }
        post.arrived.clear();
        post.arrived
            .extend(post.ring.completion().map(|entry| (entry.user_data(), entry.result())));
        let mut begun = false;
        for nth in 0..post.arrived.len() {
            let (number, result) = post.arrived[nth];
            if number == MAIL {
                self.send_late_answers(post)?;
                continue;
            }
            match -result {
                0 => {}
                libc::ENOTCONN => return Ok(false),
                error => return Err(io::Error::from_raw_os_error(error)),
            }
            if !begun {
                begin();
                begun = true;
            }
            self.serve_one(post, number as usize)?;
            if nth + 1 < post.arrived.len() {
                post.ring.submit()?;
            }
        }
        Ok(true)
    }

    fn serve_one(&self, post: &mut Post, index: usize) -> io::Result<()> {
        post.free_slots -= 1;
        let slot = Arc::clone(&post.slots[index]);
        let line = Line::Slot(slot);
        let Line::Slot(slot) = &line else { return Ok(()) };
        // SAFETY: the kernel has completed the submission of this slot, and gets it back below.
        match unsafe { slot.question() } {
            Some(question) => {
                self.notice(post, question.header.pid);
                conversation::serve(&*self.store, &line, question);
            }
            None => tracing::error!("the kernel sent something that is no request"),
        }
        if slot.leave() {
            self.submit(post, index, Command::CommitAndFetch(slot.settle()))
        } else if post.free_slots == 0 {
            self.add_slot(post)
        } else {
            Ok(())
        }
    }

    /// A thread asks; nobody in particular if it is 0.
    fn notice(&self, post: &mut Post, thread: u32) {
        if thread != 0 {
            post.seen.moved += u32::from(self.trails.has_moved(thread, self.number));
            post.seen.alternating += u32::from(post.asked_last != thread);
            post.asked_last = thread;
        }
    }

    fn send_late_answers(&self, post: &mut Post) -> io::Result<()> {
        for index in post.mail.take() {
            let commit = post.slots[index].settle();
            self.submit(post, index, Command::CommitAndFetch(commit))?;
        }
        post.listen_for_mail()
    }
}

fn entry(submission: &Submission) -> Entry128 {
    let mut bytes = [0; size_of::<Entry128>()];
    bytes.copy_from_slice(submission.as_bytes());
    // SAFETY: the type is the kernel's submission of 128 bytes, laid out as it wants them, and every
    // pattern of bits is one.
    unsafe { std::mem::transmute::<[u8; size_of::<Entry128>()], Entry128>(bytes) }
}

/// What one thread has: a ring, and slots in it. The ring goes first when all goes.
pub(crate) struct Post {
    ring: Ring,
    slots: Vec<Arc<Slot>>,
    mail: Arc<Mailbox>,
    /// Slots that wait for a request.
    free_slots: usize,
    is_new: bool,
    arrived: Vec<(u64, i32)>,
    asked_last: u32,
    seen: Seen,
}

impl Post {
    fn push(&mut self, entry: &Entry128) -> io::Result<()> {
        // SAFETY: what a submission points to lives as long as the ring, or until it is taken.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    fn listen_for_mail(&mut self) -> io::Result<()> {
        let bell = types::Fd(self.mail.descriptor());
        let poll = opcode::PollAdd::new(bell, libc::POLLIN as u32).build().user_data(MAIL);
        self.push(&poll.into())
    }
}

/// The number under which letters are announced.
const MAIL: u64 = u64::MAX;

impl Duty for Queue {
    type Tools = Post;

    fn name(&self) -> &'static str {
        "iofwd-ring"
    }

    fn equip(&self) -> io::Result<Post> {
        Ok(Post {
            ring: make_ring()?,
            slots: Vec::new(),
            mail: Arc::new(Mailbox::new()?),
            free_slots: 0,
            is_new: true,
            arrived: Vec::new(),
            asked_last: 0,
            seen: Seen::default(),
        })
    }

    fn serve(&self, post: &mut Post, begin: &dyn Fn()) -> bool {
        self.serve_some(post, begin).unwrap_or_else(|error| {
            tracing::error!(%error, queue = self.number, "the ring to the kernel broke");
            false
        })
    }

    fn may_be_courteous(&self) -> bool {
        self.is_courteous
    }

    fn seen(&self, post: &mut Post) -> Seen {
        std::mem::take(&mut post.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted() {
        assert_eq!(count_of("0\n"), Some(1));
        assert_eq!(count_of("0-3\n"), Some(4));
        assert_eq!(count_of("0-3,8,10-11"), Some(7));
        assert_eq!(count_of("3-0"), None);
        assert_eq!(count_of(""), None);
    }
}
