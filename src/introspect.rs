//! Files that are not in the tree: `.iofwd/status` and `.iofwd/layout/PATH` below the root of a mount,
//! for those who asked for them. Listings do not show the directory; who knows its name can use it.
//!
//! A store around another one: what has a number of ours is answered here, everything else passes
//! through. The numbers of the other store have the two highest bits clear; nodes below
//! `layout` have the number of the node whose layout they tell, and ours beside it.

mod store;
mod texts;

use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::UNIX_EPOCH;

use dashmap::DashMap;

use iofwd_mount::reply::Answer;
use iofwd_mount::store::{Attr, Entry, HandleId, NodeId, OpenHow, Opened, Timestamp};
use iofwd_mount::{Caller, Errno, Reply, Store};

use texts::Text;

/// What the status file says.
type Status = Box<dyn Fn() -> String + Send + Sync>;

/// A store with files that tell of it.
pub struct Introspected {
    inner: Arc<dyn Store>,
    status: Status,
    open: DashMap<HandleId, Text>,
    numbers: texts::Numbers,
    began: Timestamp,
}

impl std::fmt::Debug for Introspected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Introspected").finish_non_exhaustive()
    }
}

/// A node of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    /// `.iofwd`.
    Directory,
    /// `.iofwd/status`.
    Status,
    /// `.iofwd/layout`, and what is below it: the node whose layout is told.
    Layout(NodeId),
}

impl Own {
    fn of(node: NodeId) -> Option<Own> {
        match node {
            DIRECTORY => Some(Own::Directory),
            STATUS => Some(Own::Status),
            NodeId(number) if number & LAYOUT != 0 => Some(Own::Layout(NodeId(number & !MARKS))),
            _ => None,
        }
    }

    fn node(self) -> NodeId {
        match self {
            Own::Directory => DIRECTORY,
            Own::Status => STATUS,
            Own::Layout(NodeId(number)) => NodeId(number | MARKS),
        }
    }
}

impl Introspected {
    /// Around a store, with a status that this function tells.
    pub fn new(inner: Arc<dyn Store>, status: Status) -> Introspected {
        let (open, numbers) = (DashMap::new(), texts::Numbers::default());
        Introspected { inner, status, open, numbers, began: now() }
    }

    /// A name in a directory of ours.
    fn find(&self, caller: &Caller, parent: Own, name: &OsStr) -> Result<Entry, Errno> {
        match (parent, name.to_str()) {
            (Own::Directory, Some("status")) => self.entry(caller, Own::Status),
            (Own::Directory, Some("layout")) => self.entry(caller, Own::Layout(NodeId::ROOT)),
            (Own::Layout(real), _) => {
                let entry: Entry = wait(|reply| self.inner.lookup(caller, real, name, reply))?;
                let told = matches!(entry.attr.mode & libc::S_IFMT, libc::S_IFDIR | libc::S_IFREG);
                if told {
                    return Ok(Entry { attr: self.mirrored(&entry.attr) });
                }
                self.inner.forget(entry.attr.node, 1);
                Err(Errno::ENOENT)
            }
            (Own::Directory | Own::Status, _) => Err(Errno::ENOENT),
        }
    }

    fn entry(&self, caller: &Caller, own: Own) -> Result<Entry, Errno> {
        Ok(Entry { attr: self.attr(caller, own)? })
    }

    fn attr(&self, caller: &Caller, own: Own) -> Result<Attr, Errno> {
        match own {
            Own::Directory => Ok(self.made(own, libc::S_IFDIR | 0o555, 0)),
            Own::Status => Ok(self.made(own, libc::S_IFREG | 0o444, (self.status)().len() as u64)),
            Own::Layout(NodeId::ROOT) => Ok(self.made(own, libc::S_IFDIR | 0o555, 0)),
            Own::Layout(real) => {
                let attr: Attr = wait(|reply| self.inner.getattr(caller, real, None, reply))?;
                Ok(self.mirrored(&attr))
            }
        }
    }

    /// The attributes of a node that tells another one's layout: whoever may read that one, may know.
    fn mirrored(&self, real: &Attr) -> Attr {
        let kind = real.mode & libc::S_IFMT;
        let (mode, size) = match kind == libc::S_IFDIR {
            true => (kind | (real.mode & 0o555), 0),
            // How long the text is, is known when it is opened.
            false => (kind | (real.mode & 0o444), LAYOUT_SIZE),
        };
        let own = self.made(Own::Layout(real.node), mode, size);
        Attr { uid: real.uid, gid: real.gid, ..own }
    }

    fn made(&self, own: Own, mode: u32, size: u64) -> Attr {
        Attr {
            node: own.node(),
            inode: own.node().0,
            size,
            mode,
            links: 1,
            atime: self.began,
            mtime: self.began,
            ctime: self.began,
            block_size: 4096,
            ..Attr::default()
        }
    }

    fn open(&self, caller: &Caller, own: Own, how: OpenHow) -> Result<Opened, Errno> {
        if how.flags & libc::O_ACCMODE != libc::O_RDONLY {
            return Err(Errno::from_raw(libc::EROFS));
        }
        let text = match own {
            Own::Directory => return Err(Errno::from_raw(libc::EISDIR)),
            Own::Status => (self.status)(),
            Own::Layout(real) => texts::layout(&*self.inner, caller, real)?,
        };
        let mut attr = self.attr(caller, own)?;
        attr.size = text.len() as u64;
        let handle = self.numbers.next();
        self.open.insert(handle, Text::from(text));
        Ok(Opened { handle, attr })
    }
}

fn now() -> Timestamp {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp { secs: now.as_secs() as i64, nanos: now.subsec_nanos() }
}

/// Ask for something, and wait for the answer.
fn wait<T: Answer + Send + 'static>(ask: impl FnOnce(Reply<T>)) -> Result<T, Errno> {
    let (sender, receiver) = mpsc::channel();
    ask(Reply::call(move |result| {
        let _ = sender.send(result);
    }));
    receiver.recv().unwrap_or(Err(Errno::EIO))
}

/// Marks numbers of ours.
const MARK: u64 = 1 << 63;
/// Marks nodes that tell layouts, beside the other.
const LAYOUT: u64 = 1 << 62;
const MARKS: u64 = MARK | LAYOUT;
const DIRECTORY: NodeId = NodeId(MARK | 1);
const STATUS: NodeId = NodeId(MARK | 2);
/// The name of the directory.
const NAME: &str = ".iofwd";
/// More than most texts have, so that `cat` reads on.
const LAYOUT_SIZE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ours_are_told_from_others() {
        for own in [Own::Directory, Own::Status, Own::Layout(NodeId(77)), Own::Layout(NodeId::ROOT)]
        {
            assert_eq!(Own::of(own.node()), Some(own));
        }
        assert_eq!(Own::of(NodeId::ROOT), None);
        assert_eq!(Own::of(NodeId(123_456)), None);
    }
}
