//! Finds the request that ends where another begins, or begins where it ends, in constant time.

use super::{Pool, Table, mix};
use crate::request::{Operation, Request};
use crate::room::Limit;

/// The requests of a pool by the first and by the last byte they touch in their server's object.
///
/// Of several requests that begin (or end) at the same byte only the first is entered: the others
/// are served in their turn, and no chain of equal keys can make a lookup slow.
#[derive(Debug, Default)]
pub struct Neighbours {
    starts: Table,
    ends: Table,
}

impl Neighbours {
    /// Knows no request yet.
    pub const fn new() -> Neighbours {
        Neighbours { starts: Table::new(), ends: Table::new() }
    }

    /// Enters the request at `slot`.
    pub fn add(&mut self, pool: &Pool, slot: u32) {
        let request = pool.get(slot);
        let (start, end) = (request.local, request.local_extent().end());
        if self.starting(pool, &request, start).is_none() {
            self.starts.insert(hash(&request, start), slot);
        }
        if self.ending(pool, &request, end).is_none() {
            self.ends.insert(hash(&request, end), slot);
        }
    }

    /// Forgets the request at `slot`, which must still be in the pool.
    pub fn remove(&mut self, pool: &Pool, slot: u32) {
        let request = pool.get(slot);
        let (start, end) = (request.local, request.local_extent().end());
        self.starts.remove(hash(&request, start), |found| found == slot);
        self.ends.remove(hash(&request, end), |found| found == slot);
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
        self.starts.find(hash(like, at), |slot| {
            let other = pool.get(slot);
            other.local == at && same_object(&other, like)
        })
    }

    #[inline]
    fn ending(&self, pool: &Pool, like: &Request, at: u64) -> Option<u32> {
        self.ends.find(hash(like, at), |slot| {
            let other = pool.get(slot);
            other.local_extent().end() == at && same_object(&other, like)
        })
    }
}

/// Whether two requests could be members of one batch as far as file, operation and server go.
fn same_object(one: &Request, other: &Request) -> bool {
    one.file == other.file && one.server == other.server && one.operation == other.operation
}

#[inline]
fn hash(request: &Request, at: u64) -> u32 {
    let write = u64::from(request.operation == Operation::Write);
    let object = request.file.0.wrapping_mul(0xd6e8_feb8_6659_fd93)
        ^ (u64::from(request.server.0) << 33)
        ^ (write << 32);
    mix(object ^ at)
}
