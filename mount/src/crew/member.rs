//! A thread of a crew, as the look-out sees it.

use std::sync::atomic::{AtomicU64, Ordering};

use nix::unistd::{Pid, gettid};

use super::courtesy::Courtesy;

/// A thread that serves.
#[derive(Debug)]
pub(super) struct Member {
    thread: Pid,
    /// How often it has begun or ended: odd while it is at something.
    turns: AtomicU64,
    pub(super) courtesy: Courtesy,
}

impl Member {
    /// The calling thread.
    pub(super) fn new() -> Member {
        Member::of(gettid())
    }

    fn of(thread: Pid) -> Member {
        Member { thread, turns: AtomicU64::new(0), courtesy: Courtesy::new(thread) }
    }

    /// It has something to do. Nobody else changes the number.
    pub(super) fn begin(&self) {
        self.turns.store(self.turns.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// It is done. Whether it had begun.
    pub(super) fn end(&self) -> bool {
        let turns = self.turns.load(Ordering::Relaxed);
        let had_begun = is_busy(turns);
        if had_begun {
            self.turns.store(turns + 1, Ordering::Relaxed);
        }
        had_begun
    }

    /// How much it has done.
    pub(super) fn served(&self) -> u64 {
        self.turns.load(Ordering::Relaxed) / 2
    }

    /// Whether it waits for something else than a processor, in the midst of what it has to do.
    pub(super) fn is_held_up(&self) -> bool {
        let before = self.turns.load(Ordering::Relaxed);
        is_busy(before) && is_asleep(self.thread) && self.turns.load(Ordering::Relaxed) == before
    }
}

fn is_busy(turns: u64) -> bool {
    turns % 2 == 1
}

/// Whether a thread of this process sleeps.
pub(super) fn is_asleep(thread: Pid) -> bool {
    let path = format!("/proc/self/task/{thread}/stat");
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    // The name of the thread stands in brackets and may have anything in it.
    let state = text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('S' | 'D'))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn whoever_sleeps_is_held_up_only_in_the_midst_of_something() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            tell.send(gettid()).expect("the test listens");
            let _ = ended.recv();
        });
        let thread_id = told.recv().expect("the thread tells");
        let member = Member::of(thread_id);
        let begin = Instant::now();
        while !is_asleep(thread_id) {
            assert!(begin.elapsed() < Duration::from_secs(20), "it never sleeps");
        }
        assert!(!member.is_held_up());
        member.begin();
        assert!(member.is_held_up());
        assert!(member.end());
        assert!(!member.is_held_up() && !member.end());
        assert_eq!(member.served(), 1);
        drop(end);
        thread.join().expect("it ends");
    }
}
