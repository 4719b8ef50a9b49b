//! Vouchers: what a client shows to an agent that does not know it, to get back what it had. Sealed,
//! so that nobody can make one: whoever could would reach every file of the file system.

use hmac::Mac;
use serde::{Deserialize, Serialize};

use crate::backend::posix::Remembered;

use super::State;
use super::verdict::Identified;

/// A node that a client was told of, and as what it may have it open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Voucher {
    identified: Identified,
    mode: u32,
    /// What the file system itself finds it by.
    handle: Option<(i32, Vec<u8>)>,
    /// The right to have it open so: it was checked when it was opened.
    pub(crate) opening: Option<Opening>,
}

/// How something is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Opening {
    /// A file, with these flags, and whether the kernel may read it whatever they say.
    File { flags: i32, readable: bool },
    /// A directory.
    Directory { flags: i32 },
}

impl Voucher {
    pub(crate) fn new(node: Remembered, opening: Option<Opening>) -> Voucher {
        let identified = Identified::new(node.key, node.birth);
        Voucher { identified, mode: node.mode, handle: node.handle, opening }
    }

    /// The node that it vouches for.
    pub(crate) fn node(&self) -> Remembered {
        Remembered {
            key: self.identified.key(),
            birth: self.identified.birth(),
            mode: self.mode,
            handle: self.handle.clone(),
        }
    }
}

/// How something is open, as a voucher says that somebody else may have sealed.
pub(crate) fn opening_in(sealed: &[u8]) -> Option<Opening> {
    let (_, body) = sealed.split_at_checked(SEAL)?;
    postcard::from_bytes::<Voucher>(body).ok()?.opening
}

impl State {
    /// The voucher as a client of that export may have it.
    pub(crate) fn seal(&self, export: &str, voucher: &Voucher) -> Vec<u8> {
        let body = postcard::to_stdvec(voucher).unwrap_or_default();
        let proof = self.proof(export, &body).finalize().into_bytes();
        [&proof[..SEAL], &body[..]].concat()
    }

    /// What is in it, if an agent of this directory has sealed it for that export.
    pub(crate) fn unseal(&self, export: &str, sealed: &[u8]) -> Option<Voucher> {
        let (seal, body) = sealed.split_at_checked(SEAL)?;
        self.proof(export, body).verify_truncated_left(seal).ok()?;
        postcard::from_bytes(body).ok()
    }
}

/// Bytes of a seal.
const SEAL: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::posix::Key;

    #[test]
    fn a_voucher_is_good_where_it_was_sealed_and_as_it_was_sealed() {
        let room = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| State::open(&room.path().join(name)));
        let (one, other) = (one.unwrap(), other.unwrap());
        let key = Key { device: (8, 1), number: 77 };
        let node = Remembered { key, birth: None, mode: 0o100_644, handle: Some((1, vec![7; 8])) };
        let opening = Some(Opening::File { flags: 2, readable: false });
        let voucher = Voucher::new(node, opening);
        let sealed = one.seal("scratch", &voucher);
        assert_eq!(opening_in(&sealed), opening);
        assert_eq!(opening_in(&sealed[..SEAL]), None);
        assert_eq!(one.unseal("scratch", &sealed), Some(voucher));
        assert_eq!(one.unseal("home", &sealed), None);
        assert_eq!(other.unseal("scratch", &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(one.unseal("scratch", &changed), None);
            assert_eq!(one.unseal("scratch", &sealed[..at]), None);
        }
    }
}
