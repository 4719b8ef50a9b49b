//! How a connection begins.
//!
//! The client says [`Hello`]: the versions it speaks, and what it wants. The agent answers with an
//! [`Offer`] that proves that it has the key, or refuses in words. The client answers with its own
//! proof ([`Enter`]), and is welcome, or not. The form of the first message never changes, so that
//! every version can at least refuse every other one clearly.

use serde::{Deserialize, Serialize};

use super::VERSIONS;
use super::frame::{Malformed, decode};

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
    /// A [`Purpose`], in the form of the first of the versions.
    #[serde(with = "serde_bytes")]
    pub purpose: Vec<u8>,
}

/// The agent's answers to a [`Hello`] and to an [`Enter`].
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
    /// What is to be resumed is not known here, or not any more.
    Unknown,
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

/// The client's second message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enter {
    /// That the client has the key, if the agent has one.
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
    /// Go on with what was begun with this agent, or with another one over the same directory.
    Resume {
        /// The token of the [`Welcome`] that it began with.
        token: Bytes32,
        /// As in [`Purpose::Mount`].
        export: String,
        /// As in [`Purpose::Mount`].
        subtree: Vec<u8>,
        /// As in [`Purpose::Mount`].
        client: String,
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
    /// A client that lost its connections for so many milliseconds can go on where it was; 0 if it
    /// cannot.
    pub grace_ms: u32,
}

/// No list of versions is longer.
const VERSIONS_MOST: usize = 64;

impl Hello {
    /// The first message of a client that wants this.
    pub fn new(purpose: &Purpose, nonce: Bytes32) -> Hello {
        let purpose = postcard::to_stdvec(purpose).unwrap_or_default();
        Hello { magic: MAGIC, versions: VERSIONS.to_vec(), nonce, purpose }
    }

    /// What the client wants.
    pub fn purpose(&self) -> Result<Purpose, Malformed> {
        decode(&self.purpose)
    }

    /// Whether it can be one.
    pub fn check(&self) -> Result<(), Malformed> {
        if self.magic != MAGIC || self.versions.len() > VERSIONS_MOST {
            return Err(Malformed("what connected does not speak this protocol"));
        }
        Ok(())
    }
}
