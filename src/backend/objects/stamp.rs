//! The epoch of an object, kept in an extended attribute of its file.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use iofwd_mount::Errno;

/// The epoch of a file; 0 if it has seen none.
pub(super) fn read(file: &File) -> Result<u64, Errno> {
    let mut bytes = [0u8; 8];
    let (data, length) = (bytes.as_mut_ptr().cast(), bytes.len());
    // SAFETY: a valid C string, and a buffer as long as said.
    let result = unsafe { libc::fgetxattr(file.as_raw_fd(), NAME.as_ptr(), data, length) };
    match result {
        8 => Ok(u64::from_le_bytes(bytes)),
        0.. => Err(Errno::EIO),
        _ if Errno::last().raw() == libc::ENODATA => Ok(0),
        _ => Err(Errno::last()),
    }
}

/// From now on the file has seen that epoch.
pub(super) fn write(file: &File, epoch: u64) -> Result<(), Errno> {
    let bytes = epoch.to_le_bytes();
    let (data, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: a valid C string, and a value as long as said.
    let result = unsafe { libc::fsetxattr(file.as_raw_fd(), NAME.as_ptr(), data, length, 0) };
    if result < 0 { Err(Errno::last()) } else { Ok(()) }
}

/// Whether files in this directory can have an epoch.
pub(super) fn check(root: &Path) -> Result<(), Errno> {
    let place = root.join("probe");
    let checked = File::create(&place).map_err(Errno::from).and_then(|file| write(&file, 1));
    std::fs::remove_file(&place)?;
    checked
}

const NAME: &std::ffi::CStr = c"user.iofwd.epoch";
