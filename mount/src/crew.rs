//! Threads that serve: few while requests are quick, more when they are slow, so that one that
//! takes long holds up no other.
//!
//! A thread that finds the next request as soon as it has answered one costs nothing to wake. So
//! nobody joins merely because all are busy for a moment; a look-out sees whether they are held up.
//! Whoever has joined stays: to start a thread and to make its buffers costs as much as many
//! requests. But where enough listen already, it stands by until it is called: of many who listen
//! the one that has slept longest is woken, each time another.

mod courtesy;
mod lookout;
mod member;
mod patience;

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use courtesy::Seen;
pub(crate) use courtesy::is_possible as courtesy_is_possible;
use courtesy::{Conduct, Manners};
pub use lookout::{Lookout, Sight, Watched};
use member::Member;
pub use patience::{Looking, Patience};

/// What the threads of a crew do.
pub trait Duty: Send + Sync + 'static {
    /// What each thread has for itself.
    type Tools: Send + 'static;

    /// The name of the threads.
    fn name(&self) -> &'static str;

    /// Tools for one more thread.
    fn equip(&self) -> io::Result<Self::Tools>;

    /// Wait for something to do, call `begin`, and do it. `false` when there will be nothing more.
    fn serve(&self, tools: &mut Self::Tools, begin: &dyn Fn()) -> bool;

    /// Whether a thread may stop listening between two calls of `serve`: nothing comes to it alone.
    fn may_stand_by(&self) -> bool {
        false
    }

    /// Whether a thread runs where the application waits for its answer, and may let it go first.
    fn may_be_courteous(&self) -> bool {
        false
    }

    /// What a thread has seen since it was asked last, if it may be courteous.
    fn seen(&self, _tools: &mut Self::Tools) -> Seen {
        Seen::default()
    }
}

/// How many threads a crew has.
#[derive(Clone, Copy, Debug)]
pub struct Strength {
    /// So many join as soon as there is work for them, and so many more as are held up.
    pub few: usize,
    /// But never more than this.
    pub most: usize,
}

/// The threads of one duty.
#[derive(Debug)]
pub struct Crew<D> {
    duty: D,
    strength: Strength,
    lookout: Arc<Lookout>,
    /// Threads that wait for something to do.
    idle: AtomicUsize,
    /// Threads there are.
    count: AtomicUsize,
    /// How much was served when the look-out looked last.
    seen: AtomicU64,
    /// How often in a row it found that too many were held up.
    short: AtomicU32,
    members: Mutex<Members>,
    gone: Condvar,
    called: Condvar,
}

/// The threads of a crew: those that have come to work, and who of them only waits to be called.
#[derive(Debug, Default)]
struct Members {
    present: Vec<Arc<Member>>,
    standing_by: usize,
    /// Those standing by who are called and have not come yet.
    calls: usize,
    is_over: bool,
}

impl<D: Duty> Crew<D> {
    /// Begin, with one thread.
    pub fn start(duty: D, strength: Strength, lookout: &Arc<Lookout>) -> io::Result<Arc<Crew<D>>> {
        let crew = Arc::new(Crew {
            duty,
            strength,
            lookout: Arc::clone(lookout),
            idle: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            seen: AtomicU64::new(0),
            short: AtomicU32::new(0),
            members: Mutex::default(),
            gone: Condvar::new(),
            called: Condvar::new(),
        });
        crew.enlist(1)?;
        let watched: Arc<dyn Watched> = Arc::clone(&crew) as Arc<dyn Watched>;
        lookout.watch(&watched);
        Ok(crew)
    }

    /// What they do.
    pub fn duty(&self) -> &D {
        &self.duty
    }

