//! An empty directory, and an empty mountpoint to mount it at.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::program::Cache;
use crate::site::Site;

/// Where one judge works.
pub(crate) struct Area {
    pub(crate) backing: PathBuf,
    pub(crate) point: PathBuf,
    /// For what lies beside the mount: settings, copies to compare with.
    pub(crate) beside: PathBuf,
}

impl Area {
    /// On the disk.
    pub(crate) fn new(site: &Site, name: &str) -> Result<Self, String> {
        Self::below(&site.room, name)
    }

    /// In memory.
    pub(crate) fn in_memory(site: &Site, name: &str) -> Result<Self, String> {
        Self::below(site.memory()?, name)
    }

    /// On the disk, for a mount in a cache mode.
    pub(crate) fn for_mode(site: &Site, name: &str, cache: Cache) -> Result<Self, String> {
        Self::new(site, &format!("{name}-{}", cache.name()))
    }

    fn below(room: &Path, name: &str) -> Result<Self, String> {
        let base = room.join(name);
        let make = |part: &str| {
            let path = base.join(part);
            fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, open).map_err(|e| format!("{}: {e}", path.display()))?;
            Ok::<_, String>(path)
        };
        Ok(Self { backing: make("backing")?, point: make("mount")?, beside: make("beside")? })
    }

    /// Gives the space back before the end of the run.
    pub(crate) fn clear(self) {
        if let Some(base) = self.backing.parent() {
            let _ = fs::remove_dir_all(base);
        }
    }
}
