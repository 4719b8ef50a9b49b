//! A data server, by the name that its file system has for it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A data server, or what has a queue of its own like one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Server {
    /// The whole file system: nothing is known of its parts.
    Only,
    /// Lustre: an object storage target, by its index.
    Ost(u32),
    /// Lustre: a metadata server, which keeps the first bytes of small files.
    Mdt,
    /// Ceph: an object storage daemon.
    Osd(u32),
    /// Ceph: all daemons of a pool.
    Pool(Box<str>),
    /// OrangeFS: a server, by its alias.
    Alias(Box<str>),
    /// BeeGFS: a storage target.
    Target(u32),
    /// GlusterFS: a brick, `HOST:PATH`.
    Brick(Box<str>),
    /// One of those that a rule of the settings counts.
    Numbered(u32),
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Only => f.write_str("all"),
            Server::Ost(index) => write!(f, "ost:{index}"),
            Server::Mdt => f.write_str("mdt"),
            Server::Osd(id) => write!(f, "osd:{id}"),
            Server::Pool(name) => write!(f, "pool:{name}"),
            Server::Alias(name) => write!(f, "alias:{name}"),
            Server::Target(id) => write!(f, "target:{id}"),
            Server::Brick(name) => write!(f, "brick:{name}"),
            Server::Numbered(number) => write!(f, "server:{number}"),
        }
    }
}
