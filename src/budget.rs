//! A bound on the memory of writes that wait: past it, whoever brings another one waits itself.
//!
//! The thread that waits reads no further requests of the kernel, so that the pressure reaches the
//! applications, as that of a full pipe does.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes that may be held, and those that are.
#[derive(Debug)]
pub struct Budget {
    most: usize,
    held: Mutex<usize>,
    freed: Condvar,
}

/// A part of the budget, given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(most: usize) -> Arc<Budget> {
        Arc::new(Budget { most, held: Mutex::new(0), freed: Condvar::new() })
    }

    /// Wait until there is room. One that is larger than the budget goes when it is alone.
    pub fn wait_for(self: &Arc<Budget>, bytes: usize) -> Share {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > 0 && *held + bytes > self.most {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held += bytes;
        Share { budget: Arc::clone(self), bytes }
    }

    /// Bytes that are held, and that may be.
    pub fn used(&self) -> (usize, usize) {
        (*self.held.lock().unwrap_or_else(PoisonError::into_inner), self.most)
    }

    /// Take it at once, whatever is held: for those who must not wait. There are few of them.
    pub fn take(self: &Arc<Budget>, bytes: usize) -> Share {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
        Share { budget: Arc::clone(self), bytes }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.budget.held.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn who_comes_when_it_is_used_up_waits_until_something_is_given_back() {
        let budget = Budget::new(100);
        let first = budget.wait_for(80);
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::clone(&budget);
        let waiter = thread::spawn(move || {
            let share = waiting.wait_for(30);
            sender.send(()).unwrap();
            share
        });
        let urgent = budget.take(50);
        drop(urgent);
        assert!(receiver.try_recv().is_err(), "there is no room for it yet");
        drop(first);
        receiver.recv().unwrap();
        drop(waiter.join().unwrap());
        drop(budget.wait_for(1000));
        assert_eq!(*budget.held.lock().unwrap(), 0);
    }
}
