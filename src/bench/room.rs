//! The one directory that a benchmark makes where it was told to work, and removes afterwards.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::plan::Plan;

/// The directory; gone when this is dropped, unless it is to be kept.
#[derive(Debug)]
pub(super) struct Room {
    directory: PathBuf,
    keep: bool,
}

impl Room {
    /// Makes the directory in the one that gets the load.
    pub(super) fn make(plan: &Plan) -> Result<Room, String> {
        let place = plan.path.display();
        let path = plan.path.canonicalize().map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return format!("there is no directory {place}: make one first (mkdir)");
            }
            format!("cannot use {place}: {error}")
        })?;
        if !path.is_dir() {
            return Err(format!("{place} is not a directory: name the directory to work in"));
        }
        if plan.reuse {
            return Ok(Room { directory: path, keep: true });
        }
        let directory = path.join(format!("iofwd-bench-{}", std::process::id()));
        fs::create_dir(&directory).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                return format!("{} is left from an earlier run: remove it", directory.display());
            }
            format!("cannot make {}: {error}", directory.display())
        })?;
        Ok(Room { directory, keep: plan.keep })
    }

    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// The directory by way of each mount that there is.
    pub(super) fn ways(&self, plan: &Plan) -> Result<Vec<PathBuf>, String> {
        let below = match self.directory.file_name() {
            Some(name) if !plan.reuse => PathBuf::from(name),
            _ => PathBuf::new(),
        };
        let mut ways = vec![self.directory.clone()];
        for other in &plan.also {
            let way = other.join(&below);
            if !way.is_dir() {
                return Err(format!(
                    "{} is no other mount of {}: what is made there is not seen here",
                    other.display(),
                    plan.path.display()
                ));
            }
            ways.push(way);
        }
        Ok(ways)
    }

    /// Removes files, so that the next run begins like the first, except those to be kept.
    pub(super) fn clear(&self, is_kept: impl Fn(&OsStr) -> bool) -> Result<(), String> {
        let explain =
            |error| format!("cannot remove files in {}: {error}", self.directory.display());
        for entry in fs::read_dir(&self.directory).map_err(explain)? {
            let entry = entry.map_err(explain)?;
            if !is_kept(&entry.file_name()) {
                fs::remove_file(entry.path()).map_err(explain)?;
            }
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.keep {
            // Whoever drops it may be failing already; that reason is the one to be told.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Work;
    use super::super::plan::tests::{application, plan};
    use super::*;

    #[test]
    fn a_room_is_made_cleared_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let mut plan = plan(vec![application("A", Work::Write)]);
        plan.path = place.path().into();
        let room = Room::make(&plan).unwrap();
        fs::write(room.path().join("A.shared"), "x").unwrap();
        room.clear(|name| name == "A.shared").unwrap();
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 1);
        room.clear(|_| false).unwrap();
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0);
        assert!(Room::make(&plan).unwrap_err().contains("remove it"));
        drop(room);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        plan.keep = true;
        drop(Room::make(&plan).unwrap());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn other_mounts_must_show_the_same_directory() {
        let place = tempfile::tempdir().unwrap();
        let mut plan = plan(vec![application("A", Work::Read)]);
        plan.path = place.path().into();
        plan.also = vec![place.path().into()];
        let room = Room::make(&plan).unwrap();
        assert_eq!(room.ways(&plan).unwrap(), [room.path(), room.path()]);
        plan.also = vec!["/proc".into()];
        assert!(room.ways(&plan).unwrap_err().contains("/proc is no other mount"));
    }

    #[test]
    fn what_was_left_is_used_again_and_stays() {
        let place = tempfile::tempdir().unwrap();
        let mut plan = plan(vec![application("A", Work::Read)]);
        (plan.path, plan.reuse) = (place.path().into(), true);
        let room = Room::make(&plan).unwrap();
        assert_eq!(room.ways(&plan).unwrap(), [place.path().canonicalize().unwrap()]);
        drop(room);
        assert!(place.path().is_dir());
    }

    #[test]
    fn wrong_places_are_named() {
        let mut plan = plan(vec![application("A", Work::Write)]);
        plan.path = "/no/such/place".into();
        assert!(Room::make(&plan).unwrap_err().contains("mkdir"));
        plan.path = "/proc/self/status".into();
        assert!(Room::make(&plan).unwrap_err().contains("not a directory"));
    }
}
