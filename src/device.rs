//! A storage device of known speed: whoever uses it waits as long as it would take.
//!
//! The arithmetic is the simulator's ([`iofwd_scheduler::sim::Server`]); here real threads wait. It stands in
//! front of files that are faster than the device, so that what is measured on a laptop is what a disk
//! would do, and the same on every machine.

mod spec;
mod turns;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iofwd_scheduler::request::{Extent, Operation};
use iofwd_scheduler::time::Time;

pub use iofwd_scheduler::sim::Measured;
pub use spec::Spec;

use turns::{Ticket, Turns, Wake};

/// A device, and everybody who waits for it.
#[derive(Debug)]
pub struct Device {
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    turns: Turns,
    /// Rung when the device begins with something of this ticket.
    bells: HashMap<Ticket, Arc<Condvar>>,
}

/// What is asked of a device.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Who asks: several at once get into each other's way.
    pub sender: u32,
    /// Which object; each has a place of its own on the device.
    pub object: u64,
    /// Bytes of the object, in the order in which they are wanted.
    pub extents: &'a [Extent],
    /// Whether they are read or written.
    pub operation: Operation,
}

impl Device {
    /// An idle device of this kind.
    pub fn new(spec: &Spec) -> Device {
        let state = State { turns: Turns::new(spec), bells: HashMap::new() };
        Device { start: Instant::now(), state: Mutex::new(state) }
    }

    /// Returns when the device would have done it.
    ///
    /// A thread that wakes up late delays only itself: the device went on with the next command when it
    /// was done with this one, as far as its own time is concerned.
    pub fn serve(&self, work: &Work<'_>) {
        let bell = Arc::new(Condvar::new());
        let mut state = self.lock();
        let now = self.now();
        let (ticket, begun) = state.turns.arrive(now, work);
        state.bells.insert(ticket, Arc::clone(&bell));
        state.ring(&begun);
        loop {
            let now = self.now();
            let begun = state.turns.advance(now);
            state.ring(&begun);
            state = match state.turns.wake(now, ticket) {
                Wake::Done => break,
                Wake::At(time) => {
                    let rest = Duration::from_nanos(time.since(now).as_nanos());
                    let woken = bell.wait_timeout(state, rest);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                Wake::WhenCalled => bell.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.bells.remove(&ticket);
        state.turns.leave(ticket);
    }

    /// What it has been doing.
    pub fn measured(&self) -> Measured {
        let mut state = self.lock();
        let begun = state.turns.advance(self.now());
        state.ring(&begun);
        state.turns.measured()
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ring(&self, begun: &[Ticket]) {
        for bell in begun.iter().filter_map(|ticket| self.bells.get(ticket)) {
            bell.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(sender: u32, extents: &[Extent]) -> Work<'_> {
        Work { sender, object: 7, extents, operation: Operation::Read }
    }

    /// Never sooner than the model says; how much later is the machine's business.
    #[test]
    fn threads_wait_as_long_as_the_device_takes() {
        let spec: Spec = "null,read=10M".parse().expect("a device");
        let device = Device::new(&spec);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for sender in 0..4 {
                let device = &device;
                // 4 x 100 kB at 10 MiB/s, one after the other: 38 ms.
                scope.spawn(move || device.serve(&work(sender, &[Extent::new(0, 100_000)])));
            }
        });
        assert!(begun.elapsed() >= Duration::from_millis(38), "{:?}", begun.elapsed());
        let measured = device.measured();
        assert_eq!((measured.commands, measured.bytes), (4, 400_000));
        assert_eq!(measured.busy.as_nanos().div_ceil(1_000_000), 39);
    }

    #[test]
    fn nobody_waits_for_a_device_that_takes_no_time() {
        let device = Device::new(&"null".parse().expect("a device"));
        for offset in 0..1_000 {
            device.serve(&work(0, &[Extent::new(offset * 4096, 4096), Extent::new(0, 1)]));
        }
        assert_eq!(device.measured().busy, iofwd_scheduler::time::Span::ZERO);
    }

    #[test]
    fn every_one_of_a_crowd_is_served() {
        let spec: Spec = "hdd,seek_min=10us,seek_max=50us,turn=20us".parse().expect("a device");
        let device = Device::new(&spec);
        std::thread::scope(|scope| {
            for sender in 0..16 {
                let device = &device;
                scope.spawn(move || {
                    for step in 0..20 {
                        let far = Extent::new(1 << 30, 512);
                        device.serve(&work(sender, &[Extent::new(step * 4096, 4096), far]));
                    }
                });
            }
        });
        let measured = device.measured();
        assert_eq!((measured.commands, measured.bytes), (16 * 40, 16 * 20 * (4096 + 512)));
        assert!(device.lock().bells.is_empty());
    }
}
