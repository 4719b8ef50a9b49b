//! OrangeFS, once PVFS2: the extended attributes `system.pvfs2.md` and `system.pvfs2.dh`.
//!
//! The first names the distribution and its strip size, the second the handles of the data files in
//! order. Whose a handle is stands in the file system's configuration: see [`Ranges`].

mod ranges;

pub use ranges::Ranges;

use super::bytes::{Bytes, MOST};
use super::{Description, Engine, Problem, Server, Shape, Stripes};

/// The attribute with the distribution.
pub const DISTRIBUTION: &std::ffi::CStr = c"system.pvfs2.md";
/// The attribute with the handles.
pub const HANDLES: &std::ffi::CStr = c"system.pvfs2.dh";

/// Understand both attributes. Without ranges nobody knows whose the handles are.
pub fn parse(
    distribution: &[u8],
    handles: &[u8],
    ranges: Option<&Ranges>,
) -> Result<Description, Problem> {
    let unit = strip_size(distribution)?;
    let handles = parse_handles(handles)?;
    let owner = |handle: &u64| ranges.and_then(|ranges| ranges.owner(*handle));
    let shape = match handles.iter().map(owner).collect::<Option<Vec<Server>>>() {
        None => Shape::Whole(Server::Only),
        Some(mut servers) => match unit {
            Some(unit) => Shape::Stripes(Stripes { unit, servers }),
            None => Shape::Whole(servers.swap_remove(0)),
        },
    };
    Ok(Description { engine: Engine::Pvfs, generation: 0, shape })
}

/// Bytes of a strip; `None` if all is in the first data file.
fn strip_size(bytes: &[u8]) -> Result<Option<u64>, Problem> {
    Problem::unless_at_most("bytes", bytes.len(), MOST)?;
    let bytes = Bytes::new(bytes);
    let length = u64::from(bytes.u32(0)?);
    let name = bytes.part(4, length)?.all();
    match name.strip_suffix(b"\0").unwrap_or(name) {
        b"simple_stripe" => {}
        b"basic_dist" => return Ok(None),
        other => {
            return Err(Problem::unexpected("distribution", String::from_utf8_lossy(other)));
        }
    }
    // A NUL behind the name, which the length may count or not, and zeros to a multiple of eight.
    let named = 4 + "simple_stripe".len() as u64 + 1;
    match bytes.u64(named.next_multiple_of(8))? {
        0 => Err(Problem::unexpected("strip size", 0)),
        size => Ok(Some(size)),
    }
}

fn parse_handles(bytes: &[u8]) -> Result<Vec<u64>, Problem> {
    Problem::unless_at_most("bytes", bytes.len(), MOST)?;
    if bytes.is_empty() || !bytes.len().is_multiple_of(8) {
        return Err(Problem::unexpected("length of handles", bytes.len()));
    }
    let bytes = Bytes::new(bytes);
    (0..bytes.len() as u64).step_by(8).map(|at| bytes.u64(at)).collect()
}
