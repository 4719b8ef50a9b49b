//! Requests that come together: what the first of them leads to may wait for the others, and go on
//! with them.
//!
//! A thread that serves requests of the kernel for a store that hands them on looks whether there
//! is another one before it waits for it. What is kept back until then goes when there is none.

use std::cell::RefCell;
use std::sync::Arc;

/// Where something is kept back.
pub trait KeepsBack: Send + Sync {
    /// It goes.
    fn depart(self: Arc<Self>);
}

/// What is kept back by the requests that a thread serves.
#[derive(Default)]
struct Company {
    /// The thread looks for another request when it has served this one.
    is_expected: bool,
    kept_back: Vec<Arc<dyn KeepsBack>>,
}

thread_local! {
    static COMPANY: RefCell<Company> = RefCell::default();
}

/// Whether something may be kept back there that the request leads to which this thread serves.
/// If so it goes before the thread waits for the next one.
pub fn keep_back<T: KeepsBack + 'static>(place: &Arc<T>) -> bool {
    COMPANY.with_borrow_mut(|company| {
        let is_there =
            |known: &Arc<dyn KeepsBack>| Arc::as_ptr(known).addr() == Arc::as_ptr(place).addr();
        if company.is_expected && !company.kept_back.iter().any(is_there) {
            company.kept_back.push(Arc::clone(place) as Arc<dyn KeepsBack>);
        }
        company.is_expected
    })
}

/// What this thread keeps back goes: to be called before it waits for anything.
pub fn depart() {
    let mut gone = COMPANY.with_borrow_mut(|company| std::mem::take(&mut company.kept_back));
    gone.drain(..).for_each(|place| place.depart());
    COMPANY.with_borrow_mut(|company| {
        if company.kept_back.is_empty() {
            // The next ones find room.
            company.kept_back = gone;
        }
    });
}

/// Serve a request, and others as long as something is kept back and there are some: `serve` says
/// so. Whether something was kept back.
pub(crate) fn gather(mut serve: impl FnMut() -> bool) -> bool {
    COMPANY.with_borrow_mut(|company| company.is_expected = true);
    let is_any = || COMPANY.with_borrow(|company| !company.kept_back.is_empty());
    serve();
    for _ in 1..MOST {
        if !is_any() || !serve() {
            break;
        }
    }
    COMPANY.with_borrow_mut(|company| company.is_expected = false);
    let any = is_any();
    if any {
        depart();
    }
    any
}

/// So many go together at most: nobody waits for long.
const MOST: usize = 32;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how often what is kept back goes.
    #[derive(Default)]
    struct Place(AtomicUsize);

    impl KeepsBack for Place {
        fn depart(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Place {
        fn departures(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn whoever_serves_alone_keeps_nothing_back() {
        let place = Arc::new(Place::default());
        assert!(!keep_back(&place));
        let mut served = 0;
        gather(|| {
            served += 1;
            true
        });
        assert_eq!((served, place.departures()), (1, 0), "nothing waits for another one");
    }

    #[test]
    fn others_are_served_as_long_as_there_are_some() {
        let places = [Arc::new(Place::default()), Arc::new(Place::default())];
        let mut left = 4;
        gather(|| {
            left -= 1;
            assert!(keep_back(&places[left % 2]));
            assert!(places.iter().all(|place| place.departures() == 0));
            left > 0
        });
        assert_eq!((left, places.map(|place| place.departures())), (0, [1, 1]));
    }

    #[test]
    fn who_was_kept_back_goes_when_there_is_always_another() {
        let place = Arc::new(Place::default());
        let mut served = 0;
        gather(|| {
            served += 1;
            keep_back(&place)
        });
        assert_eq!((served, place.departures()), (MOST, 1));
        assert!(!keep_back(&place));
    }

    #[test]
    fn it_goes_at_once_if_the_thread_has_to_wait() {
        let place = Arc::new(Place::default());
        gather(|| {
            assert!(keep_back(&place));
            depart();
            assert_eq!(place.departures(), 1);
            false
        });
        assert_eq!(place.departures(), 1);
    }
}
