//! Where objects are: 256 directories by the first byte of the name, the rest of it the file's.

use std::fs;
use std::path::{Path, PathBuf};

use iofwd_mount::Errno;

use super::Key;

/// An object that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub key: Key,
    /// Its size.
    pub size: u64,
}

/// The file of an object.
pub(super) fn place(root: &Path, key: Key) -> PathBuf {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    root.join(digits(&key[..1])).join(digits(&key[1..]))
}

/// Some objects behind this one, in order.
pub(super) fn list(root: &Path, after: Option<Key>) -> Result<Vec<Listed>, Errno> {
    let mut found = Vec::new();
    for first in after.map_or(0, |key| key[0])..=u8::MAX {
        let mut keys = folder(root, first)?;
        keys.retain(|key| after.is_none_or(|after| after < *key));
        keys.sort_unstable();
        for key in keys {
            // One that was removed meanwhile is not there.
            if let Ok(metadata) = fs::metadata(place(root, key)) {
                found.push(Listed { key, size: metadata.len() });
            }
            if found.len() >= LISTED_MOST {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

fn folder(root: &Path, first: u8) -> Result<Vec<Key>, Errno> {
    let mut keys = Vec::new();
    for entry in fs::read_dir(root.join(format!("{first:02x}")))? {
        keys.extend(key(first, &entry?.file_name().to_string_lossy()));
    }
    Ok(keys)
}

/// The object of a file name; nothing if somebody else put it there.
fn key(first: u8, name: &str) -> Option<Key> {
    let mut key = [first; 16];
    if name.len() != 30 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in key[1..].iter_mut().enumerate() {
        *byte = u8::from_str_radix(&name[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(key)
}

const LISTED_MOST: usize = 1_000;
