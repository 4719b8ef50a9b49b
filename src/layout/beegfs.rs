//! BeeGFS: the control operations of an open file that tell its pattern, chunk size and targets.

use super::bytes::Bytes;
use super::{Description, Engine, Problem, Server, Shape, Stripes};

/// Pattern, chunk size and number of targets.
pub const INFO: u32 = 0x800c_6619;
/// Bytes of the answer to [`INFO`].
pub const INFO_SIZE: usize = 12;
/// The target of an index, as BeeGFS 8 tells it.
pub const TARGET: u32 = 0x8218_661a;
/// Bytes of the question and the answer of [`TARGET`].
pub const TARGET_SIZE: usize = 536;
/// The target of an index, as older ones tell it.
pub const OLD_TARGET: u32 = 0x8106_661a;
/// Bytes of the question and the answer of [`OLD_TARGET`].
pub const OLD_TARGET_SIZE: usize = 262;

/// What [`INFO`] answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Targets in pairs: what has the data is the first of its pair.
    pub mirrored: bool,
    /// Bytes of a chunk; not zero.
    pub chunk: u64,
    /// How many targets there are; not zero, and not more than are read.
    pub targets: u16,
}

/// Understand the answer to [`INFO`].
pub fn parse_info(bytes: &[u8]) -> Result<Info, Problem> {
    let bytes = Bytes::new(bytes);
    let (pattern, chunk, targets) = (bytes.u32(0)?, bytes.u32(4)?, bytes.u16(8)?);
    if !matches!(pattern, RAID0 | RAID10 | MIRRORED) {
        return Err(Problem::unexpected("pattern", pattern));
    }
    if chunk == 0 || targets == 0 {
        return Err(Problem::unexpected("chunk size or number of targets", 0));
    }
    Problem::unless_at_most("targets", targets.into(), TARGETS_MOST)?;
    Ok(Info { mirrored: pattern == MIRRORED, chunk: chunk.into(), targets })
}

/// The question for the target of an index.
pub fn ask_target(index: u16) -> [u8; TARGET_SIZE] {
    let mut question = [0; TARGET_SIZE];
    question[..4].copy_from_slice(&u32::from(index).to_le_bytes());
    question
}

/// The question for the target of an index, as older ones understand it.
pub fn ask_old_target(index: u16) -> [u8; OLD_TARGET_SIZE] {
    let mut question = [0; OLD_TARGET_SIZE];
    question[..2].copy_from_slice(&index.to_le_bytes());
    question
}

/// Understand the answer to [`TARGET`].
pub fn parse_target(bytes: &[u8], info: &Info) -> Result<Server, Problem> {
    // Of a group of mirrors the first target is written and read.
    let at = if info.mirrored { 8 } else { 4 };
    Bytes::new(bytes).u32(at).map(Server::Target)
}

/// Understand the answer to [`OLD_TARGET`].
pub fn parse_old_target(bytes: &[u8]) -> Result<Server, Problem> {
    Bytes::new(bytes).u16(2).map(|target| Server::Target(target.into()))
}

/// What the answers say together.
pub fn describe(info: &Info, servers: Vec<Server>) -> Description {
    let shape = Shape::Stripes(Stripes { unit: info.chunk, servers });
    Description { engine: Engine::BeeGfs, generation: 0, shape }
}

const RAID0: u32 = 1;
const RAID10: u32 = 2;
const MIRRORED: u32 = 3;
/// Each costs a system call.
const TARGETS_MOST: usize = 1_024;
