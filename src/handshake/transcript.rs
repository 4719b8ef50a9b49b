//! What both sides must agree on, as bytes that can be read in one way only.

/// What a client and an agent must agree on. Both add the same parts in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript(Vec<u8>);

/// What a part is. The numbers are a part of every proof and never change.
#[derive(Clone, Copy)]
enum Part {
    Offered = 1,
    Chosen = 2,
    Export = 3,
    Channel = 4,
    Other = 5,
}

impl Transcript {
    /// Nothing agreed on yet.
    pub fn new() -> Transcript {
        Transcript::default()
    }

    /// The versions that the client offered, in its order: whoever takes the newest away is noticed.
    #[must_use]
    pub fn offered(self, versions: &[u16]) -> Transcript {
        let bytes: Vec<u8> = versions.iter().flat_map(|version| version.to_be_bytes()).collect();
        self.add(Part::Offered, &bytes)
    }

    /// The version that the agent chose.
    #[must_use]
    pub fn chosen(self, version: u16) -> Transcript {
        self.add(Part::Chosen, &version.to_be_bytes())
    }

    /// What the client wants to mount.
    #[must_use]
    pub fn export(self, name: &[u8]) -> Transcript {
        self.add(Part::Export, name)
    }

    /// Keying material exported from the TLS connection: it is the same at both ends of one
    /// connection, and of no other.
    #[must_use]
    pub fn channel(self, exporter: &[u8; 32]) -> Transcript {
        self.add(Part::Channel, exporter)
    }

    /// Anything else.
    #[must_use]
    pub fn other(self, bytes: &[u8]) -> Transcript {
        self.add(Part::Other, bytes)
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What it is, how long it is, and the part itself.
    fn add(mut self, part: Part, bytes: &[u8]) -> Transcript {
        self.0.push(part as u8);
        self.0.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_agreements_are_the_same_bytes() {
        let all = [
            Transcript::new(),
            Transcript::new().other(b""),
            Transcript::new().export(b""),
            Transcript::new().export(b"ab"),
            Transcript::new().export(b"a").export(b"b"),
            Transcript::new().export(b"a").other(b"b"),
            Transcript::new().other(b"a").export(b"b"),
            Transcript::new().offered(&[1]),
            Transcript::new().chosen(1),
            Transcript::new().offered(&[1, 2]),
            Transcript::new().offered(&[2, 1]),
            Transcript::new().offered(&[0x0102]),
            Transcript::new().channel(&[0; 32]),
            Transcript::new().other(&[0; 32]),
        ];
        for (index, one) in all.iter().enumerate() {
            for other in &all[index + 1..] {
                assert_ne!(one.bytes(), other.bytes());
            }
        }
    }

    #[test]
    fn the_bytes_are_what_they_always_were() {
        let transcript = Transcript::new().offered(&[2, 1]).chosen(2).export(b"a");
        let expected = b"\x01\0\0\0\0\0\0\0\x04\0\x02\0\x01\
                         \x02\0\0\0\0\0\0\0\x02\0\x02\
                         \x03\0\0\0\0\0\0\0\x01a";
        assert_eq!(transcript.bytes(), expected);
    }
}
