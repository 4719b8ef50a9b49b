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

impl Server {
    /// Servers as they are shown, or a row of them: `ost:3`, `ost:0-15`, `pool:data`.
    pub fn parse(text: &str) -> Result<Vec<Server>, String> {
        let wrong = || {
            format!(
                "'{text}' is no server: write for example \"ost:3\", \"ost:0-15\", \"osd:2\", \
                 \"target:101\", \"alias:NAME\", \"pool:NAME\", \"brick:HOST:PATH\", \"mdt\" or \
                 \"server:0\""
            )
        };
        let numbered: fn(u32) -> Server = match text.split_once(':').ok_or(text) {
            Err("mdt") => return Ok(vec![Server::Mdt]),
            Ok(("pool", name)) if !name.is_empty() => return Ok(vec![Server::Pool(name.into())]),
            Ok(("alias", name)) if !name.is_empty() => return Ok(vec![Server::Alias(name.into())]),
            Ok(("brick", name)) if !name.is_empty() => return Ok(vec![Server::Brick(name.into())]),
            Ok(("ost", _)) => Server::Ost,
            Ok(("osd", _)) => Server::Osd,
            Ok(("target", _)) => Server::Target,
            Ok(("server", _)) => Server::Numbered,
            Ok(_) | Err(_) => return Err(wrong()),
        };
        let numbers = text.split_once(':').map_or("", |(_, numbers)| numbers);
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last - first < ROW_MOST => {
                Ok((first..=last).map(numbered).collect())
            }
            _ => Err(wrong()),
        }
    }
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

/// No agent has more queues.
const ROW_MOST: u32 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_written_as_they_are_read() {
        for text in ["mdt", "ost:7", "osd:0", "pool:a b", "alias:x", "target:9", "server:3"] {
            let servers = Server::parse(text).expect(text);
            assert_eq!(servers.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
        }
        let brick = Server::parse("brick:host:/path").expect("a brick");
        assert_eq!(brick, [Server::Brick("host:/path".into())]);
    }

    #[test]
    fn a_row_of_servers_is_all_of_them() {
        let row = [Server::Ost(2), Server::Ost(3), Server::Ost(4)];
        assert_eq!(Server::parse("ost:2-4").as_deref(), Ok(&row[..]));
        for wrong in ["", "ost", "ost:", "ost:x", "ost:4-2", "ost:0-2000", "disk:1", "pool:"] {
            assert!(Server::parse(wrong).expect_err(wrong).contains("ost:0-15"), "{wrong}");
        }
    }
}
