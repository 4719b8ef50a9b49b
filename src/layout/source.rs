//! An open file, as far as it is asked for its layout: extended attributes and control operations.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::Engine;
use super::bytes::MOST;

/// What can be asked. Whatever the reason, no answer means that the file system is another one.
pub trait Source {
    /// The value of an extended attribute.
    fn attribute(&self, name: &CStr) -> Option<Vec<u8>>;

    /// A control operation whose number says that `data` is as long as it is.
    fn control(&self, command: u32, data: &mut [u8]) -> Option<()>;

    /// What the type of the file system makes probable, though this file may have no layout yet.
    fn hint(&self) -> Option<Engine>;
}

/// An open file of this process.
#[derive(Debug)]
pub struct Descriptor<'f>(pub BorrowedFd<'f>);

impl Source for Descriptor<'_> {
    fn attribute(&self, name: &CStr) -> Option<Vec<u8>> {
        let mut value = vec![0u8; USUAL];
        loop {
            let fd = self.0.as_raw_fd();
            // SAFETY: the name ends with a NUL and the buffer is as long as is said.
            let length = unsafe {
                libc::fgetxattr(fd, name.as_ptr(), value.as_mut_ptr().cast(), value.len())
            };
            if let Ok(length) = usize::try_from(length) {
                value.truncate(length);
                return Some(value);
            }
            let too_small = nix::errno::Errno::last() == nix::errno::Errno::ERANGE;
            if !too_small || value.len() >= MOST {
                return None;
            }
            value.resize(MOST, 0);
        }
    }

    fn control(&self, command: u32, data: &mut [u8]) -> Option<()> {
        // SAFETY: callers pass commands whose number says how long the buffer is.
        let result = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::c_ulong::from(command), data.as_mut_ptr())
        };
        (result >= 0).then_some(())
    }

    fn hint(&self) -> Option<Engine> {
        let found = nix::sys::statfs::fstatfs(self.0).ok()?;
        match found.filesystem_type().0 as u32 {
            0x00c3_6400 => Some(Engine::Ceph),
            0x0bd0_0bd0 => Some(Engine::Lustre),
            0x2003_0528 => Some(Engine::Pvfs),
            0x1983_0326 => Some(Engine::BeeGfs),
            _ => None,
        }
    }
}

/// Bytes that nearly every layout fits into.
const USUAL: usize = 4 << 10;
