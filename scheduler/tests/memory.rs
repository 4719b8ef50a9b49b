//! Memory for each queued request, counted by the allocator: policy, hazards and tables, all in.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use iofwd_scheduler::policy::{ALL, Setup};
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::scheduler::{Config, Scheduler};
use iofwd_scheduler::time::Time;

/// The system's allocator with a count of the bytes in use.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only a number is kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above; the pointer came from `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Requests of 4 KiB at scattered offsets, half of them writes.
fn request(id: u64, files: u64) -> Request {
    let scattered = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    let operation = if scattered.is_multiple_of(2) { Operation::Read } else { Operation::Write };
    Request {
        id: RequestId(id),
        file: FileId(scattered % files),
        job: JobId(scattered % 7),
        server: ServerId((scattered % 4) as u32),
        operation,
        extent: Extent::new(scattered * 4_096, 4_096),
        local: scattered * 1_024,
        arrived: Time::from_nanos(id),
    }
}

fn bytes_per_request(policy: usize, files: u64) -> usize {
    let requests = 20_000;
    let before = USED.load(Ordering::Relaxed);
    let setup = Setup::new(4);
    let mut scheduler = Scheduler::new(&Config::new(setup), (ALL[policy].make)(&setup));
    for id in 0..requests {
        scheduler.submit(Time::from_nanos(id), request(id, files));
    }
    assert_eq!(scheduler.queued() as u64, requests);
    (USED.load(Ordering::Relaxed) - before) / requests as usize
}

/// One test: the count is the whole process's.
#[test]
fn a_queued_request_takes_at_most_200_bytes() {
    for (policy, entry) in ALL.iter().enumerate() {
        let (one_file, many) = (bytes_per_request(policy, 1), bytes_per_request(policy, 10_000));
        println!("{:>6}: {one_file} B of one file, {many} B of 10,000 files", entry.name);
        assert!(one_file <= 200, "{}: {one_file} B", entry.name);
        assert!(many <= 200, "{}: {many} B with 10,000 files", entry.name);
    }
}
