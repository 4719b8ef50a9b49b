//! The directory that a test mounts, and one beside it to compare with.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

/// Both are removed with the last mount or agent that uses them.
#[derive(Clone)]
pub(crate) struct Ground {
    backing: PathBuf,
    plain: PathBuf,
    _room: Arc<TempDir>,
}

impl Ground {
    /// Two empty directories on one file system.
    pub(crate) fn new() -> Self {
        let room = room();
        let [backing, plain] = ["backing", "plain"].map(|name| directory(&room, name));
        Self { backing, plain, _room: Arc::new(room) }
    }

    /// A directory that is there, and an empty one.
    pub(crate) fn over(backing: &Path) -> Self {
        let room = room();
        let plain = directory(&room, "plain");
        Self { backing: backing.to_owned(), plain, _room: Arc::new(room) }
    }

    /// What is mounted.
    pub(crate) fn backing(&self) -> &Path {
        &self.backing
    }

    /// What is not.
    pub(crate) fn plain(&self) -> &Path {
        &self.plain
    }
}

/// A place for the files of one process.
pub(super) fn room() -> TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

/// A new directory in it.
pub(super) fn directory(room: &TempDir, name: &str) -> PathBuf {
    let path = room.path().join(name);
    fs::create_dir(&path).expect("a directory can be made in a new one");
    path
}
