//! What is being done to names and ends of files, written down before it is: whoever comes after an
//! agent that died in between can look whether it was done.
//!
//! A name, or the end of a file, belongs to one agent at a time while it is changed. So what is found
//! there when an agent died was done by that agent, or before; only programs that use the directory
//! without an agent can make it look otherwise.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::fcntl::{FcntlArg, fcntl};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use iofwd_mount::Errno;

use crate::backend::posix::Key;

use super::verdict::Identified;
use super::{SessionName, private};

/// A name in a directory, or the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spot([u8; 16]);

impl Spot {
    /// That name in that directory.
    pub(crate) fn name(directory: Key, name: &[u8]) -> Spot {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(directory.device.0.to_le_bytes())
            .chain_update(directory.device.1.to_le_bytes())
            .chain_update(directory.number.to_le_bytes())
            .chain_update(name)
            .finalize()
            .into();
        let mut spot = [0; 16];
        spot.copy_from_slice(&digest[..16]);
        Spot(spot)
    }

    /// The end of that file.
    pub(crate) fn end(file: Key) -> Spot {
        // No name is empty.
        Spot::name(file, &[])
    }

    fn stripe(self) -> usize {
        usize::from(self.0[0]) % STRIPES
    }
}

/// A change, and how it was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Deed {
    /// Give the name, which is free, to something.
    Make(Spot),
    /// Take the name from what has it.
    Remove(Spot, Identified),
    /// Give the second name to what has the first one.
    Rename(Spot, Spot, Identified),
    /// Write so many bytes, which begin with these, behind the end, which is here.
    Append { end: Spot, size: u64, length: u32, first: Vec<u8> },
    /// Take bytes out of the middle, or put some in; the end is here.
    Shift { end: Spot, size: u64 },
    /// Let a file whose bytes are elsewhere end here, of which they must learn: under that epoch they
    /// have not.
    Shrink { end: Spot, size: u64, epoch: u64 },
}

impl Deed {
    fn spots(&self) -> [Option<Spot>; 2] {
        match self {
            Deed::Make(spot)
            | Deed::Remove(spot, _)
            | Deed::Append { end: spot, .. }
            | Deed::Shift { end: spot, .. }
            | Deed::Shrink { end: spot, .. } => [Some(*spot), None],
            Deed::Rename(from, to, _) => [Some(*from), Some(*to)],
        }
    }
}

/// A change, and on whose behalf it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) session: SessionName,
    pub(crate) place: u16,
    pub(crate) id: u64,
    pub(crate) deed: Deed,
}

/// What all agents of a directory are about to do.
#[derive(Debug)]
pub(crate) struct Names {
    file: File,
    /// Threads of this process exclude each other here, processes by locks on the file.
    stripes: Vec<Mutex<()>>,
}

/// Some names, held by this thread.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    names: &'a Names,
    pages: Vec<Page<'a>>,
}

#[derive(Debug)]
struct Page<'a> {
    stripe: usize,
    left: Vec<Intent>,
    _guard: MutexGuard<'a, ()>,
}

impl Names {
    pub(super) fn open(path: &Path) -> io::Result<Names> {
        let file = private(path)?;
        let _ = nix::fcntl::posix_fallocate(&file, 0, (STRIPES * PAGE) as i64);
        Ok(Names { file, stripes: (0..STRIPES).map(|_| Mutex::default()).collect() })
    }

    /// Hold these names, and maybe others, until the answer is dropped.
    pub(crate) fn hold(&self, spots: &[Spot]) -> Result<Held<'_>, Errno> {
        let mut wanted: Vec<usize> = spots.iter().map(|spot| spot.stripe()).collect();
        // Always in the same order, so that two never wait for each other.
        wanted.sort_unstable();
        wanted.dedup();
        let mut held = Held { names: self, pages: Vec::new() };
        for stripe in wanted {
            let guard = self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner);
            self.lock(stripe, libc::F_WRLCK)?;
            held.pages.push(Page { stripe, left: Vec::new(), _guard: guard });
            let left = self.read(stripe)?;
            if let Some(page) = held.pages.last_mut() {
                page.left = left;
            }
        }
        Ok(held)
    }

    fn lock(&self, stripe: usize, kind: i32) -> Result<(), Errno> {
        let range = libc::flock {
            l_type: kind as i16,
            l_whence: libc::SEEK_SET as i16,
            l_start: (stripe * PAGE) as i64,
            l_len: PAGE as i64,
            l_pid: 0,
        };
        loop {
            match fcntl(self.file.as_fd(), FcntlArg::F_OFD_SETLKW(&range)) {
                Err(nix::Error::EINTR) => {}
                Err(errno) => return Err(errno.into()),
                Ok(_) => return Ok(()),
            }
        }
    }

    fn read(&self, stripe: usize) -> Result<Vec<Intent>, Errno> {
        let mut bytes = [0; PAGE];
        let count = self.file.read_at(&mut bytes, (stripe * PAGE) as u64)?;
        let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        if length == 0 || HEAD + length > count {
            return Ok(Vec::new());
        }
        Ok(postcard::from_bytes(&bytes[HEAD..HEAD + length]).unwrap_or_default())
    }

    fn write(&self, stripe: usize, intents: &[Intent]) -> io::Result<()> {
        let mut kept = intents;
        let body = loop {
            let body = if kept.is_empty() {
                Vec::new()
            } else {
                postcard::to_stdvec(kept).map_err(io::Error::other)?
            };
            if HEAD + body.len() <= PAGE {
                break body;
            }
            // Of so many that died the oldest has long been given up.
            kept = &kept[1..];
        };
        let bytes = [&(body.len() as u16).to_le_bytes()[..], &body].concat();
        self.file.write_all_at(&bytes, (stripe * PAGE) as u64)
    }
}

