//! An open directory: lists names from any offset on, as often as asked.

use std::os::fd::OwnedFd;

use iofwd_mount::Errno;
use iofwd_mount::reply::Dirent;
use iofwd_mount::store::Controlled;

use super::file;
use super::inode::Inode;
use super::system;

/// An open directory of the backing. Offsets are the backing's own, so they stay good while names
/// come and go, for as long as the backing's do.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    /// Entries read ahead, as the kernel lays them.
    buffer: Vec<u8>,
    /// The part of the buffer that was not handed out yet.
    rest: std::ops::Range<usize>,
    /// The offset at which the rest begins.
    offset: u64,
}

impl Directory {
    /// Open a node as the identity this thread acts under.
    pub fn open(inode: &Inode, flags: i32) -> Result<Directory, Errno> {
        let flags = (flags & libc::O_ACCMODE) | libc::O_DIRECTORY;
        let fd = system::reopen(&*inode.descriptor()?, flags)?;
        Ok(Directory { fd, buffer: Vec::new(), rest: 0..0, offset: 0 })
    }

    /// Hand the entries from `offset` on to `take` until it refuses one or none are left.
    pub fn list(
        &mut self,
        offset: u64,
        mut take: impl FnMut(&Dirent<'_>) -> bool,
    ) -> Result<(), Errno> {
        // What was read ahead is good only if the listing simply goes on.
        if offset != self.offset || offset == 0 {
            system::lseek(&self.fd, offset as i64, libc::SEEK_SET)?;
            self.rest = 0..0;
            self.offset = offset;
        }
        loop {
            while let Some((dirent, size)) = parse(&self.buffer[self.rest.clone()]) {
                if !take(&dirent) {
                    return Ok(());
                }
                self.offset = dirent.offset;
                self.rest.start += size;
            }
            if self.fill()? == 0 {
                return Ok(());
            }
        }
    }

    fn fill(&mut self) -> Result<usize, Errno> {
        self.buffer.resize(READ_AHEAD, 0);
        let count = system::getdents(&self.fd, &mut self.buffer)?;
        self.rest = 0..count;
        Ok(count)
    }

    /// Make the names durable.
    pub fn sync(&self, data_only: bool) -> Result<(), Errno> {
        system::fsync(&self.fd, data_only)
    }

    /// A control operation.
    pub fn control(&self, command: u32, argument: &[u8], room: usize) -> Result<Controlled, Errno> {
        file::control(&self.fd, command, argument, room)
    }
}

/// One entry of `getdents64`, and how many bytes it takes.
fn parse(bytes: &[u8]) -> Option<(Dirent<'_>, usize)> {
    let inode = u64::from_ne_bytes(*bytes.first_chunk()?);
    let offset = u64::from_ne_bytes(*bytes.get(8..)?.first_chunk()?);
    let size = usize::from(u16::from_ne_bytes(*bytes.get(16..)?.first_chunk()?));
    let kind = *bytes.get(18)?;
    let name = bytes.get(19..size)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    Some((Dirent { inode, offset, kind, name: &name[..end] }, size))
}

const READ_AHEAD: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_taken_apart_and_a_cut_one_is_none() {
        let mut bytes = Vec::new();
        bytes.extend(42u64.to_ne_bytes());
        bytes.extend(7u64.to_ne_bytes());
        bytes.extend(24u16.to_ne_bytes());
        bytes.push(libc::DT_REG);
        bytes.extend(b"name\0");
        let (dirent, size) = parse(&bytes).expect("an entry");
        assert_eq!((dirent.inode, dirent.offset, dirent.name, size), (42, 7, &b"name"[..], 24));
        for cut in 0..bytes.len() {
            assert!(parse(&bytes[..cut]).is_none());
        }
    }
}
