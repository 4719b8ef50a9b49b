//! The stripes of a file, as an extended attribute of it.

use std::ffi::OsStr;

use iofwd_mount::Errno;

use crate::backend::posix::Inode;
use crate::wire::stripe::{ObjectId, Stripes, Wish};

/// Stripes of a new file, as wished. It begins on a server that its name decides, so that files are
/// spread evenly.
pub(super) fn make(wish: Wish) -> Result<Stripes, Errno> {
    if wish.unit == 0 || wish.count == 0 || wish.count > wish.of || wish.of > SERVERS_MOST {
        return Err(Errno::EINVAL);
    }
    let mut object = [0; 16];
    getrandom::fill(&mut object).map_err(|_| Errno::EIO)?;
    let first = u32::from_le_bytes([object[0], object[1], object[2], object[3]]) % wish.of;
    let servers = (0..wish.count).map(|turn| (first + turn) % wish.of).collect();
    Ok(Stripes { object: ObjectId(object), unit: wish.unit, servers, epoch: 1, cut: None })
}

/// The stripes of a file; none if it has none yet.
pub(super) fn load(inode: &Inode) -> Result<Option<Stripes>, Errno> {
    match inode.getxattr(OsStr::new(NAME)) {
        Ok(bytes) => match postcard::from_bytes(&bytes) {
            Ok(stripes) => Ok(Some(stripes)),
            Err(error) => {
                tracing::error!(inode = inode.key().number, %error, "stripes cannot be read");
                Err(Errno::EIO)
            }
        },
        Err(errno) if errno.raw() == libc::ENODATA => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Write them down.
pub(super) fn save(inode: &Inode, stripes: &Stripes) -> Result<(), Errno> {
    let bytes = postcard::to_stdvec(stripes).map_err(|_| Errno::EIO)?;
    crate::backend::posix::Identity::assume_agent();
    inode.setxattr(OsStr::new(NAME), &bytes, 0)
}

/// Agents do not show it to anybody.
pub(super) const NAME: &str = crate::wire::stripe::ATTRIBUTE;
const SERVERS_MOST: u32 = 1_024;
