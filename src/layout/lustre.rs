//! Lustre: the extended attribute `lustre.lov`, in all the versions that a file can have.
//!
//! v1 and v3 are a stripe size and a list of objects; a composite one has components, each with a
//! range of the file and a v1 or v3 of its own. How many objects there are is told by the bytes that
//! are there, never by the stripe count: a component without objects has a count, too.

mod composite;

use super::bytes::{Bytes, MOST};
use super::{Description, Engine, Problem, Server, Shape, Stripes};

/// The attribute's name.
pub const ATTRIBUTE: &std::ffi::CStr = c"lustre.lov";

/// Understand the value of the attribute.
pub fn parse(bytes: &[u8]) -> Result<Description, Problem> {
    Problem::unless_at_most("bytes", bytes.len(), MOST)?;
    let bytes = in_order(Bytes::new(bytes))?;
    let (generation, shape) = match bytes.u32(0)? {
        V1 | V3 => plain(bytes)?,
        COMPOSITE | EXTENDING => composite::parse(bytes)?,
        // The data are not in Lustre at all; whoever is asked for them first is the metadata server.
        FOREIGN => (0, Shape::Whole(Server::Mdt)),
        other => return Err(Problem::Magic(other)),
    };
    Ok(Description { engine: Engine::Lustre, generation, shape })
}

/// The bytes, read so that the number they begin with is one that is known.
fn in_order(bytes: Bytes<'_>) -> Result<Bytes<'_>, Problem> {
    let magic = bytes.u32(0)?;
    let known = |magic| matches!(magic, V1 | V3 | COMPOSITE | EXTENDING | FOREIGN);
    if known(magic.swap_bytes()) { Ok(bytes.swapped()) } else { Ok(bytes) }
}

fn plain(bytes: Bytes<'_>) -> Result<(u64, Shape), Problem> {
    let generation = u64::from(bytes.u16(30)?);
    let shape = match stripes(bytes)? {
        Some(stripes) if is_on_mdt(&stripes) => Shape::Whole(Server::Mdt),
        Some(stripes) => Shape::Stripes(stripes),
        None => Shape::Ranges(Vec::new()),
    };
    Ok((generation, shape))
}

fn is_on_mdt(stripes: &Stripes) -> bool {
    stripes.servers == [Server::Mdt]
}

/// The stripes of a v1 or v3; `None` if it has no objects now.
fn stripes(bytes: Bytes<'_>) -> Result<Option<Stripes>, Problem> {
    let head = match bytes.u32(0)? {
        V1 => 32,
        V3 => 48,
        FOREIGN => return Ok(None),
        other => return Err(Problem::Magic(other)),
    };
    let pattern = bytes.u32(4)?;
    let unit = u64::from(bytes.u32(24)?);
    let list = bytes.part(head, (bytes.len() as u64).saturating_sub(head))?;
    if pattern & (RELEASED | PARITY) != 0 {
        return Ok(None);
    }
    if pattern & ON_MDT != 0 {
        let servers = vec![Server::Mdt];
        return Ok(Some(Stripes { unit: unit.max(1), servers }));
    }
    if pattern & RAID0 == 0 {
        return Err(Problem::unexpected("pattern", format!("{pattern:#x}")));
    }
    let count = list.len() / OBJECT;
    Problem::unless_at_most("objects", count, OBJECTS_MOST)?;
    let index = |object: usize| list.u32((object * OBJECT) as u64 + 20).map(Server::Ost);
    let servers = (0..count).map(index).collect::<Result<Vec<_>, _>>()?;
    if servers.is_empty() {
        return Ok(None);
    }
    if unit == 0 {
        return Err(Problem::unexpected("stripe size", 0));
    }
    Ok(Some(Stripes { unit, servers }))
}

const V1: u32 = 0x0BD1_0BD0;
const V3: u32 = 0x0BD3_0BD0;
const COMPOSITE: u32 = 0x0BD6_0BD0;
const FOREIGN: u32 = 0x0BD7_0BD0;
/// A composite one whose components grow as the file does.
const EXTENDING: u32 = 0x0BD8_0BD0;

const RAID0: u32 = 0x1;
const PARITY: u32 = 0x4;
const ON_MDT: u32 = 0x100;
/// The data are on tape; there are objects again when they come back.
const RELEASED: u32 = 0x8000_0000;

/// Bytes of an object's entry.
const OBJECT: usize = 24;
/// Twice what Lustre allows a file.
const OBJECTS_MOST: usize = 4_000;
