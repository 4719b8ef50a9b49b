//! Courtesy: a thread lets the application go first that it has just answered, on the processor
//! they share.
//!
//! The kernel wakes an application on an idle processor if there is one, and the processor of
//! whoever answers is not idle: he runs there. So an application that asks one thing at a time moves
//! to another processor with every answer, and to wake that one takes several times as long as a small
//! request. A thread of the policy `SCHED_IDLE` does not count: the application goes on where it
//! is, before the thread, which has nothing to do until it is asked again.
//!
//! Such a thread gets next to nothing of its processor where others compute. So it becomes courteous
//! only where applications are seen to move, one request comes soon after the other, and from the
//! same one; and a thread that gets on too slowly is recalled by the look-out, within milliseconds.
//! Where it did want the processor it is courteous ever less often.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::member::is_asleep;

/// Whether a thread of this process may be courteous, and be as before again.
pub(crate) fn is_possible() -> bool {
    // Whoever may not return stays like that for ever, so it is tried by somebody who leaves.
    let trial = || {
        let here = Pid::from_raw(0);
        // SAFETY: the call takes a number and touches no memory.
        let policy = unsafe { libc::sched_getscheduler(0) };
        policy == libc::SCHED_OTHER && set(here, libc::SCHED_IDLE) && set(here, libc::SCHED_OTHER)
    };
    std::thread::spawn(trial).join().unwrap_or(false)
}

/// What a thread has seen of those it answers, since it was asked last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// So many requests came from somebody who had asked on another processor before,
    pub moved: u32,
    /// and so many from another one than the request before.
    pub alternating: u32,
}

/// Whether a thread is courteous, for itself and for the look-out.
#[derive(Debug)]
pub(super) struct Courtesy {
    thread: Pid,
    state: AtomicU8,
    /// It wanted the processor when it was recalled.
    is_starved: AtomicBool,
    /// How much it had served when the look-out looked last.
    seen: AtomicU64,
}

/// The thread competes for its processor as any other.
const USUAL: u8 = 0;
/// It lets all others go first.
const COURTEOUS: u8 = 1;
/// The look-out has ended that, and the thread does not know yet.
const RECALLED: u8 = 2;

impl Courtesy {
    pub(super) fn new(thread: Pid) -> Courtesy {
        Courtesy {
            thread,
            state: AtomicU8::new(USUAL),
            is_starved: AtomicBool::new(false),
            seen: AtomicU64::new(0),
        }
    }

    /// To be called by the thread itself, as all but `look`.
    fn begin(&self) {
        self.state.store(COURTEOUS, Ordering::Release);
        set(self.thread, libc::SCHED_IDLE);
        if self.state.load(Ordering::Acquire) != COURTEOUS {
            // The look-out may have been there before the call.
            set(self.thread, libc::SCHED_OTHER);
        }
    }

    fn end(&self) {
        set(self.thread, libc::SCHED_OTHER);
        self.state.store(USUAL, Ordering::Release);
    }

    /// The look-out's part: whoever has served so much and is too slow is recalled. Whether it has to
    /// be looked after.
    pub(super) fn look(&self, served: u64, since: Duration) -> bool {
        let quick = served.wrapping_sub(self.seen.swap(served, Ordering::Relaxed));
        let state = self.state.load(Ordering::Acquire);
        if state == USUAL || u128::from(quick) * SLOW.as_nanos() >= since.as_nanos() {
            return state == COURTEOUS;
        }
        let is_first = self
            .state
            .compare_exchange(COURTEOUS, RECALLED, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        if is_first {
            self.is_starved.store(!is_asleep(self.thread), Ordering::Relaxed);
        }
        // Again and again until it knows: it may have been about to begin.
        set(self.thread, libc::SCHED_OTHER);
        is_first
    }
}

/// What a thread does from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conduct {
    /// Compete for its processor as any other.
    Usual,
    /// Be courteous: from now on somebody has to look after it.
    Begins,
    /// Be courteous as before.
    Courteous,
}

/// When to be courteous: a thread's own mind.
#[derive(Debug)]
pub(super) struct Manners {
    /// Requests since it looked at the time last.
    requests: u32,
    looked: Instant,
    /// So many times in a row it would have been right to be courteous, or wrong.
    right: u32,
    wrong: u32,
    /// So many times it is not considered,
    skip: u32,
    /// the more the more often it was starved.
    penalty: u32,
}

