//! Every file of the tree of names, once for each of its names, as a client sees them.

use iofwd_mount::store::{HandleId, NodeId};
use iofwd_mount::{Errno, Store};

use crate::client::Client;
use crate::wire::answer::{Value, take_name};
use crate::wire::call::Call;

/// A file, under one of its names.
pub(super) struct Found {
    pub(super) node: NodeId,
    pub(super) path: String,
    pub(super) size: u64,
}

struct Directory {
    node: NodeId,
    path: String,
}

/// Call `visit` with every regular file.
pub(super) fn walk(
    names: &Client,
    visit: &mut dyn FnMut(Found) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut directories = vec![Directory { node: NodeId::ROOT, path: String::new() }];
    while let Some(directory) = directories.pop() {
        let listed = list(names, &directory, &mut directories, visit);
        if directory.node != NodeId::ROOT {
            names.forget(directory.node, 1);
        }
        listed?;
    }
    Ok(())
}

fn list(
    names: &Client,
    directory: &Directory,
    deeper: &mut Vec<Directory>,
    visit: &mut dyn FnMut(Found) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let node = directory.node;
    let call = Call::Opendir { node, flags: libc::O_RDONLY };
    let (Value::OpenedDirectory(opened), _) = names.demand(None, call, &[], 0).answer()? else {
        return Err(Errno::EIO);
    };
    let mut offset = 0;
    let read = loop {
        match page(names, directory, opened.handle, offset, deeper, visit) {
            Ok(Some(next)) => offset = next,
            Ok(None) => break Ok(()),
            Err(errno) => break Err(errno),
        }
    };
    let call = Call::Releasedir { node, handle: opened.handle };
    names.demand(None, call, &[], 0).answer()?;
    read
}

/// One page of a directory; where the next one begins, if there is one.
fn page(
    names: &Client,
    directory: &Directory,
    handle: HandleId,
    offset: u64,
    deeper: &mut Vec<Directory>,
    visit: &mut dyn FnMut(Found) -> Result<(), Errno>,
) -> Result<Option<u64>, Errno> {
    let call = Call::Readdir { node: directory.node, handle, offset, room: PAGE, attributes: true };
    let (_, bytes) = names.demand(None, call, &[], 2 * PAGE as usize).answer()?;
    let mut next = None;
    let mut rest: &[u8] = &bytes;
    while let Some((listed, behind)) = take_name(rest).map_err(|_| Errno::EIO)? {
        next = Some(listed.offset);
        rest = behind;
        let Some(entry) = listed.entry else { continue };
        let path = format!("{}/{}", directory.path, String::from_utf8_lossy(listed.name));
        let (node, size) = (entry.attr.node, entry.attr.size);
        match entry.attr.mode & libc::S_IFMT {
            libc::S_IFDIR => deeper.push(Directory { node, path }),
            libc::S_IFREG => {
                let visited = visit(Found { node, path, size });
                names.forget(node, 1);
                visited?;
            }
            _ => names.forget(node, 1),
        }
    }
    Ok(next)
}

const PAGE: u32 = 64 << 10;