impl Held<'_> {
    /// What agents that died were about to do there. It is forgotten with the next word.
    pub(crate) fn left_behind(&mut self, spot: Spot) -> Vec<Intent> {
        let stripe = spot.stripe();
        let Some(page) = self.pages.iter_mut().find(|page| page.stripe == stripe) else {
            return Vec::new();
        };
        if page.left.is_empty() {
            return Vec::new();
        }
        let about = |intent: &Intent| intent.deed.spots().contains(&Some(spot));
        let (left, others) = std::mem::take(&mut page.left).into_iter().partition(about);
        page.left = others;
        left
    }

    /// Write down what is about to be done.
    pub(crate) fn intend(&mut self, intent: &Intent) -> io::Result<()> {
        let spots = intent.deed.spots();
        let about = |page: &Page<'_>| spots.iter().flatten().any(|s| s.stripe() == page.stripe);
        for page in self.pages.iter().filter(|page| about(page)) {
            let mut all = page.left.clone();
            all.push(intent.clone());
            self.names.write(page.stripe, &all)?;
        }
        Ok(())
    }

    /// It is done, or nothing is to be done: forget it.
    pub(crate) fn forget(&self) -> io::Result<()> {
        self.pages.iter().try_for_each(|page| self.names.write(page.stripe, &page.left))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for page in &self.pages {
            let _ = self.names.lock(page.stripe, libc::F_UNLCK);
        }
    }
}

/// As many names as these can be changed at a time.
const STRIPES: usize = 256;
/// Bytes for the intents of one stripe, and those of their length.
const PAGE: usize = 4096;
const HEAD: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(name: &str) -> Spot {
        Spot::name(Key { device: (8, 1), number: 2 }, name.as_bytes())
    }

    fn intent(id: u64, deed: Deed) -> Intent {
        Intent { session: [9; 16], place: 4, id, deed }
    }

    #[test]
    fn what_was_not_forgotten_is_found_under_each_of_its_names() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("names");
        let moved = Identified::new(Key { device: (8, 1), number: 5 }, None);
        let rename = intent(1, Deed::Rename(spot("a"), spot("b"), moved));
        let names = Names::open(&path).unwrap();
        let mut held = names.hold(&[spot("a"), spot("b")]).unwrap();
        held.intend(&rename).unwrap();
        drop(held);
        // Its agent has died; another one comes.
        let names = Names::open(&path).unwrap();
        for name in ["a", "b"] {
            let mut held = names.hold(&[spot(name)]).unwrap();
            assert_eq!(held.left_behind(spot(name)), std::slice::from_ref(&rename));
            held.forget().unwrap();
        }
        let mut held = names.hold(&[spot("a"), spot("b")]).unwrap();
        assert!(held.left_behind(spot("a")).is_empty() && held.left_behind(spot("b")).is_empty());
    }

    #[test]
    fn others_of_the_same_stripe_stay() {
        let room = tempfile::tempdir().unwrap();
        let names = Names::open(&room.path().join("names")).unwrap();
        let first = spot("0");
        let other = (1..).map(|n: u32| spot(&n.to_string()));
        let other = other.into_iter().find(|spot| spot.stripe() == first.stripe()).unwrap();
        for (id, spot) in [(1, first), (2, other)] {
            let mut held = names.hold(&[spot]).unwrap();
            held.intend(&intent(id, Deed::Make(spot))).unwrap();
        }
        let mut held = names.hold(&[first]).unwrap();
        assert_eq!(held.left_behind(first), [intent(1, Deed::Make(first))]);
        held.forget().unwrap();
        drop(held);
        let mut held = names.hold(&[other]).unwrap();
        assert_eq!(held.left_behind(other), [intent(2, Deed::Make(other))]);
    }

    #[test]
    fn more_than_fit_push_out_the_oldest() {
        let room = tempfile::tempdir().unwrap();
        let names = Names::open(&room.path().join("names")).unwrap();
        for id in 0..300 {
            let mut held = names.hold(&[spot("a")]).unwrap();
            let first = vec![7; 32];
            let append = Deed::Append { end: spot("a"), size: 1 << 40, length: 9, first };
            held.intend(&intent(id, append)).unwrap();
        }
        let left = names.hold(&[spot("a")]).unwrap().left_behind(spot("a"));
        assert_eq!(left.last().map(|intent| intent.id), Some(299));
        assert!(left.len() > 20 && left.len() < 300);
    }
}