impl Manners {
    pub(super) fn new(now: Instant) -> Manners {
        Manners { requests: 0, looked: now, right: 0, wrong: 0, skip: 0, penalty: 0 }
    }

    /// A request was served. Whether it is time to consider.
    pub(super) fn is_time(&mut self) -> bool {
        self.requests += 1;
        self.requests >= REQUESTS
    }

    /// Consider what was seen.
    pub(super) fn consider(&mut self, courtesy: &Courtesy, now: Instant, seen: Seen) -> Conduct {
        let state = courtesy.state.load(Ordering::Acquire);
        let is_quick = now.duration_since(self.looked) <= QUICK * self.requests;
        // They are to move before, and not to move any more.
        let is_of_use = match state {
            USUAL => seen.moved * 8 > self.requests,
            _ => seen.moved * 2 <= self.requests,
        };
        let is_alone = seen.alternating * 4 <= self.requests;
        let is_right = is_quick && is_alone && is_of_use;
        (self.requests, self.looked) = (0, now);
        (self.right, self.wrong) = if is_right { (self.right + 1, 0) } else { (0, self.wrong + 1) };
        match state {
            USUAL => self.begins(courtesy),
            COURTEOUS if self.wrong < WRONG_FEW => {
                if self.right > RIGHT_MANY {
                    self.penalty = 0;
                }
                Conduct::Courteous
            }
            _ => {
                let is_starved = courtesy.is_starved.swap(false, Ordering::Relaxed);
                self.penalty = (self.penalty + u32::from(is_starved)).min(PENALTY_MOST);
                self.skip = (1 << self.penalty) - 1;
                courtesy.end();
                Conduct::Usual
            }
        }
    }

    fn begins(&mut self, courtesy: &Courtesy) -> Conduct {
        if self.skip > 0 {
            self.skip -= 1;
            return Conduct::Usual;
        }
        if self.right < RIGHT_FEW {
            return Conduct::Usual;
        }
        courtesy.begin();
        Conduct::Begins
    }
}

/// Sets the policy of a thread; whether it could be done.
fn set(thread: Pid, policy: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters outlive the call, which reads them and touches no other memory.
    unsafe { libc::sched_setscheduler(thread.as_raw(), policy, &parameters) == 0 }
}

