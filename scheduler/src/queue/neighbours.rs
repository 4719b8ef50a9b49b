//! Finds the request that ends where another begins, or begins where it ends, in constant time.

use super::{Pool, Table, mix};
use crate::request::{Operation, Request};
use crate::room::Limit;

/// The requests of a pool by the ends of what they touch in their server's object.
///
/// What begins at a byte and what ends there share a line of the table, as they are looked for
/// together. Of several requests that begin (or end) at the same byte only the first is entered: the
/// others are served in their turn, and no chain of equal keys can make a lookup slow.
#[derive(Debug, Default)]
pub struct Neighbours(Table);

impl Neighbours {
    /// Knows no request yet.
    pub const fn new() -> Neighbours {
        Neighbours(Table::new())
    }

    /// Enters the request at `slot`.
    pub fn add(&mut self, pool: &Pool, slot: u32) {
        let request = pool.get(slot);
        let (start, end) = ends(&request);
        let (first, last) = (hash(&request, start, BEGINS), hash(&request, end, ENDS));
        self.0.touch(first);
        self.0.touch(last);
        self.0.insert_unless(first, slot, |other| begins(&pool.get(other), &request, start));
        self.0.insert_unless(last, slot, |other| stops(&pool.get(other), &request, end));
    }

    /// Forgets the request at `slot`, which must still be in the pool.
    pub fn remove(&mut self, pool: &Pool, slot: u32) {
        let request = pool.get(slot);
        let (start, end) = ends(&request);
        self.0.remove(hash(&request, start, BEGINS), |found| found == slot);
        self.0.remove(hash(&request, end, ENDS), |found| found == slot);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Neighbours::new();
    }

    /// Collects into `run`, ascending, the request at `slot` and those that touch it, directly or
    /// through others, as far as the limit allows: first what follows, then what goes before.
    pub fn gather(&self, pool: &Pool, slot: u32, limit: Limit, run: &mut Vec<u32>) {
        run.clear();
        run.push(slot);
        let seed = pool.get(slot);
        self.0.touch(hash(&seed, seed.local, ENDS));
        let mut left = limit.without(seed.length());
        let mut end = seed.local_extent().end();
        while let Some(next) = self.fitting(pool, self.starting(pool, &seed, end), left) {
            run.push(next);
            left = left.without(pool.get(next).length());
            end = pool.get(next).local_extent().end();
        }
        let forward = run.len();
        let mut start = seed.local;
        while let Some(previous) = self.fitting(pool, self.ending(pool, &seed, start), left) {
            run.push(previous);
            left = left.without(pool.get(previous).length());
            start = pool.get(previous).local;
        }
        if run.len() > forward {
            run[forward..].reverse();
            run.rotate_left(forward);
        }
    }

    fn fitting(&self, pool: &Pool, slot: Option<u32>, left: Limit) -> Option<u32> {
        slot.filter(|&slot| {
            let length = pool.get(slot).length();
            length > 0 && left.takes(length)
        })
    }

    #[inline]
    fn starting(&self, pool: &Pool, like: &Request, at: u64) -> Option<u32> {
        self.0.find(hash(like, at, BEGINS), |slot| begins(&pool.get(slot), like, at))
    }

    #[inline]
    fn ending(&self, pool: &Pool, like: &Request, at: u64) -> Option<u32> {
        self.0.find(hash(like, at, ENDS), |slot| stops(&pool.get(slot), like, at))
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
