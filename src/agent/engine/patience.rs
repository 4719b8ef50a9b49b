//! How to get at what is held for moments only.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

/// Whoever holds it is done within a microsecond of its own time, but may have lost its processor. To
/// sleep and be woken takes ten times as long, so others on this processor go first, and nobody
/// sleeps before that was tried a few times.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    for _ in 0..YIELDS {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::WouldBlock) => thread::yield_now(),
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So often others go first.
const YIELDS: usize = 20;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn whoever_has_to_wait_for_long_gets_it_in_the_end() {
        let mutex = Mutex::new(0);
        let held = lock(&mutex);
        let (begin, begun) = mpsc::channel();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                begin.send(()).expect("the test listens");
                *lock(&mutex) += 1;
            });
            begun.recv().expect("the thread tells");
            assert!(!waiting.is_finished());
            drop(held);
        });
        assert_eq!(*lock(&mutex), 1);
    }
}
