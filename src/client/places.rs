//! Places for calls that must not be done twice: each has one to itself until it is answered.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The places of a client.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<Free>);

#[derive(Debug, Default)]
struct Free {
    /// Given back.
    places: BTreeSet<u16>,
    /// From here on none was ever used.
    next: u16,
}

/// One of them; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    pub(super) number: u16,
}

impl Places {
    /// The lowest that is free, so that few are ever used; `None` if there is none.
    pub(super) fn take(self: &Arc<Places>) -> Option<Place> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match free.places.pop_first() {
            Some(number) => number,
            None => {
                let number = free.next;
                free.next = number.checked_add(1)?;
                number
            }
        };
        Some(Place { places: Arc::clone(self), number })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut free = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.places.insert(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_have_one_place_and_the_lowest_is_used_again() {
        let places = Arc::new(Places::default());
        let [first, second] = [(); 2].map(|()| places.take().unwrap());
        assert_eq!((first.number, second.number), (0, 1));
        drop(first);
        assert_eq!(places.take().unwrap().number, 0);
        let all: Vec<_> = std::iter::from_fn(|| places.take()).collect();
        assert_eq!(all.len(), usize::from(u16::MAX) - 1);
    }
}
