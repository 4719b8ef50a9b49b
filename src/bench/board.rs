//! Memory that all processes of a run share: gates they wait at, what each has done so far, and a
//! word that stops them all. Waiting is a futex: nobody spins, nobody polls.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::latency::Recorder;

/// What one process tells the others. Fresh memory, all zero, is a valid one.
#[repr(C, align(128))]
pub(super) struct Slot {
    /// How many gates it has reached.
    arrived: AtomicU32,
    /// When it began and finished its step, in nanoseconds of the run's clock.
    pub(super) begin: AtomicU64,
    pub(super) end: AtomicU64,
    /// Bytes moved in this run so far.
    pub(super) moved: AtomicU64,
    pub(super) latency: Recorder,
}

/// What all have in common.
#[repr(C, align(128))]
struct Head {
    stop: AtomicU32,
    /// Counts arrivals, so that who leads the run can sleep until there is one.
    events: AtomicU32,
}

/// One gate for each application: how many steps its processes may pass.
#[repr(C, align(128))]
struct Gate(AtomicU32);

/// The shared memory of a run. Must be made before the processes that share it.
pub(super) struct Board {
    memory: NonNull<u8>,
    bytes: usize,
    gates: usize,
    slots: usize,
}

// SAFETY: everything in the mapping is atomic, and the rest never changes.
unsafe impl Sync for Board {}

impl Board {
    pub(super) fn new(gates: usize, slots: usize) -> io::Result<Board> {
        let bytes = size_of::<Head>() + gates * size_of::<Gate>() + slots * size_of::<Slot>();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: asks for new memory at a place of the kernel's choice; nothing else is touched.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        match NonNull::new(memory.cast::<u8>()) {
            Some(memory) if memory.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Board { memory, bytes, gates, slots })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping begins with a head, zero is a valid one, it is only changed through
        // atomics, and it lives as long as self. Pages are aligned more strictly than a head.
        unsafe { self.memory.cast::<Head>().as_ref() }
    }

    fn gate(&self, number: usize) -> &Gate {
        assert!(number < self.gates, "an application has a gate");
        let place = size_of::<Head>() + number * size_of::<Gate>();
        // SAFETY: as for the head; the place lies within the mapping by the check above.
        unsafe { self.memory.add(place).cast::<Gate>().as_ref() }
    }

    pub(super) fn slot(&self, number: usize) -> &Slot {
        assert!(number < self.slots, "a process has a slot");
        let before = size_of::<Head>() + self.gates * size_of::<Gate>();
        let place = before + number * size_of::<Slot>();
        // SAFETY: as for the head; the place lies within the mapping by the check above.
        unsafe { self.memory.add(place).cast::<Slot>().as_ref() }
    }

    /// Tells that a process has come one gate further, and everything it did is to be seen.
    pub(super) fn arrive(&self, slot: &Slot) {
        slot.arrived.fetch_add(1, Ordering::Release);
        let events = &self.head().events;
        events.fetch_add(1, Ordering::Release);
        wake(events, 1);
    }

    /// How many gates a process has reached.
    pub(super) fn arrived(&self, slot: usize) -> u32 {
        self.slot(slot).arrived.load(Ordering::Acquire)
    }

    /// Waits until the gate lets pass; false if everything is to stop.
    pub(super) fn pass(&self, gate: usize, step: u32) -> bool {
        let gate = &self.gate(gate).0;
        loop {
            let open = gate.load(Ordering::Acquire);
            if self.is_stopped() {
                return false;
            }
            if open > step {
                return true;
            }
            wait(gate, open, None);
        }
    }

    /// Lets the processes of an application pass one gate more.
    pub(super) fn open(&self, gate: usize) {
        let gate = &self.gate(gate).0;
        gate.fetch_add(1, Ordering::Release);
        wake(gate, i32::MAX);
    }

    /// Ends everything: who waits wakes up, who works stops after the request under way.
    pub(super) fn stop(&self) {
        self.head().stop.store(1, Ordering::Release);
        wake(&self.head().stop, i32::MAX);
        for number in 0..self.gates {
            // The value does not matter any more; that it changes lets nobody fall asleep.
            self.open(number);
        }
    }

    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.head().stop.load(Ordering::Acquire) != 0
    }

    /// Rests so long, or until everything is to stop.
    pub(super) fn rest(&self, time: Duration) {
        let start = Instant::now();
        while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            if self.is_stopped() {
                return;
            }
            wait(&self.head().stop, 0, Some(left));
        }
    }

    /// A number that changes with every arrival.
    pub(super) fn events(&self) -> u32 {
        self.head().events.load(Ordering::Acquire)
    }

    /// Sleeps until somebody arrives, a signal comes, or the time is over.
    pub(super) fn wait(&self, events: u32, time: Duration) {
        wait(&self.head().events, events, Some(time));
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no reference outlives self.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

fn wait(word: &AtomicU32, value: u32, time: Option<Duration>) {
    let time = time.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the time live during the call. Whatever the reason to return, callers
    // look at the word again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, time) };
}

fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: only the address of the word is used.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_the_gate_opens() {
        let board = Board::new(1, 2).unwrap();
        std::thread::scope(|scope| {
            for slot in 0..2 {
                let board = &board;
                scope.spawn(move || {
                    board.arrive(board.slot(slot));
                    assert!(board.pass(0, 0));
                    assert_eq!([board.arrived(0), board.arrived(1)].map(|n| n >= 1), [true; 2]);
                    board.arrive(board.slot(slot));
                    assert!(!board.pass(0, 1), "stopped while waiting");
                    board.rest(Duration::from_secs(1 << 30));
                });
            }
            let until = |count| {
                while board.arrived(0) < count || board.arrived(1) < count {
                    board.wait(board.events(), Duration::from_millis(10));
                }
            };
            until(1);
            board.open(0);
            until(2);
            board.stop();
        });
        assert!(board.is_stopped());
    }

    #[test]
    fn a_rest_is_as_long_as_it_should_be() {
        let (board, start) = (Board::new(1, 1).unwrap(), Instant::now());
        board.rest(Duration::from_millis(3));
        assert!(start.elapsed() >= Duration::from_millis(3));
    }
}
