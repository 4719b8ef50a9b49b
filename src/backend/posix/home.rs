//! The file system of the exported directory, known by a name that outlives device numbers.
//!
//! Which number a device has is decided anew when it is mounted, and on every node for itself. What
//! clients and agents remember of a file must mean the same file after a restart of the node, and at
//! another agent over the same file system.

use std::os::fd::AsFd;

use iofwd_mount::Errno;

use super::inode::Key;
use super::system;

/// The file system of the exported directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// Major and minor number of its device, just now.
    device: (u32, u32),
    /// What stands for that device in keys.
    name: (u32, u32),
}

impl Home {
    /// That of an open directory. Where it does not say who it is, its device has to do.
    pub(super) fn of(directory: &impl AsFd) -> Result<Home, Errno> {
        let device = device_of(&system::statx(directory, c"")?);
        let uuid = system::file_system_uuid(directory).map(|uuid| {
            let [low, high] =
                [0, 8].map(|at| u64::from_le_bytes(*uuid[at..].first_chunk().expect("16 bytes")));
            low ^ high.rotate_left(32)
        });
        let said = uuid.or_else(|_| system::statvfs(directory).map(|stat| stat.f_fsid));
        let name = said.ok().filter(|name| *name != 0).map_or(device, named);
        Ok(Home { device, name })
    }

    /// Which inode that is.
    pub(super) fn key_of(self, stat: &libc::statx) -> Key {
        let device = device_of(stat);
        let device = if device == self.device { self.name } else { device };
        Key { device, number: stat.stx_ino }
    }

    /// Whether the inode is of this file system, and not of one that is mounted below it.
    pub(super) fn has(self, key: Key) -> bool {
        key.device == self.name
    }

    /// Whether these are attributes of one of its inodes.
    pub(super) fn is_home_of(self, stat: &libc::statx) -> bool {
        device_of(stat) == self.device
    }
}

pub(super) fn device_of(stat: &libc::statx) -> (u32, u32) {
    (stat.stx_dev_major, stat.stx_dev_minor)
}

/// No device has a major number that large.
fn named(said: u64) -> (u32, u32) {
    ((said >> 32) as u32 | 1 << 31, said as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn stat(device: (u32, u32)) -> libc::statx {
        let directory = tempfile::tempdir().unwrap();
        let mut stat = system::statx(&File::open(directory.path()).unwrap(), c"").unwrap();
        (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino) = (device.0, device.1, 12);
        stat
    }

    #[test]
    fn an_inode_is_the_same_though_its_device_has_another_number() {
        let before = Home { device: (7, 3), name: named(99) };
        let after = Home { device: (7, 5), ..before };
        let key = before.key_of(&stat((7, 3)));
        assert_eq!(after.key_of(&stat((7, 5))), key);
        assert!(after.has(key) && after.is_home_of(&stat((7, 5))));
    }

    #[test]
    fn an_inode_of_what_is_mounted_below_is_another() {
        let home = Home { device: (7, 3), name: named(99) };
        let below = home.key_of(&stat((7, 4)));
        assert_eq!(below, Key { device: (7, 4), number: 12 });
        assert!(!home.has(below) && !home.is_home_of(&stat((7, 4))));
        assert_ne!(named(7 << 32 | 3), (7, 3), "no device is taken for a name");
    }

    #[test]
    fn every_directory_of_a_file_system_has_the_same_home() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("below");
        std::fs::create_dir(&below).unwrap();
        let [one, other] =
            [directory.path(), &below].map(|path| Home::of(&File::open(path).unwrap()));
        assert_eq!(one.unwrap(), other.unwrap());
    }
}
