//! Every file of the tree of names, once for each of its names, as a client sees them.

use std::sync::mpsc::{Sender, channel};

use iofwd_mount::caller::RequestKey;
use iofwd_mount::reply::{Collect, Dirent};
use iofwd_mount::store::{Attr, Entry, HandleId, NodeId, OpenedDirectory};
use iofwd_mount::{Caller, DirectoryReply, Errno, Store};

use crate::client::Client;

use super::super::wait;

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
    let opened: OpenedDirectory = wait(|reply| names.opendir(&ROOT, node, libc::O_RDONLY, reply))?;
    let mut offset = 0;
    let read = loop {
        let page = match page(names, node, opened.handle, offset) {
            Ok(page) => page,
            Err(errno) => break Err(errno),
        };
        let Some(last) = page.last() else { break Ok(()) };
        offset = last.offset;
        if let Err(errno) = enter(names, directory, page, deeper, visit) {
            break Err(errno);
        }
    };
    wait(|reply| names.releasedir(node, opened.handle, reply))?;
    read
}

/// A name in a directory, with what it names; not known for the two dots.
struct Name {
    offset: u64,
    text: String,
    attr: Option<Attr>,
}

/// Some names of a directory, from an offset on; none at its end.
fn page(names: &Client, node: NodeId, handle: HandleId, offset: u64) -> Result<Vec<Name>, Errno> {
    let (sender, receiver) = channel();
    let gather = Box::new(Gather { names: Vec::new(), to: sender });
    names.readdir(&ROOT, node, handle, offset, DirectoryReply::collect(PAGE, true, gather));
    receiver.recv().unwrap_or(Err(Errno::EIO))
}

struct Gather {
    names: Vec<Name>,
    to: Sender<Result<Vec<Name>, Errno>>,
}

impl Collect for Gather {
    fn push(&mut self, dirent: &Dirent<'_>, entry: Option<&Entry>) {
        let text = String::from_utf8_lossy(dirent.name).into_owned();
        let attr = entry.map(|entry| entry.attr);
        self.names.push(Name { offset: dirent.offset, text, attr });
    }

    fn finish(self: Box<Self>, result: Result<(), Errno>) {
        let Gather { names, to } = *self;
        let _ = to.send(result.map(|()| names));
    }
}

fn enter(
    names: &Client,
    directory: &Directory,
    page: Vec<Name>,
    deeper: &mut Vec<Directory>,
    visit: &mut dyn FnMut(Found) -> Result<(), Errno>,
) -> Result<(), Errno> {
    for Name { text, attr, .. } in page {
        let Some(attr) = attr else { continue };
        let path = format!("{}/{text}", directory.path);
        let (node, size) = (attr.node, attr.size);
        match attr.mode & libc::S_IFMT {
            libc::S_IFDIR => deeper.push(Directory { node, path }),
            libc::S_IFREG => {
                let visited = visit(Found { node, path, size });
                names.forget(node, 1);
                visited?;
            }
            _ => names.forget(node, 1),
        }
    }
    Ok(())
}

/// The check looks at everything, as whoever runs it.
const ROOT: Caller = Caller { uid: 0, gid: 0, pid: 0, request: RequestKey(0), introduced: None };
const PAGE: usize = 64 << 10;
