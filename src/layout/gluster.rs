//! GlusterFS: the extended attribute `glusterfs.pathinfo`, which names the brick of a whole file.
//!
//! With sharding it names the brick of the first shard alone; where the others are cannot be known.

use super::bytes::MOST;
use super::{Description, Engine, Problem, Server};

/// The attribute's name.
pub const ATTRIBUTE: &std::ffi::CStr = c"glusterfs.pathinfo";

/// Understand the value of the attribute: `(<DISTRIBUTE:v-dht> <POSIX(/b0):host:/b0/a>)`. Of a set of
/// replicas the first brick stands for all.
pub fn parse(bytes: &[u8]) -> Result<Description, Problem> {
    Problem::unless_at_most("bytes", bytes.len(), MOST)?;
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Problem::unexpected("text", String::from_utf8_lossy(bytes)))?;
    let brick = brick(text).ok_or_else(|| Problem::unexpected("path", text))?;
    Ok(Description::whole(Engine::Gluster, Server::Brick(brick.into())))
}

/// `host:/b0`, from `<POSIX(/b0):host:/b0/a>`.
fn brick(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<POSIX(")?;
    let (path, rest) = rest.split_once("):")?;
    let (host, _) = rest.split_once(':')?;
    let named = !host.is_empty() && path.starts_with('/') && !host.contains(['<', '>']);
    named.then(|| format!("{host}:{path}"))
}
