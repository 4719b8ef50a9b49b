//! CephFS: the extended attribute `ceph.file.layout`, and the names of a file's objects.

use super::bytes::MOST;
use super::{Description, Engine, ObjectStripes, Problem, Shape};

use iofwd_scheduler::layout::Objects;

/// The attribute's name.
pub const ATTRIBUTE: &std::ffi::CStr = c"ceph.file.layout";

/// Understand the value of the attribute:
/// `stripe_unit=65536 stripe_count=4 object_size=1048576 pool=cephfs_data`.
pub fn parse(bytes: &[u8]) -> Result<Description, Problem> {
    Problem::unless_at_most("bytes", bytes.len(), MOST)?;
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Problem::unexpected("text", String::from_utf8_lossy(bytes)))?;
    let text = text.trim_end_matches('\0');
    let stripes = ObjectStripes {
        unit: number(text, "stripe_unit")?,
        count: number(text, "stripe_count")?,
        object_size: number(text, "object_size")?,
        pool: pool(text)?.0.into(),
        namespace: pool(text)?.1.map(String::from),
        known: Vec::new(),
    };
    // Whether it makes sense is for the arithmetic to say, and now rather than later.
    Objects::new(stripes.unit, stripes.count, stripes.object_size)?;
    Ok(Description { engine: Engine::Ceph, generation: 0, shape: Shape::Objects(stripes) })
}

/// The name of an object of the file with this inode number.
pub fn object_name(inode: u64, object: u64) -> String {
    format!("{inode:x}.{object:08x}")
}

/// The daemon that serves an object, from what `ceph osd map POOL OBJECT -f json` prints.
pub fn parse_map(printed: &[u8]) -> Option<u32> {
    Problem::unless_at_most("bytes", printed.len(), MOST).ok()?;
    let value: serde_json::Value = serde_json::from_slice(printed).ok()?;
    // Without a daemon the primary is -1.
    u32::try_from(value.get("acting_primary")?.as_u64()?).ok()
}

fn number(text: &str, name: &'static str) -> Result<u64, Problem> {
    let value = text.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let value = value.ok_or_else(|| Problem::unexpected(name, text))?;
    value.parse().map_err(|_| Problem::unexpected(name, value))
}

/// The name of the pool, which may have spaces, and of its part.
fn pool(text: &str) -> Result<(&str, Option<&str>), Problem> {
    let (_, rest) = text.split_once(" pool=").ok_or_else(|| Problem::unexpected("pool", text))?;
    let parts = rest.split_once(" pool_namespace=");
    Ok(parts.map_or((rest, None), |(pool, namespace)| (pool, Some(namespace))))
}
