//! Which servers a file system has, and which of them this one is.
//!
//! Files name their servers by their places in a list. Agents whose list is another would find other
//! bytes, so every server writes down the list of the first one that comes, and turns away those that
//! differ.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use iofwd_mount::Errno;

/// The list, and this server's own name in it.
#[derive(Debug)]
pub(super) struct Roster {
    identity: [u8; 16],
    file: PathBuf,
    turn: Mutex<()>,
}

impl Roster {
    pub(super) fn open(directory: &Path) -> Result<Roster, Errno> {
        let place = directory.join("identity");
        let identity = match fs::read(&place) {
            Ok(bytes) => bytes.try_into().map_err(|_| Errno::EIO)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut identity = [0; 16];
                getrandom::fill(&mut identity).map_err(|_| Errno::EIO)?;
                replace(&place, &identity)?;
                identity
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Roster { identity, file: directory.join("servers"), turn: Mutex::new(()) })
    }

    /// Who this server is.
    pub(super) fn identity(&self) -> [u8; 16] {
        self.identity
    }

    /// An agent has this list. It may have servers at its end that are new; `EXDEV` if it differs.
    pub(super) fn enrol(&self, list: &[u8]) -> Result<(), Errno> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match fs::read(&self.file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            known => known?,
        };
        let (servers, rest) = list.as_chunks::<16>();
        let is_listed = rest.is_empty() && servers.contains(&self.identity);
        if !is_listed || !list.starts_with(&known) {
            return Err(Errno::from_raw(libc::EXDEV));
        }
        if list.len() > known.len() {
            replace(&self.file, list)?;
        }
        Ok(())
    }
}

/// Write a file so that it is either there or as before, whatever happens.
fn replace(place: &Path, bytes: &[u8]) -> Result<(), Errno> {
    let new = place.with_extension("new");
    let mut options = fs::File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(fs::rename(new, place)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_grow_and_nothing_else() {
        let room = tempfile::tempdir().expect("a directory");
        let roster = Roster::open(room.path()).expect("a roster");
        let own = roster.identity();
        let list = |others: &[u8]| {
            let others = others.iter().flat_map(|other| [*other; 16]);
            own.into_iter().chain(others).collect::<Vec<u8>>()
        };
        roster.enrol(&list(&[1, 2])).expect("the first says what is there");
        let again = Roster::open(room.path()).expect("the same roster");
        assert_eq!(again.identity(), own);
        again.enrol(&list(&[1, 2])).expect("the same list");
        again.enrol(&list(&[1, 2, 3])).expect("one more");
        for wrong in [list(&[2, 1, 3]), list(&[1, 2]), vec![1; 16], vec![1; 3], [1; 16].repeat(5)] {
            assert_eq!(again.enrol(&wrong).map_err(Errno::raw), Err(libc::EXDEV));
        }
    }
}
