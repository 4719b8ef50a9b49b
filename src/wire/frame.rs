//! Frames: how long the head and the payload are, and how much room the answer may need.

use serde::Serialize;
use serde::de::Deserialize;

/// The fixed bytes at the beginning of every frame.
pub const PREFIX: usize = 12;
/// No head is longer: two names, a target of a link, and numbers.
pub const HEAD_MOST: usize = 8 << 10;
/// No payload is longer: the largest write of a kernel, and a little for what goes with it.
pub const PAYLOAD_MOST: usize = (4 << 20) + (64 << 10);
/// A bit of the last number.
const IN_ORDER: u32 = 1 << 31;
/// What a request costs beside its bytes, when requests under way are counted in bytes.
pub const OVERHEAD: usize = 1 << 10;

/// What the fixed bytes say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes of the head.
    pub head: usize,
    /// Bytes of the payload.
    pub payload: usize,
    /// The most bytes that the payload of the answer may have.
    pub room: usize,
    /// It changes what later frames mean: none of them may overtake it.
    pub in_order: bool,
}

/// A frame that nobody who keeps to the protocol sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

impl Prefix {
    /// As bytes.
    pub fn to_bytes(self) -> [u8; PREFIX] {
        let mut bytes = [0; PREFIX];
        bytes[..4].copy_from_slice(&(self.head as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.payload as u32).to_le_bytes());
        let order = if self.in_order { IN_ORDER } else { 0 };
        bytes[8..].copy_from_slice(&(self.room as u32 | order).to_le_bytes());
        bytes
    }

    /// From bytes, if every length is within its bound.
    pub fn from_bytes(bytes: &[u8; PREFIX]) -> Result<Prefix, Malformed> {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
        let head = u32::from_le_bytes([a, b, c, d]) as usize;
        let payload = u32::from_le_bytes([e, f, g, h]) as usize;
        let last = u32::from_le_bytes([i, j, k, l]);
        let (room, in_order) = ((last & !IN_ORDER) as usize, last & IN_ORDER != 0);
        if head == 0 || head > HEAD_MOST {
            return Err(Malformed("a frame's head is empty or longer than allowed"));
        }
        if payload > PAYLOAD_MOST || room > PAYLOAD_MOST {
            return Err(Malformed("a frame's payload, or its answer's, is longer than allowed"));
        }
        Ok(Prefix { head, payload, room, in_order })
    }

    /// Bytes of the whole frame.
    pub fn length(self) -> usize {
        PREFIX + self.head + self.payload
    }

    /// What a request of this size costs while it is under way.
    pub fn cost(self) -> usize {
        OVERHEAD + self.head + self.payload + self.room
    }
}

/// Prefix and head of a frame; the payload of `payload` bytes follows them.
pub fn encode(head: &impl Serialize, payload: usize, room: usize) -> Vec<u8> {
    encode_as(head, Prefix { payload, room, ..Prefix::default() })
}

/// Prefix and head of a frame that no later one may overtake.
pub fn encode_in_order(head: &impl Serialize, payload: usize) -> Vec<u8> {
    encode_as(head, Prefix { payload, in_order: true, ..Prefix::default() })
}

fn encode_as(head: &impl Serialize, prefix: Prefix) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(96);
    bytes.resize(PREFIX, 0);
    let mut bytes = postcard::to_extend(head, bytes).unwrap_or_default();
    let prefix = Prefix { head: bytes.len().saturating_sub(PREFIX), ..prefix };
    if let Some(start) = bytes.first_chunk_mut::<PREFIX>() {
        *start = prefix.to_bytes();
    }
    bytes
}

/// The value in a head, all of whose bytes belong to it.
pub fn decode<'a, T: Deserialize<'a>>(head: &'a [u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(head) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(Malformed("a frame's head is longer than what it says")),
        Err(_) => Err(Malformed("a frame's head cannot be understood")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_survives_the_wire() {
        let prefix = Prefix { head: 7, payload: 1 << 20, room: 4096, in_order: true };
        assert_eq!(Prefix::from_bytes(&prefix.to_bytes()), Ok(prefix));
    }

    #[test]
    fn lengths_beyond_their_bounds_are_refused() {
        let (payload, room) = (PAYLOAD_MOST, PAYLOAD_MOST);
        let fits = Prefix { head: HEAD_MOST, payload, room, in_order: false };
        assert!(Prefix::from_bytes(&fits.to_bytes()).is_ok());
        for wrong in [
            Prefix { head: 0, ..fits },
            Prefix { head: HEAD_MOST + 1, ..fits },
            Prefix { payload: PAYLOAD_MOST + 1, ..fits },
            Prefix { room: PAYLOAD_MOST + 1, ..fits },
        ] {
            assert!(Prefix::from_bytes(&wrong.to_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_head_has_nothing_behind_it() {
        let frame = encode(&(7u32, "x"), 0, 0);
        assert_eq!(decode::<(u32, &str)>(&frame[PREFIX..]), Ok((7, "x")));
        let longer = [&frame[PREFIX..], &[0]].concat();
        assert!(decode::<(u32, &str)>(&longer).is_err());
    }
}
