//! Finds the request that ends where another begins, or begins where it ends, in constant time.

use super::{Line, Pages, Table, mix};
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
    /// Knows no request yet, and will know as many of each line as the setup says; of lines with up
    /// to `short` requests none.
    pub const fn new(setup: &Setup, short: usize) -> Neighbours {
        Neighbours { table: Table::new(), look_ahead: setup.look_ahead, short }
    }

    /// Up to how many requests of a line are looked through instead of being entered.
    #[inline]
    pub(super) const fn short(&self) -> usize {
        self.short
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
        let seed = pages.get(slot);
        self.table.touch(hash(&seed, seed.local, ENDS));
        let starting = |at| self.starting(pages, &seed, at);
        let ending = |at| self.ending(pages, &seed, at);
        collect(pages, slot, limit, run, starting, ending);
    }

    /// The same for a line that is not entered, all of one object: looks through it.
    pub fn look_through(
        &self,
        pages: &Pages,
        line: &Line,
        slot: u32,
        limit: Limit,
        run: &mut Vec<u32>,
    ) {
        let (start, end) = ends(&pages.get(slot));
        let all = || pages.walk(line).take(self.look_ahead as usize);
        let touches = |other: u32| {
            let (from, to) = ends(&pages.get(other));
            (from == end) | (to == start)
        };
        if all().fold(false, |any, other| any | touches(other)) {
            let starting = |at| all().find(|&other| ends(&pages.get(other)).0 == at);
            let ending = |at| all().find(|&other| ends(&pages.get(other)).1 == at);
            collect(pages, slot, limit, run, starting, ending);
        } else {
            run.clear();
            run.push(slot);
        }
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

/// Puts a run together from what is said to start and to end at an offset.
fn collect(
    pages: &Pages,
    slot: u32,
    limit: Limit,
    run: &mut Vec<u32>,
    starting: impl Fn(u64) -> Option<u32>,
    ending: impl Fn(u64) -> Option<u32>,
) {
    run.clear();
    run.push(slot);
    let seed = pages.get(slot);
    let mut left = limit.without(seed.length());
    let mut end = seed.local_extent().end();
    while let Some(next) = fitting(pages, starting(end), left) {
        run.push(next);
        left = left.without(pages.get(next).length());
        end = pages.get(next).local_extent().end();
    }
    let forward = run.len();
    let mut start = seed.local;
    while let Some(previous) = fitting(pages, ending(start), left) {
        run.push(previous);
        left = left.without(pages.get(previous).length());
        start = pages.get(previous).local;
    }
    if run.len() > forward {
        run[forward..].reverse();
        run.rotate_left(forward);
    }
}

fn fitting(pages: &Pages, slot: Option<u32>, left: Limit) -> Option<u32> {
    slot.filter(|&slot| {
        let length = pages.get(slot).length();
        length > 0 && left.takes(length)
    })
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
