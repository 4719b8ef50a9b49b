//! Files that are gone, or about to be, and whose objects are not: written down before the last name is
//! removed, so that nothing is forgotten whenever this server, or an agent, dies.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iofwd_mount::Errno;

use crate::backend::posix::Inode;
use crate::wire::stripe::{ObjectId, Stripes};

use super::{record, walk};

/// Their list: a directory with a file for each.
#[derive(Debug)]
pub(super) struct Orphans {
    directory: PathBuf,
    /// Those that are gone for good; agents may have their objects removed.
    free: Mutex<BTreeMap<ObjectId, Stripes>>,
}

impl Orphans {
    /// The list as it was left. Of those whose end nobody saw it is looked whether they are gone: from
    /// among the names, and from among those that were open without one and may be opened again.
    pub(super) fn open(
        directory: &Path,
        names: &Arc<Inode>,
        nameless: Option<&Arc<Inode>>,
    ) -> Result<Orphans, Errno> {
        fs::create_dir_all(directory)?;
        let orphans = Orphans { directory: directory.to_owned(), free: Mutex::default() };
        let mut noted = orphans.noted()?;
        if noted.is_empty() {
            return Ok(orphans);
        }
        for object in objects_below(names)? {
            if noted.remove(&object).is_some() {
                orphans.forget(object)?;
            }
        }
        for object in nameless.map_or(Ok(HashSet::new()), objects_below)? {
            noted.remove(&object);
        }
        tracing::info!(files = noted.len(), "files are gone whose objects are not");
        *orphans.free() = noted;
        Ok(orphans)
    }

    fn noted(&self) -> Result<BTreeMap<ObjectId, Stripes>, Errno> {
        let mut noted = BTreeMap::new();
        for entry in fs::read_dir(&self.directory)? {
            let bytes = fs::read(entry?.path())?;
            // Half a note is of a file that has all its names still.
            if let Ok(stripes) = postcard::from_bytes::<Stripes>(&bytes) {
                noted.insert(stripes.object, stripes);
            }
        }
        Ok(noted)
    }

    /// A file is about to lose its last name.
    pub(super) fn note(&self, stripes: &Stripes) {
        let bytes = postcard::to_stdvec(stripes).unwrap_or_default();
        if let Err(error) = fs::write(self.place(stripes.object), bytes) {
            // On a full disk files must be removable all the same.
            tracing::warn!(%error, "a file that goes is not noted: iofwd check finds its objects");
        }
    }

    /// It goes on living.
    pub(super) fn forget(&self, object: ObjectId) -> Result<(), Errno> {
        match fs::remove_file(self.place(object)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// It is gone for good.
    pub(super) fn release(&self, stripes: Stripes) {
        self.free().insert(stripes.object, stripes);
    }

    /// Some of those whose objects can be removed.
    pub(super) fn some(&self) -> Vec<Stripes> {
        self.free().values().take(SOME).cloned().collect()
    }

    /// The objects of one are removed.
    pub(super) fn freed(&self, object: ObjectId) -> Result<(), Errno> {
        if self.free().remove(&object).is_some() { self.forget(object) } else { Ok(()) }
    }

    fn place(&self, object: ObjectId) -> PathBuf {
        self.directory.join(object.to_string())
    }

    fn free(&self) -> MutexGuard<'_, BTreeMap<ObjectId, Stripes>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The objects of all files of a tree.
fn objects_below(root: &Arc<Inode>) -> Result<HashSet<ObjectId>, Errno> {
    let mut objects = HashSet::new();
    walk::each_file(root, &mut |inode| {
        objects.extend(record::load(inode)?.map(|stripes| stripes.object));
        Ok(())
    })?;
    Ok(objects)
}

/// So many are told at a time.
const SOME: usize = 256;
