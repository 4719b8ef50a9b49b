//! Every regular file of a tree, once for each of its names.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use iofwd_mount::Errno;

use crate::backend::posix::{Directory, Inode};

/// Call `visit` with every file below a directory. Names that vanish meanwhile are passed over.
pub(super) fn each_file(
    root: &Arc<Inode>,
    visit: &mut dyn FnMut(&Arc<Inode>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut directories = vec![Arc::clone(root)];
    while let Some(directory) = directories.pop() {
        for name in names(&directory)? {
            let inode = match directory.lookup(&name).and_then(|found| found.open()) {
                Err(errno) if matches!(errno.raw(), libc::ENOENT | libc::ESTALE) => continue,
                inode => inode?,
            };
            if inode.is_file() {
                visit(&inode)?;
            } else if inode.is_directory() {
                directories.push(inode);
            }
        }
    }
    Ok(())
}

fn names(directory: &Inode) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    Directory::open(directory, libc::O_RDONLY)?.list(0, |entry| {
        if !matches!(entry.name, b"." | b"..") {
            names.push(OsString::from_vec(entry.name.to_vec()));
        }
        true
    })?;
    Ok(names)
}
