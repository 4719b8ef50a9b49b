//! How a client and an agent prove to each other that they have the same key, without telling it.
//!
//! No I/O here: the caller carries the messages.
//!
//! ```text
//! client                                   agent
//! ClientHandshake::start   ── Hello ────→  AgentHandshake::respond
//! ClientHandshake::finish  ←─ Challenge ─
//!                          ── Proof ────→  AgentHandshake::verify
//! ```
//!
//! The agent proves itself first, so that a client tells nothing to a stranger. A proof is
//! HMAC-SHA256 under the key over the role of who proves, both nonces, and the transcript: whatever
//! else the two must agree on, above all the versions offered, the export, and what ties the
//! handshake to a TLS connection ([`Transcript`]). Each side takes its own view of the transcript,
//! so that
//!
//! * an old proof is of no use: either side has chosen a new nonce;
//! * the agent's proof cannot be sent back as the client's: the roles differ;
//! * nobody in between can change the versions or the export: the views would differ.
//!
//! Whoever sits in between and changes nothing is not noticed, and may change what comes after.
//! Where that is a danger use TLS, and put its exporter into the transcript.

mod proof;
#[cfg(test)]
mod tests;
mod transcript;

use std::fmt;

use crate::key::Key;

use proof::{Role, nonce};

pub use transcript::Transcript;

/// Bytes of a nonce.
pub const NONCE: usize = 32;
/// Bytes of a proof.
pub const PROOF: usize = 32;

/// What a client says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Random, and new for every connection.
    pub nonce: [u8; NONCE],
}

/// What an agent answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Random, and new for every connection.
    pub nonce: [u8; NONCE],
    /// That the agent has the key.
    pub proof: [u8; PROOF],
}

/// What a client says last: that it has the key, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The proof.
    pub proof: [u8; PROOF],
}

/// The other side does not have the key, or does not agree on the transcript. Which of the two is
/// not known, and would be nobody's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// A client that waits for the agent's challenge.
#[derive(Debug)]
pub struct ClientHandshake {
    key: Key,
    nonce: [u8; NONCE],
}

/// An agent that waits for the client's proof.
#[derive(Debug)]
pub struct AgentHandshake {
    key: Key,
    client: [u8; NONCE],
    agent: [u8; NONCE],
    transcript: Vec<u8>,
}

impl ClientHandshake {
    /// Begin.
    pub fn start(key: &Key) -> (ClientHandshake, Hello) {
        let nonce = nonce();
        (ClientHandshake { key: key.clone(), nonce }, Hello { nonce })
    }

    /// Believe the agent, and prove the key to it; or refuse the agent, and tell it nothing.
    pub fn finish(self, challenge: &Challenge, transcript: &[u8]) -> Result<Proof, Refused> {
        let proof = |role| proof::of(&self.key, role, &self.nonce, &challenge.nonce, transcript);
        proof::verify(proof(Role::Agent), &challenge.proof)?;
        Ok(Proof { proof: proof::bytes(proof(Role::Client)) })
    }
}

impl AgentHandshake {
    /// Answer a client, and prove the key to it.
    pub fn respond(key: &Key, hello: &Hello, transcript: &[u8]) -> (AgentHandshake, Challenge) {
        let nonce = nonce();
        let proof = proof::of(key, Role::Agent, &hello.nonce, &nonce, transcript);
        let challenge = Challenge { nonce, proof: proof::bytes(proof) };
        let transcript = transcript.to_vec();
        let (key, client) = (key.clone(), hello.nonce);
        (AgentHandshake { key, client, agent: nonce, transcript }, challenge)
    }

    /// Believe the client, or refuse it. There is one try for each connection.
    pub fn verify(self, proof: &Proof) -> Result<(), Refused> {
        let AgentHandshake { key, client, agent, transcript } = &self;
        proof::verify(proof::of(key, Role::Client, client, agent, transcript), &proof.proof)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the other side could not prove the key: give both the same key file, and see that \
             nobody sits in between",
        )
    }
}

impl std::error::Error for Refused {}
