//! Extended attributes of a file itself, never of what a symbolic link names.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;

pub(crate) fn set(path: &Path, name: &str, value: &[u8], flags: i32) -> Result<(), Errno> {
    let (path, name) = (text(path.as_os_str()), text(OsStr::new(name)));
    let (start, length) = (value.as_ptr().cast(), value.len());
    // SAFETY: all three are ours, and the value is as long as said.
    let set = unsafe { libc::lsetxattr(path.as_ptr(), name.as_ptr(), start, length, flags) };
    Errno::result(set).map(drop)
}

pub(crate) fn get(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let (path, name) = (text(path.as_os_str()), text(OsStr::new(name)));
    let mut value = vec![0u8; LARGEST];
    let start = value.as_mut_ptr().cast();
    // SAFETY: the buffer is ours and as long as said.
    let got = unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), start, LARGEST) };
    value.truncate(length(got)?);
    Ok(value)
}

pub(crate) fn remove(path: &Path, name: &str) -> Result<(), Errno> {
    let (path, name) = (text(path.as_os_str()), text(OsStr::new(name)));
    // SAFETY: both are ours and end with zero.
    Errno::result(unsafe { libc::lremovexattr(path.as_ptr(), name.as_ptr()) }).map(drop)
}

/// The names, in order.
pub(crate) fn list(path: &Path) -> Result<Vec<String>, Errno> {
    let path = text(path.as_os_str());
    let mut names = vec![0u8; LARGEST];
    // SAFETY: the buffer is ours and as long as said.
    let got = unsafe { libc::llistxattr(path.as_ptr(), names.as_mut_ptr().cast(), LARGEST) };
    names.truncate(length(got)?);
    let each = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut names: Vec<_> = each.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    names.sort_unstable();
    Ok(names)
}

fn length(result: isize) -> Result<usize, Errno> {
    Errno::result(result).map(|length| usize::try_from(length).unwrap_or(0))
}

fn text(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).expect("no name of these tests holds a zero byte")
}

const LARGEST: usize = 64 * 1024;
