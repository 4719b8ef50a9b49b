//! The device of FUSE, open to all users while somebody needs it to be, as distributions have it; a
//! bare machine often has not.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;

/// Open to all until it is dropped.
pub(crate) struct OpenDevice {
    before: fs::Permissions,
}

impl OpenDevice {
    pub(crate) fn to_all() -> Result<Self, String> {
        let failed = |e: io::Error| format!("{DEVICE}: {e}");
        let before = fs::metadata(DEVICE).map_err(failed)?.permissions();
        fs::set_permissions(DEVICE, fs::Permissions::from_mode(0o666)).map_err(failed)?;
        Ok(Self { before })
    }
}

impl Drop for OpenDevice {
    fn drop(&mut self) {
        // It was possible before; and open to all is no harm.
        let _ = fs::set_permissions(DEVICE, self.before.clone());
    }
}

const DEVICE: &str = "/dev/fuse";
