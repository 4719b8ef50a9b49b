//! Composite layouts: ranges that grow with the file, data on the metadata server, mirrors.
//!
//! Mirrors overlap. Each byte belongs to the first component that has objects and is not stale, one
//! that is preferred before the others, because that is the one Lustre itself would take.

use super::super::bytes::Bytes;
use super::super::{Problem, Range, Shape, Stripes};

/// A component that has the bytes of its range.
struct Part {
    start: u64,
    end: u64,
    stripes: Stripes,
}

pub(super) fn parse(bytes: Bytes<'_>) -> Result<(u64, Shape), Problem> {
    let said = u64::from(bytes.u32(4)?);
    if said > bytes.len() as u64 {
        return Err(Problem::Short { need: said, have: bytes.len() as u64 });
    }
    let generation = u64::from(bytes.u32(8)?);
    let count = usize::from(bytes.u16(14)?);
    Problem::unless_at_most("components", count, COMPONENTS_MOST)?;
    let entries = bytes.part(HEAD, count as u64 * ENTRY)?;
    let (mut preferred, mut others, mut objects) = (Vec::new(), Vec::new(), 0);
    for index in 0..count {
        let entry = entries.part(index as u64 * ENTRY, ENTRY)?;
        let Some(part) = part(bytes, entry)? else { continue };
        objects += part.stripes.servers.len();
        Problem::unless_at_most("objects", objects, super::OBJECTS_MOST)?;
        let is_preferred = entry.u32(4)? & PREFERRED != 0;
        if is_preferred { &mut preferred } else { &mut others }.push(part);
    }
    preferred.append(&mut others);
    Ok((generation, Shape::Ranges(choose(&preferred))))
}

/// A component; `None` if it has no bytes of the file that could be read there.
fn part(whole: Bytes<'_>, entry: Bytes<'_>) -> Result<Option<Part>, Problem> {
    let flags = entry.u32(4)?;
    if flags & INSTANTIATED == 0 || flags & (STALE | EXTENSION | PARITY) != 0 {
        return Ok(None);
    }
    let (start, end) = (entry.u64(8)?, entry.u64(16)?);
    if start >= end {
        return Err(Problem::unexpected("component", format!("from {start} to {end}")));
    }
    let blob = whole.part(entry.u32(24)?.into(), entry.u32(28)?.into())?;
    Ok(super::stripes(blob)?.map(|stripes| Part { start, end, stripes }))
}

/// Each byte to the first part that has it.
fn choose(parts: &[Part]) -> Vec<Range> {
    let mut ends: Vec<u64> = parts.iter().flat_map(|part| [part.start, part.end]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut chosen: Vec<(usize, u64, u64)> = Vec::new();
    for pair in ends.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let first = parts.iter().position(|part| part.start <= start && end <= part.end);
        match (first, chosen.last_mut()) {
            (Some(part), Some(last)) if last.0 == part && last.2 == start => last.2 = end,
            (Some(part), _) => chosen.push((part, start, end)),
            (None, _) => {}
        }
    }
    let range = |(part, start, end): (usize, u64, u64)| Range {
        start,
        end,
        stripes: parts[part].stripes.clone(),
    };
    chosen.into_iter().map(range).collect()
}

const HEAD: u64 = 32;
const ENTRY: u64 = 48;
/// Far more than anybody has: a file of five mirrors of eight components has forty.
const COMPONENTS_MOST: usize = 256;

const STALE: u32 = 0x1;
/// For reading, for writing, or both.
const PREFERRED: u32 = 0x2 | 0x4;
const INSTANTIATED: u32 = 0x10;
const EXTENSION: u32 = 0x40;
const PARITY: u32 = 0x80;
