//! Reads and writes around the cache of this node, for file systems whose data servers are to see a
//! request when it is made and not when a cache sees fit.
//!
//! Only what consists of whole pages goes this way; everything else is for the ordinary descriptor. So a
//! page that somebody changes a part of through the cache is never half of a direct write: two
//! writers of different bytes cannot undo each other's work, whatever they use.

use std::cell::RefCell;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use iofwd_mount::Errno;

use super::system;

/// A second descriptor of an open file, with `O_DIRECT`.
#[derive(Debug)]
pub(super) struct Direct {
    fd: OwnedFd,
    /// The file system wants more than whole pages.
    refused: AtomicBool,
}

impl Direct {
    /// Open what a descriptor names once more, for the same purposes; not every file system can.
    pub(super) fn open(fd: &OwnedFd) -> Option<Direct> {
        let kept = libc::O_ACCMODE | libc::O_SYNC | libc::O_DSYNC;
        let flags = (system::open_flags(fd).ok()? & kept) | libc::O_DIRECT;
        let fd = system::reopen(fd, flags).ok()?;
        Some(Direct { fd, refused: AtomicBool::new(false) })
    }

    /// Read into the buffers, one after the other; `None` if it has to go through the cache.
    pub(super) fn read(
        &self,
        into: &mut [IoSliceMut<'_>],
        at: i64,
    ) -> Option<Result<usize, Errno>> {
        let length: usize = into.iter().map(|slice| slice.len()).sum();
        if !self.takes(at, length) {
            return None;
        }
        if into.iter().all(|slice| is_whole(slice)) {
            return self.unless_refused(system::preadv(&self.fd, into, at));
        }
        self.unless_refused(with_pages(length, |pages| {
            let count = system::preadv(&self.fd, &mut [IoSliceMut::new(pages)], at)?;
            scatter(&pages[..count], into);
            Ok(count)
        }))
    }

    /// Write the buffers, one after the other; `None` if it has to go through the cache.
    pub(super) fn write(&self, from: &[IoSlice<'_>], at: i64) -> Option<Result<usize, Errno>> {
        let length: usize = from.iter().map(|slice| slice.len()).sum();
        if !self.takes(at, length) {
            return None;
        }
        if from.iter().all(|slice| is_whole(slice)) {
            return self.unless_refused(system::pwritev2(&self.fd, from, at, 0));
        }
        self.unless_refused(with_pages(length, |pages| {
            gather(from, pages);
            system::pwritev2(&self.fd, &[IoSlice::new(pages)], at, 0)
        }))
    }

    fn takes(&self, at: i64, length: usize) -> bool {
        let whole = length > 0 && length.is_multiple_of(PAGE) && at % PAGE as i64 == 0;
        whole && !self.refused.load(Ordering::Relaxed)
    }

    /// A file system that refuses whole pages is not asked again.
    fn unless_refused(&self, result: Result<usize, Errno>) -> Option<Result<usize, Errno>> {
        if result == Err(Errno::EINVAL) {
            self.refused.store(true, Ordering::Relaxed);
            return None;
        }
        Some(result)
    }
}

/// Whether a buffer can be used as it is.
fn is_whole(slice: &[u8]) -> bool {
    slice.len().is_multiple_of(PAGE) && slice.as_ptr().addr().is_multiple_of(PAGE)
}

fn scatter(mut bytes: &[u8], into: &mut [IoSliceMut<'_>]) {
    for slice in into {
        let count = slice.len().min(bytes.len());
        let (mine, rest) = bytes.split_at(count);
        slice[..count].copy_from_slice(mine);
        bytes = rest;
    }
}

fn gather(from: &[IoSlice<'_>], pages: &mut [u8]) {
    let mut at = 0;
    for slice in from {
        pages[at..at + slice.len()].copy_from_slice(slice);
        at += slice.len();
    }
}

/// Whole pages of memory. Those of small requests stay with the thread.
fn with_pages<T>(length: usize, use_them: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static KEPT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    if length > KEPT_MOST {
        return use_them(pages_of(&mut Vec::new(), length));
    }
    KEPT.with_borrow_mut(|kept| use_them(pages_of(kept, length)))
}

fn pages_of(memory: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if memory.len() < length + PAGE {
        memory.resize(length + PAGE, 0);
    }
    let start = memory.as_ptr().align_offset(PAGE);
    &mut memory[start..start + length]
}

/// What every file system takes that takes anything.
const PAGE: usize = 4096;
/// With many threads, larger ones would add up.
const KEPT_MOST: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn opened() -> (tempfile::TempDir, File, Direct) {
        let directory = tempfile::tempdir_in(".").expect("a directory");
        let path = directory.path().join("file");
        let options = File::options().read(true).write(true).create_new(true).open(&path);
        let file = options.expect("a file");
        let fd: OwnedFd = file.try_clone().expect("a descriptor").into();
        let direct = Direct::open(&fd).expect("a file system with O_DIRECT");
        (directory, file, direct)
    }

    #[test]
    fn whole_pages_go_around_the_cache_from_whatever_memory() {
        let (_directory, file, direct) = opened();
        let bytes: Vec<u8> = (0..3 * PAGE).map(|at| (at % 251) as u8).collect();
        let odd = [IoSlice::new(&bytes[..100]), IoSlice::new(&bytes[100..])];
        assert_eq!(direct.write(&odd, PAGE as i64), Some(Ok(bytes.len())));
        let mut read = vec![0; bytes.len()];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, PAGE as u64).expect("bytes");
        assert_eq!(read, bytes);
        let (mut left, mut right) = (vec![0; 5], vec![0; 4 * PAGE - 5]);
        let into = &mut [IoSliceMut::new(&mut left), IoSliceMut::new(&mut right)];
        // One page more than there is.
        assert_eq!(direct.read(into, PAGE as i64), Some(Ok(bytes.len())));
        assert_eq!([&left[..], &right[..bytes.len() - 5]].concat(), bytes);
    }

    #[test]
    fn parts_of_pages_do_not() {
        let (_directory, _file, direct) = opened();
        let bytes = vec![1; PAGE];
        assert_eq!(direct.write(&[IoSlice::new(&bytes[..512])], 0), None);
        assert_eq!(direct.write(&[IoSlice::new(&bytes)], 512), None);
        assert_eq!(direct.write(&[], 0), None);
        let mut into = vec![0; PAGE - 1];
        assert_eq!(direct.read(&mut [IoSliceMut::new(&mut into)], 0), None);
    }

    #[test]
    fn who_refuses_is_not_asked_again() {
        let (_directory, _file, direct) = opened();
        assert_eq!(direct.unless_refused(Err(Errno::EIO)), Some(Err(Errno::EIO)));
        assert_eq!(direct.unless_refused(Err(Errno::EINVAL)), None);
        assert_eq!(direct.write(&[IoSlice::new(&vec![1; PAGE])], 0), None);
    }
}
