//! What outlives an agent: a directory in which its clients are known, what came of calls that must
//! not be done twice, which names are being changed, and who holds which lock.
//!
//! Nothing here is made durable on its own: what a process wrote outlives the process, whoever kills
//! it, and that is the promise. Agents that share a directory share their clients.

mod claim;
mod hidden;
mod intent;
mod locked;
mod number;
mod orphans;
mod places;
mod verdict;
mod voucher;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest, Sha256};

use crate::wire::greeting::Bytes32;

pub(super) use claim::Record;
pub(super) use hidden::{HiddenNames, Unused};
pub(super) use intent::{Deed, Held, Intent, Names, Spot};
pub(super) use locked::{Holder, LockedFiles};
pub(super) use number::Number;
pub(super) use orphans::Orphans;
pub(super) use verdict::{Identified, Verdict};
pub(super) use voucher::{Opening, Voucher, opening_in};

/// The name of a client in the directory.
pub(super) type SessionName = [u8; 16];

/// The directory, opened by an agent.
#[derive(Debug)]
pub(super) struct State {
    directory: PathBuf,
    /// What vouchers are sealed with; every agent of the directory has it.
    secret: Bytes32,
    /// No other agent of this directory ever had this number.
    incarnation: u64,
    pub(super) names: Names,
    pub(super) locked: LockedFiles,
    /// Files that lost their last name while they were open.
    pub(super) hidden: HiddenNames,
}

impl State {
    /// Open the directory, or make it.
    pub(super) fn open(directory: &Path) -> io::Result<State> {
        let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        make(directory)?;
        for name in [SESSIONS, WANTED, LOCKS, KEPT, number::DIRECTORY] {
            make(&directory.join(name))?;
        }
        let (secret, incarnation) = found(&directory.join("found"))?;
        Ok(State {
            names: Names::open(&directory.join("names"))?,
            locked: LockedFiles::new(directory.join(LOCKS)),
            hidden: HiddenNames::open(directory)?,
            directory: directory.to_owned(),
            secret,
            incarnation,
        })
    }

    /// Numbers from here on are this agent's alone.
    pub(super) fn first_number(&self) -> u64 {
        self.incarnation << NUMBER_BITS
    }

    fn session_path(&self, name: &SessionName) -> PathBuf {
        self.directory.join(SESSIONS).join(hex(name))
    }

    fn wanted_path(&self, name: &SessionName) -> PathBuf {
        self.directory.join(WANTED).join(hex(name))
    }

    fn proof(&self, export: &str, body: &[u8]) -> Hmac<Sha256> {
        Hmac::<Sha256>::new_from_slice(&self.secret)
            .expect("a key of any length will do")
            .chain_update((export.len() as u64).to_le_bytes())
            .chain_update(export)
            .chain_update(body)
    }
}

/// What a client is called here: nobody who reads it can say that he is that client.
pub(super) fn name_of(token: &Bytes32) -> SessionName {
    let digest: [u8; 32] = Sha256::digest(token).into();
    let mut name = [0; 16];
    name.copy_from_slice(&digest[..16]);
    name
}

/// The secret, made by the first agent that comes, and how many have come.
fn found(path: &Path) -> io::Result<(Bytes32, u64)> {
    let file = Flock::lock(private(path)?, FlockArg::LockExclusive);
    let file = file.map_err(|(_, errno)| io::Error::from(errno))?;
    let mut bytes = [0; 40];
    let known = file.read_at(&mut bytes, 0)? == bytes.len();
    if !known {
        getrandom::fill(&mut bytes[..32]).map_err(io::Error::other)?;
        bytes[32..].fill(0);
    }
    let (secret, count) = bytes.split_at(32);
    let count = u64::from_le_bytes(count.try_into().map_err(io::Error::other)?) + 1;
    let secret: Bytes32 = secret.try_into().map_err(io::Error::other)?;
    bytes[32..].copy_from_slice(&count.to_le_bytes());
    file.write_all_at(&bytes, 0)?;
    // A secret that is forgotten when the power fails would make strangers of all clients.
    file.sync_all()?;
    Ok((secret, count))
}

/// A file that is only ours.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<SessionName> {
    let mut name = [0; 16];
    if text.len() != 2 * name.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in name.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(name)
}

const SESSIONS: &str = "sessions";
const WANTED: &str = "wanted";
const LOCKS: &str = "locks";
const KEPT: &str = "kept";
/// Nodes and open files that one agent can number.
const NUMBER_BITS: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_one_directory_share_the_secret_and_no_number() {
        let room = tempfile::tempdir().unwrap();
        let first = State::open(&room.path().join("state")).unwrap();
        let second = State::open(&room.path().join("state")).unwrap();
        assert_eq!(first.secret, second.secret);
        assert!(first.first_number() < second.first_number());
        assert_ne!(first.secret, State::open(&room.path().join("other")).unwrap().secret);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        let name = name_of(&[7; 32]);
        assert_eq!(from_hex(&hex(&name)), Some(name));
        for wrong in ["", "00", &"g".repeat(32), &"ä".repeat(16)] {
            assert_eq!(from_hex(wrong), None);
        }
    }
}
