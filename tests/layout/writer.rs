//! Writes `lustre.lov` as Lustre's published structures have it.

/// One object list: a v1, or a v3 with a pool.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) pattern: u32,
    pub(crate) stripe_size: u32,
    /// What the count says; the objects are those below.
    pub(crate) stripe_count: u16,
    pub(crate) generation: u16,
    pub(crate) pool: Option<&'static str>,
    pub(crate) osts: Vec<u32>,
}

impl Plain {
    pub(crate) fn raid0(stripe_size: u32, osts: &[u32]) -> Plain {
        Plain {
            pattern: 1,
            stripe_size,
            stripe_count: osts.len() as u16,
            generation: 0,
            pool: None,
            osts: osts.to_vec(),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let magic: u32 = if self.pool.is_some() { 0x0BD3_0BD0 } else { 0x0BD1_0BD0 };
        let mut bytes = Vec::new();
        bytes.extend(magic.to_le_bytes());
        bytes.extend(self.pattern.to_le_bytes());
        bytes.extend([7; 16]);
        bytes.extend(self.stripe_size.to_le_bytes());
        bytes.extend(self.stripe_count.to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        if let Some(pool) = self.pool {
            let mut name = [0; 16];
            name[..pool.len()].copy_from_slice(pool.as_bytes());
            bytes.extend(name);
        }
        for (number, ost) in self.osts.iter().enumerate() {
            bytes.extend((number as u128 + 100).to_le_bytes());
            bytes.extend(0u32.to_le_bytes());
            bytes.extend(ost.to_le_bytes());
        }
        bytes
    }
}

/// A component of a composite layout.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub(crate) mirror: u16,
    pub(crate) flags: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) plain: Plain,
}

/// There are objects.
pub(crate) const INSTANTIATED: u32 = 0x10;
/// Another mirror was written to since.
pub(crate) const STALE: u32 = 0x1;
/// To be read, or written, before the others.
pub(crate) const PREFERRED: u32 = 0x4;

pub(crate) fn component(start: u64, end: u64, flags: u32, plain: Plain) -> Component {
    Component { mirror: 0, flags, start, end, plain }
}

pub(crate) fn composite(generation: u32, components: &[Component]) -> Vec<u8> {
    let blobs: Vec<Vec<u8>> = components.iter().map(|one| one.plain.bytes()).collect();
    let size = 32 + 48 * components.len() + blobs.iter().map(Vec::len).sum::<usize>();
    let mut bytes = Vec::new();
    bytes.extend(0x0BD6_0BD0u32.to_le_bytes());
    bytes.extend((size as u32).to_le_bytes());
    bytes.extend(generation.to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend((components.len() as u16).to_le_bytes());
    bytes.resize(32, 0);
    let mut offset = 32 + 48 * components.len();
    for (number, (one, blob)) in components.iter().zip(&blobs).enumerate() {
        bytes.extend((u32::from(one.mirror) << 16 | (number as u32 + 1)).to_le_bytes());
        bytes.extend(one.flags.to_le_bytes());
        bytes.extend(one.start.to_le_bytes());
        bytes.extend(one.end.to_le_bytes());
        bytes.extend((offset as u32).to_le_bytes());
        bytes.extend((blob.len() as u32).to_le_bytes());
        bytes.extend([0; 16]);
        offset += blob.len();
    }
    blobs.iter().for_each(|blob| bytes.extend(blob));
    bytes
}
