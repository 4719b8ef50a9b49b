//! Finds the request that ends where another begins, or begins where it ends, in constant time.

use super::{Pages, Table, mix};
use crate::policy::Setup;
use crate::request::{Operation, Request};
use crate::room::Limit;

/// Requests by the ends of what they touch in their server's object.
///
/// What begins at a byte and what ends there share a line of the table, as they are looked for
/// together. Of several requests that begin (or end) at the same byte only the first is entered: the
/// others are served in their turn, and no chain of equal keys can make a lookup slow.
#[derive(Debug)]
pub struct Neighbours {
    table: Table,
    look_ahead: u32,
    short: usize,
}

impl Neighbours {
    /// Knows no request yet, and will know as many of each line as the setup says; lines of up to
    /// `short` requests only while they have their turn, if there are many.
    pub const fn new(setup: &Setup, short: usize) -> Neighbours {
        Neighbours { table: Table::new(), look_ahead: setup.look_ahead, short }
    }

    /// Whether a line of so many requests is not entered before its turn: a single request has nobody
    /// beside it, and many short lines would fill the cache.
    #[inline]
    pub(super) const fn spares(&self, len: usize) -> bool {
        len <= self.short && (len <= 1 || self.table.len() > CROWDED)
    }

    /// How many requests of each line are to be entered, from its front on.
    #[inline]
    pub const fn look_ahead(&self) -> u32 {
        self.look_ahead
    }

    /// Enters the request at `slot`.
    pub fn add(&mut self, pages: &Pages, slot: u32) {
        let request = pages.get(slot);
        let (start, end) = ends(&request);
        let (first, last) = (hash(&request, start, BEGINS), hash(&request, end, ENDS));
        self.table.touch(first);
        self.table.touch(last);
        self.table.insert_unless(first, slot, |other| begins(&pages.get(other), &request, start));
        self.table.insert_unless(last, slot, |other| stops(&pages.get(other), &request, end));
    }

    /// Forgets the request at `slot`, which must still be in its line.
    pub fn remove(&mut self, pages: &Pages, slot: u32) {
        let request = pages.get(slot);
        let (start, end) = ends(&request);
        self.table.remove(hash(&request, start, BEGINS), |found| found == slot);
        self.table.remove(hash(&request, end, ENDS), |found| found == slot);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.table = Table::new();
    }

    /// Collects into `run`, ascending, the request at `slot` and those that touch it, directly or
    /// through others, as far as the limit allows: first what follows, then what goes before.
    pub fn gather(&self, pages: &Pages, slot: u32, limit: Limit, run: &mut Vec<u32>) {
        run.clear();
        run.push(slot);
        let seed = pages.get(slot);
        self.table.touch(hash(&seed, seed.local, ENDS));
        let mut left = limit.without(seed.length());
        let mut end = seed.local_extent().end();
        while let Some(next) = self.fitting(pages, self.starting(pages, &seed, end), left) {
            run.push(next);
            left = left.without(pages.get(next).length());
            end = pages.get(next).local_extent().end();
        }
        let forward = run.len();
        let mut start = seed.local;
        while let Some(previous) = self.fitting(pages, self.ending(pages, &seed, start), left) {
            run.push(previous);
            left = left.without(pages.get(previous).length());
            start = pages.get(previous).local;
        }
        if run.len() > forward {
            run[forward..].reverse();
            run.rotate_left(forward);
        }
    }

    fn fitting(&self, pages: &Pages, slot: Option<u32>, left: Limit) -> Option<u32> {
        slot.filter(|&slot| {
            let length = pages.get(slot).length();
            length > 0 && left.takes(length)
        })
    }

    #[inline]
    fn starting(&self, pages: &Pages, like: &Request, at: u64) -> Option<u32> {
        self.table.find(hash(like, at, BEGINS), |slot| begins(&pages.get(slot), like, at))
    }

    #[inline]
    fn ending(&self, pages: &Pages, like: &Request, at: u64) -> Option<u32> {
        self.table.find(hash(like, at, ENDS), |slot| stops(&pages.get(slot), like, at))
    }
}

/// Whether two requests could be members of one batch as far as file, operation and server go.
fn same_object(one: &Request, other: &Request) -> bool {
    one.file == other.file && one.server == other.server && one.operation == other.operation
}

fn begins(request: &Request, like: &Request, at: u64) -> bool {
    request.local == at && same_object(request, like)
}

fn stops(request: &Request, like: &Request, at: u64) -> bool {
    ends(request).1 == at && same_object(request, like)
}

fn ends(request: &Request) -> (u64, u64) {
    (request.local, request.local_extent().end())
}

/// A hash of a place in an object. Its last bit says what is there: that hardly moves it.
#[inline]
fn hash(request: &Request, at: u64, which: u32) -> u32 {
    let write = u64::from(request.operation == Operation::Write);
    let object = request.file.0.wrapping_mul(0xd6e8_feb8_6659_fd93)
        ^ (u64::from(request.server.0) << 33)
        ^ (write << 32);
    mix(object ^ at) & !1 | which
}

const BEGINS: u32 = 0;
const ENDS: u32 = 1;
/// Entries, two for each request, from which on short lines have to wait for their turn: what stays
/// in a small cache.
const CROWDED: usize = 8_192;