    /// Wait until the last thread has left.
    pub fn wait(&self) {
        let mut members = self.members();
        while self.count.load(Ordering::Acquire) > 0 {
            members = self.gone.wait(members).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One more thread: one that stands by, or a new one unless there are so many.
    fn enlist(self: &Arc<Crew<D>>, most: usize) -> io::Result<()> {
        let mut members = self.members();
        if members.standing_by > members.calls {
            members.calls += 1;
            self.called.notify_one();
            return Ok(());
        }
        if self.count.load(Ordering::Relaxed) >= most {
            return Ok(());
        }
        let tools = self.duty.equip()?;
        let crew = Arc::clone(self);
        thread::Builder::new().name(self.duty.name().into()).spawn(move || {
            let member = Arc::new(Member::new());
            crew.members().present.push(Arc::clone(&member));
            crew.work(tools, &member);
            crew.leave(&member);
        })?;
        self.count.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn work(self: &Arc<Crew<D>>, mut tools: D::Tools, member: &Member) {
        let mut manners = self.duty.may_be_courteous().then(|| Manners::new(Instant::now()));
        loop {
            if !self.listen() && !self.stand_by() {
                return;
            }
            let goes_on = self.duty.serve(&mut tools, &|| {
                member.begin();
                if self.idle.fetch_sub(1, Ordering::Relaxed) == 1 {
                    self.nobody_listens();
                }
            });
            if !member.end() {
                self.idle.fetch_sub(1, Ordering::Relaxed);
            }
            if !goes_on {
                return;
            }
            if let Some(manners) = &mut manners
                && manners.is_time()
            {
                let seen = self.duty.seen(&mut tools);
                match manners.consider(&member.courtesy, Instant::now(), seen) {
                    Conduct::Usual => {}
                    Conduct::Begins => self.lookout.hurry(),
                    Conduct::Courteous => self.lookout.alert(),
                }
            }
        }
    }

    /// Be one of those who wait for something to do, unless there are enough.
    fn listen(&self) -> bool {
        let most = if self.duty.may_stand_by() { self.strength.few } else { usize::MAX };
        let join = |idle: usize| (idle < most).then_some(idle + 1);
        self.idle.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join).is_ok()
    }

    /// Wait to be called. `false` when nobody will be any more.
    fn stand_by(&self) -> bool {
        let mut members = self.members();
        members.standing_by += 1;
        while members.calls == 0 && !members.is_over {
            members = self.called.wait(members).unwrap_or_else(PoisonError::into_inner);
        }
        members.standing_by -= 1;
        if members.is_over {
            return false;
        }
        members.calls -= 1;
        self.idle.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn leave(&self, member: &Arc<Member>) {
        let mut members = self.members();
        members.is_over = true;
        members.present.retain(|present| !Arc::ptr_eq(present, member));
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.called.notify_all();
        self.gone.notify_all();
    }

    fn nobody_listens(self: &Arc<Crew<D>>) {
        if self.count.load(Ordering::Relaxed) < self.strength.few {
            self.reinforce(self.strength.few);
        } else {
            self.lookout.alert();
        }
    }

    fn reinforce(self: &Arc<Crew<D>>, most: usize) {
        if let Err(error) = self.enlist(most) {
            tracing::warn!(%error, "cannot start another thread; going on with those there are");
        }
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever is too courteous to get on is recalled. Whether anybody is courteous still.
    fn recall(&self, since: Duration) -> bool {
        if !self.duty.may_be_courteous() {
            return false;
        }
        let members = self.members();
        let look =
            |any: bool, member: &Arc<Member>| member.courtesy.look(member.served(), since) || any;
        members.present.iter().fold(false, look)
    }

    /// How much was served since the last look, how many are held up, and whether that leaves too few.
    fn shortage(&self, since: Duration) -> (u64, usize, bool) {
        let members = self.members();
        let served = members.present.iter().map(|member| member.served()).sum::<u64>();
        let quick = served.wrapping_sub(self.seen.swap(served, Ordering::Relaxed));
        let active = members.present.len().saturating_sub(members.standing_by);
        let enough = since.as_micros() as u64 * active as u64 / SLOW.as_micros() as u64;
        if self.idle.load(Ordering::Relaxed) > 0 || quick >= enough {
            return (quick, 0, false);
        }
        let present = members.present.clone();
        drop(members);
        let held_up = present.iter().filter(|member| member.is_held_up()).count();
        (quick, held_up, active.saturating_sub(held_up) < self.strength.few)
    }
}

impl<D: Duty> Watched for Crew<D> {
    fn look(self: Arc<Self>, since: Duration) -> Sight {
        let is_courteous = self.recall(since);
        let (served, held_up, are_few) = self.shortage(since);
        let sight = Sight { served, is_held_up: held_up > 0, is_courteous };
        if !are_few {
            self.short.store(0, Ordering::Relaxed);
        } else if self.short.fetch_add(1, Ordering::Relaxed) + 1 >= LOOKS {
            // A thread may sleep for a moment, for a lock or for memory. Where requests are slow, it
            // is seen again and again. Half as many again each time: a burst of slow requests is met
            // within milliseconds.
            for _ in 0..held_up.div_ceil(2) {
                self.reinforce(self.strength.most);
            }
        }
        sight
    }
}

/// What takes longer than this on the average may be waiting for something.
const SLOW: Duration = Duration::from_micros(100);
/// So often in a row threads must be seen held up before others join them.
const LOOKS: u32 = 3;

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::time::Instant;

    use super::*;

    /// Does jobs; a job is something to wait for.
    struct Waiting {
        jobs: Mutex<Receiver<Receiver<()>>>,
        begun: Sender<()>,
        may_stand_by: bool,
    }

    impl Duty for Waiting {
        type Tools = ();

        fn name(&self) -> &'static str {
            "waiting"
        }

        fn equip(&self) -> io::Result<()> {
            Ok(())
        }

        fn serve(&self, (): &mut (), begin: &dyn Fn()) -> bool {
            let job = self.jobs.lock().expect("nobody panics").recv();
            let Ok(job) = job else { return false };
            begin();
            self.begun.send(()).expect("the test listens");
            let _ = job.recv();
            true
        }

        fn may_stand_by(&self) -> bool {
            self.may_stand_by
        }
    }

    type Started = (Arc<Crew<Waiting>>, Sender<Receiver<()>>, Receiver<()>);

    fn crew(strength: Strength, may_stand_by: bool) -> Started {
        let (give, jobs) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let duty = Waiting { jobs: Mutex::new(jobs), begun, may_stand_by };
        let lookout = Lookout::start().expect("a thread");
        (Crew::start(duty, strength, &lookout).expect("a thread"), give, begins)
    }

    /// As many requests as there may be threads, all under way; they end when what is given back goes.
    fn burst(give: &Sender<Receiver<()>>, begins: &Receiver<()>) -> Vec<Sender<()>> {
        let mut ends = Vec::new();
        for _ in 0..8 {
            let (end, job) = mpsc::channel();
            ends.push(end);
            give.send(job).expect("the crew listens");
        }
        for nth in 0..8 {
            let begun = begins.recv_timeout(Duration::from_secs(20));
            assert!(begun.is_ok(), "request {nth} waits for another");
        }
        ends
    }

    fn until(mut is_so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(20), "it never comes to be");
            thread::yield_now();
        }
    }

    #[test]
    fn requests_that_take_long_hold_up_no_other() {
        let (crew, give, begins) = crew(Strength { few: 1, most: 8 }, false);
        let ends = burst(&give, &begins);
        drop((give, ends));
        crew.wait();
    }

    #[test]
    fn who_is_not_needed_stands_by_until_called() {
        let (crew, give, begins) = crew(Strength { few: 2, most: 8 }, true);
        for _ in 0..3 {
            drop(burst(&give, &begins));
            until(|| crew.members().standing_by == 6);
            assert_eq!(crew.idle.load(Ordering::Relaxed), 2);
        }
        assert_eq!(crew.count.load(Ordering::Relaxed), 8);
        drop(give);
        crew.wait();
    }

    #[test]
    fn quick_requests_leave_the_crew_small() {
        let (crew, give, begins) = crew(Strength { few: 1, most: 8 }, false);
        for _ in 0..1000 {
            let (end, job) = mpsc::channel();
            drop(end);
            give.send(job).expect("the crew listens");
            begins.recv_timeout(Duration::from_secs(20)).expect("served");
        }
        let threads = crew.count.load(Ordering::Relaxed);
        assert!(threads <= 2, "{threads} threads");
        drop(give);
        crew.wait();
    }
}
