//! Stripe objects in a directory of a local file system: one plain file for all stripes that this
//! server has of one file, holes and all.
//!
//! Every object remembers the last epoch that it has seen, on disk: what comes from an earlier one was
//! overtaken by a truncation, and is refused.

mod listing;
mod object;
mod stamp;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dashmap::DashMap;

use iofwd_mount::Errno;
use iofwd_mount::store::Statfs;

use object::Object;

pub use listing::Listed;

/// The name of an object.
pub type Key = [u8; 16];

/// All objects of a server.
#[derive(Debug)]
pub struct Objects {
    root: PathBuf,
    /// Those in use, or used not long ago. There is one of each at a time, so that its lock is one.
    open: DashMap<Key, Arc<Object>>,
}

impl Objects {
    /// The objects in a directory, which is made if it is not there.
    pub fn open(root: &Path) -> Result<Objects, Errno> {
        for first in 0..=u8::MAX {
            let folder = root.join(format!("{first:02x}"));
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        stamp::check(root)?;
        Ok(Objects { root: root.to_owned(), open: DashMap::new() })
    }

    /// Read; short where the object ends.
    pub fn read(&self, key: Key, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.object(key).read(offset, into)
    }

    /// Write all of it. `ESTALE` if the object has seen a later epoch.
    pub fn write(&self, key: Key, epoch: u64, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.object(key).write(epoch, offset, data)
    }

    /// Leave nothing beyond a size, unless the object has seen a later epoch.
    pub fn cut(&self, key: Key, epoch: u64, size: u64) -> Result<(), Errno> {
        self.object(key).cut(epoch, size)
    }

    /// Allocate, punch or zero a range, with the modes of `fallocate`.
    pub fn allocate(
        &self,
        key: Key,
        epoch: u64,
        mode: i32,
        range: (u64, u64),
    ) -> Result<(), Errno> {
        self.object(key).allocate(epoch, mode, range)
    }

    /// The next data from an offset on (`ENXIO` if there are none), or the next hole.
    pub fn seek(&self, key: Key, offset: u64, hole: bool) -> Result<u64, Errno> {
        self.object(key).seek(offset, hole)
    }

    /// Make an object durable.
    pub fn sync(&self, key: Key, data_only: bool) -> Result<(), Errno> {
        self.object(key).sync(data_only)
    }

    /// Make all of them durable.
    pub fn sync_all(&self) -> Result<(), Errno> {
        let root = fs::File::open(&self.root)?;
        Ok(nix::unistd::syncfs(&root)?)
    }

    /// An object is no more; it may not have been.
    pub fn remove(&self, key: Key) -> Result<(), Errno> {
        self.object(key).remove()?;
        self.open.remove(&key);
        Ok(())
    }

    /// The objects behind this one in the order of their names, some at a time; none at the end.
    pub fn list(&self, after: Option<Key>) -> Result<Vec<Listed>, Errno> {
        listing::list(&self.root, after)
    }

    /// The state of the file system that holds them.
    pub fn statfs(&self) -> Result<Statfs, Errno> {
        let stat = nix::sys::statvfs::statvfs(&self.root)?;
        Ok(Statfs {
            blocks: stat.blocks(),
            free: stat.blocks_free(),
            available: stat.blocks_available(),
            files: stat.files(),
            files_free: stat.files_free(),
            block_size: stat.block_size() as u32,
            name_max: stat.name_max() as u32,
            fragment: stat.fragment_size() as u32,
        })
    }

    fn object(&self, key: Key) -> Arc<Object> {
        if let Some(object) = self.open.get(&key) {
            return Arc::clone(&object);
        }
        if self.open.len() >= OPEN_MOST {
            // Whoever uses one holds it, and nobody can begin to while it is looked at here.
            self.open.retain(|_, object| Arc::strong_count(object) > 1);
        }
        let fresh = || Arc::new(Object::new(listing::place(&self.root, key)));
        Arc::clone(&self.open.entry(key).or_insert_with(fresh))
    }
}

/// Objects that are kept open though nobody uses them just now.
const OPEN_MOST: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [3; 16];

    fn objects() -> (tempfile::TempDir, Objects) {
        let room = tempfile::tempdir().expect("a directory");
        let objects = Objects::open(room.path()).expect("objects in it");
        (room, objects)
    }

    #[test]
    fn what_was_written_is_read_and_holes_are_zero() {
        let (_room, objects) = objects();
        objects.write(KEY, 1, 10, b"abc").expect("written");
        let mut into = [9; 20];
        assert_eq!(objects.read(KEY, 8, &mut into), Ok(5));
        assert_eq!(&into[..5], b"\0\0abc");
        assert_eq!(objects.read([4; 16], 0, &mut into), Ok(0), "one that is not there is empty");
    }

    #[test]
    fn what_was_overtaken_by_a_cut_is_refused_even_after_a_restart() {
        let (room, objects) = objects();
        objects.write(KEY, 1, 0, b"abcdef").expect("written");
        objects.cut(KEY, 2, 3).expect("cut");
        assert_eq!(objects.write(KEY, 1, 3, b"late"), Err(Errno::ESTALE));
        let again = Objects::open(room.path()).expect("the same objects");
        assert_eq!(again.write(KEY, 1, 3, b"late"), Err(Errno::ESTALE));
        again.write(KEY, 3, 3, b"new").expect("of a later epoch");
        again.cut(KEY, 2, 0).expect("an old cut is no error");
        let mut into = [0; 9];
        assert_eq!(again.read(KEY, 0, &mut into), Ok(6), "but does nothing");
        assert_eq!(&into[..6], b"abcnew");
    }

    #[test]
    fn data_and_holes_are_found() {
        let (_room, objects) = objects();
        objects.write(KEY, 1, 1 << 20, b"abc").expect("written");
        assert_eq!(objects.seek(KEY, 0, false), Ok(1 << 20));
        assert_eq!(objects.seek(KEY, 0, true), Ok(0));
        assert_eq!(objects.seek(KEY, 2 << 20, false).map_err(Errno::raw), Err(libc::ENXIO));
        assert_eq!(objects.seek(KEY, 2 << 20, true), Ok(2 << 20));
    }

    #[test]
    fn all_are_listed_once_and_removed_ones_are_not() {
        let (_room, objects) = objects();
        let key = |n: u16| {
            let mut key = [0; 16];
            key[..2].copy_from_slice(&(n * 31).to_be_bytes());
            key
        };
        for n in 0..1_500 {
            objects.write(key(n), 1, 0, b"x").expect("written");
        }
        objects.remove(key(700)).expect("removed");
        objects.remove(key(700)).expect("it is gone");
        let mut seen: Vec<Key> = Vec::new();
        loop {
            let listed = objects.list(seen.last().copied()).expect("a list");
            if listed.is_empty() {
                break;
            }
            assert!(listed.iter().all(|object| object.size == 1));
            seen.extend(listed.iter().map(|object| object.key));
        }
        let expected: Vec<Key> = (0..1_500).filter(|n| *n != 700).map(key).collect();
        assert_eq!(seen, expected);
    }
}