/// Considered once for so many requests.
const REQUESTS: u32 = 16;
/// Requests that follow each other within this time are worth it;
const QUICK: Duration = Duration::from_micros(100);
/// and whoever is courteous may be as slow as this.
const SLOW: Duration = Duration::from_micros(200);
/// Right so many times in a row, and it begins;
const RIGHT_FEW: u32 = 4;
/// wrong so many times, and it ends;
const WRONG_FEW: u32 = 2;
/// right so many times, and what went before is forgotten.
const RIGHT_MANY: u32 = 64;
/// Starved ever so often: one in a thousand times it is considered again.
const PENALTY_MOST: u32 = 10;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use nix::unistd::gettid;

    use super::*;

    const TICK: Duration = Duration::from_millis(2);

    fn policy(thread: Pid) -> i32 {
        // SAFETY: the call takes a number and touches no memory.
        unsafe { libc::sched_getscheduler(thread.as_raw()) }
    }

    /// Runs `test` on a thread of its own, whose policy it may change, where that is possible.
    fn on_a_thread(test: impl FnOnce(&Courtesy, &mut Manners) + Send + 'static) {
        if is_possible() {
            let run = || test(&Courtesy::new(gettid()), &mut Manners::new(Instant::now()));
            std::thread::spawn(run).join().expect("the test holds");
        }
    }

    /// One request every so often, until it is considered `times` times; what came of the last.
    /// Who is answered moves unless the thread is courteous.
    fn serve(
        manners: &mut Manners,
        courtesy: &Courtesy,
        times: u32,
        every: Duration,
        is_crowded: bool,
    ) -> bool {
        let mut is_courteous = false;
        for _ in 0..times {
            let stays = courtesy.state.load(Ordering::Relaxed) != USUAL;
            let seen = Seen {
                moved: if stays { 0 } else { REQUESTS },
                alternating: if is_crowded { REQUESTS / 2 } else { 0 },
            };
            is_courteous = once(manners, courtesy, every, seen);
        }
        is_courteous
    }

    fn once(manners: &mut Manners, courtesy: &Courtesy, every: Duration, seen: Seen) -> bool {
        let now = manners.looked + every * REQUESTS;
        while !manners.is_time() {}
        manners.consider(courtesy, now, seen) != Conduct::Usual
    }

    const SOON: Duration = Duration::from_micros(10);

    #[test]
    fn who_is_asked_one_thing_after_the_other_lets_others_go_first() {
        on_a_thread(|courtesy, manners| {
            assert!(!serve(manners, courtesy, RIGHT_FEW - 1, SOON, false));
            assert_eq!(policy(gettid()), libc::SCHED_OTHER);
            assert!(serve(manners, courtesy, 1, SOON, false));
            assert_eq!(policy(gettid()), libc::SCHED_IDLE);
            assert!(!serve(manners, courtesy, WRONG_FEW, SOON, true), "now others wait");
            assert_eq!(policy(gettid()), libc::SCHED_OTHER);
            assert!(!serve(manners, courtesy, 100, SOON, true));
            assert!(!serve(manners, courtesy, 100, QUICK * 2, false), "seldom is not worth it");
        });
    }

    #[test]
    fn it_is_of_use_only_where_applications_move_and_only_if_they_stay_then() {
        on_a_thread(|courtesy, manners| {
            let (stays, moves) = (Seen::default(), Seen { moved: REQUESTS, ..Seen::default() });
            assert!((0..100).all(|_| !once(manners, courtesy, SOON, stays)));
            for _ in 0..RIGHT_FEW - 1 {
                assert!(!once(manners, courtesy, SOON, moves));
            }
            assert!(once(manners, courtesy, SOON, moves));
            assert!((0..100).all(|_| once(manners, courtesy, SOON, stays)));
            let moved = (0..WRONG_FEW).map(|_| once(manners, courtesy, SOON, moves)).last();
            assert_eq!(moved, Some(false), "it does not help");
        });
    }

    #[test]
    fn who_does_not_get_on_is_recalled() {
        on_a_thread(|courtesy, manners| {
            assert!(serve(manners, courtesy, RIGHT_FEW, SOON, false));
            courtesy.look(1000, TICK);
            assert_eq!(policy(gettid()), libc::SCHED_IDLE, "it does get on");
            courtesy.look(1001, TICK);
            assert_eq!(policy(gettid()), libc::SCHED_OTHER);
            // As if it had only been about to begin when it was recalled.
            assert!(set(gettid(), libc::SCHED_IDLE));
            courtesy.look(1001, TICK);
            assert_eq!(policy(gettid()), libc::SCHED_OTHER);
        });
    }

    #[test]
    fn who_was_starved_is_courteous_ever_less_often() {
        on_a_thread(|courtesy, manners| {
            let mut begun = 0;
            for _ in 0..10_000 {
                if serve(manners, courtesy, 1, SOON, false) {
                    begun += 1;
                    courtesy.look(0, TICK); // It runs: it wants the processor.
                }
            }
            assert!((5..40).contains(&begun), "{begun} times");
            assert!(serve(manners, courtesy, 3 << PENALTY_MOST, SOON, false));
            serve(manners, courtesy, WRONG_FEW, SOON, true);
            assert!(serve(manners, courtesy, RIGHT_FEW, SOON, false), "that was forgotten");
        });
    }

    #[test]
    fn who_only_had_nothing_to_do_was_not_starved() {
        if !is_possible() {
            return;
        }
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let courtesy = Arc::new(Courtesy::new(gettid()));
            let mut manners = Manners::new(Instant::now());
            assert!(serve(&mut manners, &courtesy, RIGHT_FEW, SOON, false));
            tell.send(Arc::clone(&courtesy)).expect("the test listens");
            let _ = ended.recv();
            assert!(
                !serve(&mut manners, &courtesy, 1, SOON, false),
                "it hears that it was recalled"
            );
            assert!(serve(&mut manners, &courtesy, 1, SOON, false));
        });
        let courtesy = told.recv().expect("the thread tells");
        let begin = Instant::now();
        while !is_asleep(courtesy.thread) {
            assert!(begin.elapsed() < Duration::from_secs(20), "it never sleeps");
        }
        courtesy.look(0, TICK);
        assert_eq!(policy(courtesy.thread), libc::SCHED_OTHER);
        drop(end);
        thread.join().expect("it is as it should be");
    }
}
