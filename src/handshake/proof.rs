//! What a proof is computed over, and how it is compared.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::key::Key;

use super::{NONCE, PROOF, Refused};

/// Who proves.
#[derive(Clone, Copy)]
pub(super) enum Role {
    Agent,
    Client,
}

impl Role {
    /// What its proofs begin with. Of one length, so that nothing else can be read into it.
    const fn label(self) -> &'static [u8; 24] {
        match self {
            Role::Agent => b"iofwd handshake 1 agent ",
            Role::Client => b"iofwd handshake 1 client",
        }
    }
}

/// The proof of one side, not taken out yet. All parts but the last have one length, so that no two
/// different inputs are the same bytes.
pub(super) fn of(
    key: &Key,
    role: Role,
    client: &[u8; NONCE],
    agent: &[u8; NONCE],
    transcript: &[u8],
) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key.bytes())
        .expect("a key of any length will do")
        .chain_update(role.label())
        .chain_update(client)
        .chain_update(agent)
        .chain_update(transcript)
}

/// The bytes of a proof.
pub(super) fn bytes(proof: Hmac<Sha256>) -> [u8; PROOF] {
    proof.finalize().into_bytes().into()
}

/// Compare in a time that does not depend on where the two differ.
pub(super) fn verify(proof: Hmac<Sha256>, given: &[u8; PROOF]) -> Result<(), Refused> {
    proof.verify_slice(given).map_err(|_| Refused)
}

/// A new nonce.
pub(super) fn nonce() -> [u8; NONCE] {
    let mut bytes = [0; NONCE];
    getrandom::fill(&mut bytes).expect("the kernels we run on always have random bytes");
    bytes
}
