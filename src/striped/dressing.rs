//! What the server that has the names says of a file, as applications are to see it.
//!
//! Among the names a file is a sparse file without a byte, and with an attribute that says where its
//! bytes are. Applications see a file that has as many blocks as its size needs, and no such attribute.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use iofwd_mount::reply::{Answer, Collect, Dirent};
use iofwd_mount::store::{Attr, Created, Entry, Opened};
use iofwd_mount::{DataReply, DirectoryReply, Errno, Reply, XattrReply};

use crate::wire::stripe::ATTRIBUTE;

/// What has attributes in it.
pub(super) trait Dressed: Answer + 'static {
    fn dressed(self) -> Self;
}

impl Dressed for Attr {
    fn dressed(self) -> Attr {
        let is_file = self.mode & libc::S_IFMT == libc::S_IFREG;
        let blocks = if is_file { self.size.div_ceil(512) } else { self.blocks };
        Attr { blocks, ..self }
    }
}

impl Dressed for Entry {
    fn dressed(self) -> Entry {
        Entry { attr: self.attr.dressed() }
    }
}

impl Dressed for Opened {
    fn dressed(self) -> Opened {
        Opened { attr: self.attr.dressed(), ..self }
    }
}

impl Dressed for Created {
    fn dressed(self) -> Created {
        Created { entry: self.entry.dressed(), ..self }
    }
}

/// A reply that dresses what it is given.
pub(super) fn dressing<T: Dressed>(reply: Reply<T>) -> Reply<T> {
    Reply::call(move |result: Result<T, Errno>| reply.send(result.map(Dressed::dressed)))
}

/// A list of names whose attributes are dressed.
struct Names(DirectoryReply);

impl Collect for Names {
    fn push(&mut self, dirent: &Dirent<'_>, entry: Option<&Entry>) {
        self.0.push(dirent, entry.map(|entry| entry.dressed()).as_ref());
    }

    fn finish(self: Box<Self>, result: Result<(), Errno>) {
        match result {
            Ok(()) => self.0.send(),
            Err(errno) => self.0.error(errno),
        }
    }
}

/// A reply that dresses every entry.
pub(super) fn dressing_names(reply: DirectoryReply) -> DirectoryReply {
    let (room, attributes) = (reply.room(), reply.wants_attributes());
    DirectoryReply::collect(room, attributes, Box::new(Names(reply)))
}

/// Whether an attribute is ours.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes() == ATTRIBUTE.as_bytes()
}

/// A reply that leaves our attribute out of a list of names.
pub(super) fn hiding(reply: XattrReply) -> XattrReply {
    XattrReply::whole(DataReply::call(move |result| {
        let names = result.map(|parts| {
            let all: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
            let shown = all.split_inclusive(|byte| *byte == 0);
            let is_shown = |name: &&[u8]| name.strip_suffix(&[0]) != Some(ATTRIBUTE.as_bytes());
            shown.filter(is_shown).flatten().copied().collect::<Vec<u8>>()
        });
        reply.send(names.as_deref().map_err(|errno| *errno));
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn our_attribute_is_not_listed() {
        let (sender, receiver) = mpsc::channel();
        let whole = DataReply::call(move |result| {
            let bytes = result.map(|parts| parts.iter().flat_map(|part| part.to_vec()).collect());
            sender.send(bytes).unwrap();
        });
        let names = [b"user.a\0".to_vec(), ATTRIBUTE.into(), b"\0user.iofwd.x\0".to_vec()].concat();
        hiding(XattrReply::whole(whole)).send(Ok(&names));
        let listed: Result<Vec<u8>, Errno> = receiver.recv().unwrap();
        assert_eq!(listed, Ok(b"user.a\0user.iofwd.x\0".to_vec()));
    }

    #[test]
    fn a_file_has_the_blocks_that_its_size_needs() {
        let attr = |mode, size| Attr { mode, size, blocks: 3, ..Attr::default() };
        assert_eq!(attr(libc::S_IFREG | 0o644, 513).dressed().blocks, 2);
        assert_eq!(attr(libc::S_IFDIR | 0o755, 513).dressed().blocks, 3);
    }
}
