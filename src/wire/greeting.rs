//! How a connection begins.
//!
//! The client says [`Hello`] with the versions it speaks; the agent answers with an [`Offer`] that
//! proves that it knows the key, or refuses in words. The client says what it wants, with its own
//! proof, and is welcome, or not. The first message never changes its form, so that every version
//! can at least refuse every other one clearly.

use serde::{Deserialize, Serialize};

use super::frame::{HEAD_MOST, Malformed};

/// The first bytes of a connection.
pub const MAGIC: [u8; 6] = *b"iofwd\n";

/// Random bytes used once, and proofs made with them.
pub type Bytes32 = [u8; 32];

/// The client's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`MAGIC`].
    pub magic: [u8; 6],
    /// The versions it speaks, best first.
    pub versions: Vec<u16>,
    /// Used once.
    pub nonce: Bytes32,
}

/// The agent's answer to a [`Hello`], and to an [`Enter`] that it does not grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reception {
    /// Go on.
    Offer(Offer),
    /// No, and why, in words for the user.
    Refused(String),
    /// Come in.
    Welcome(Welcome),
    /// What was asked for by [`Purpose::Control`].
    Told(String),
}

/// The agent speaks that version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The version spoken from now on.
    pub version: u16,
    /// Used once.
    pub nonce: Bytes32,
    /// That the agent knows the key; without one it has none, and asks for none.
    pub proof: Option<Bytes32>,
}

/// The client's second message: what it wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enter {
    /// What it wants.
    pub purpose: Purpose,
    /// That the client knows the key.
    pub proof: Option<Bytes32>,
}

/// What a client wants of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// Use an export.
    Mount {
        /// Its name; empty is the only one there is.
        export: String,
        /// A directory below it, as bytes.
        subtree: Vec<u8>,
        /// Who the client is, in words for the agent's user.
        client: String,
    },
    /// One more connection of a client that is there already.
    Join {
        /// The client's number.
        session: u64,
        /// What it was given with it.
        token: Bytes32,
    },
    /// Ask or tell the agent something, in words.
    Control {
        /// The words.
        words: Vec<String>,
    },
}

/// The agent's terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The client's number.
    pub session: u64,
    /// By which further connections of the client are known.
    pub token: Bytes32,
    /// The cost of requests that may be under way on this connection at a time.
    pub grant: u32,
    /// A client that is silent for so many milliseconds is given up.
    pub idle_ms: u32,
}

/// No list of versions is longer.
const VERSIONS_MOST: usize = 64;

impl Hello {
    /// Whether it can be one.
    pub fn check(&self) -> Result<(), Malformed> {
        if self.magic != MAGIC || self.versions.len() > VERSIONS_MOST {
            return Err(Malformed("what connected does not speak this protocol"));
        }
        Ok(())
    }
}

/// What both sides have said before the client's proof, as the proofs cover it.
pub fn transcript(hello: &Hello, version: u16, purpose: Option<&Purpose>) -> Vec<u8> {
    let bytes = Vec::with_capacity(HEAD_MOST.min(256));
    postcard::to_extend(&(hello, version, purpose), bytes).unwrap_or_default()
}
