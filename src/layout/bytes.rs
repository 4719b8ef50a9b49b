//! Numbers out of bytes that come from elsewhere: nothing is read that is not there.

use super::Problem;

/// The most bytes that any layout has: the kernel hands out no larger attribute.
pub(super) const MOST: usize = 64 << 10;

/// Bytes, and the order in which their numbers are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    bytes: &'a [u8],
    swapped: bool,
}

impl<'a> Bytes<'a> {
    /// Little-endian bytes.
    pub(super) const fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { bytes, swapped: false }
    }

    /// The same bytes, with the numbers written the other way round.
    pub(super) const fn swapped(self) -> Bytes<'a> {
        Bytes { swapped: !self.swapped, ..self }
    }

    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// A part of them.
    pub(super) fn part(&self, start: u64, length: u64) -> Result<Bytes<'a>, Problem> {
        let need = start.saturating_add(length);
        let short = Problem::Short { need, have: self.bytes.len() as u64 };
        let range = usize::try_from(start).ok().zip(usize::try_from(need).ok());
        let part = range.and_then(|(start, end)| self.bytes.get(start..end));
        part.map(|bytes| Bytes { bytes, ..*self }).ok_or(short)
    }

    pub(super) fn u16(&self, at: u64) -> Result<u16, Problem> {
        self.number(at).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, at: u64) -> Result<u32, Problem> {
        self.number(at).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, at: u64) -> Result<u64, Problem> {
        self.number(at).map(u64::from_le_bytes)
    }

    /// The bytes themselves.
    pub(super) const fn all(&self) -> &'a [u8] {
        self.bytes
    }

    fn number<const N: usize>(&self, at: u64) -> Result<[u8; N], Problem> {
        let part = self.part(at, N as u64)?;
        let mut number = [0; N];
        number.copy_from_slice(part.bytes);
        if self.swapped {
            number.reverse();
        }
        Ok(number)
    }
}
