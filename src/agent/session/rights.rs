//! Who a client may speak for, and whether it may change anything.

use std::sync::Arc;

use iofwd_mount::Errno;

use crate::backend::posix::Identity;
use crate::control;
use crate::wire::call::Call;

/// What a client may do.
#[derive(Clone, Debug)]
pub struct Rights {
    /// Nothing may be changed.
    pub read_only: bool,
    /// As whom it acts.
    pub squash: Squash,
    /// The user and group that take the place of those who may not act.
    pub anonymous: (u32, u32),
    /// Users and groups below this number may not act.
    pub least_id: u32,
}

/// Whom the client may not act as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Squash {
    /// It may act as anybody.
    None,
    /// As anybody but the super-user.
    Root,
    /// As nobody but the anonymous user.
    All,
    /// As this one user only: who it is was seen, not told.
    Only(Identity),
}

impl Rights {
    /// As whom a user of the client acts here.
    pub(super) fn identity(&self, uid: u32, gid: u32, groups: &[u32]) -> Identity {
        let (nobody, nogroup) = self.anonymous;
        match &self.squash {
            Squash::Only(identity) => identity.clone(),
            Squash::All => Identity::new(nobody, nogroup, Arc::from([])),
            Squash::None | Squash::Root => {
                let is_root = self.squash == Squash::Root;
                let least = if is_root { self.least_id.max(1) } else { self.least_id };
                let user = |id: u32| if id < least { nobody } else { id };
                let group = |id: u32| if id < least { nogroup } else { id };
                let groups = groups.iter().map(|id| group(*id)).collect();
                Identity::new(user(uid), group(gid), groups)
            }
        }
    }

    /// Refuse what a client may not do here.
    pub(super) fn check(&self, call: &Call<'_>) -> Result<(), Errno> {
        if self.read_only && changes(call) {
            return Err(Errno::from_raw(libc::EROFS));
        }
        Ok(())
    }
}

/// Whether a call changes files, names or attributes.
fn changes(call: &Call<'_>) -> bool {
    match call {
        Call::Setattr { .. }
        | Call::Mknod { .. }
        | Call::Mkdir { .. }
        | Call::Unlink { .. }
        | Call::Rmdir { .. }
        | Call::Symlink { .. }
        | Call::Rename { .. }
        | Call::Link { .. }
        | Call::Create { .. }
        | Call::Tmpfile { .. }
        | Call::Write(_)
        | Call::Setxattr { .. }
        | Call::Removexattr { .. }
        | Call::Fallocate { .. }
        | Call::CopyFileRange(_)
        | Call::Object(_)
        | Call::File(_) => true,
        Call::Open { how, .. } => {
            how.flags & libc::O_ACCMODE != libc::O_RDONLY || how.flags & libc::O_TRUNC != 0
        }
        // Those that only read have their answer's direction alone in their number.
        Call::Ioctl { command, .. } => command >> 30 & 1 != 0 && !control::only_asks(*command),
        Call::Ping
        | Call::Introduce { .. }
        | Call::Cancel { .. }
        | Call::Forget { .. }
        | Call::Lookup { .. }
        | Call::Getattr { .. }
        | Call::Readlink { .. }
        | Call::Read(_)
        | Call::Flush { .. }
        | Call::Release { .. }
        | Call::Fsync { .. }
        | Call::Opendir { .. }
        | Call::Readdir { .. }
        | Call::Releasedir { .. }
        | Call::Fsyncdir { .. }
        | Call::Statfs { .. }
        | Call::Getxattr { .. }
        | Call::Listxattr { .. }
        | Call::Access { .. }
        | Call::Getlk(_)
        | Call::Setlk(_)
        | Call::Lseek { .. }
        | Call::Control { .. }
        | Call::Adopt { .. }
        | Call::Reopen { .. }
        | Call::Reclaim(_)
        | Call::Restored
        | Call::Leave => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iofwd_mount::store::{HandleId, NodeId, OpenHow};

    fn rights(squash: Squash) -> Rights {
        Rights { read_only: false, squash, anonymous: (65534, 65533), least_id: 0 }
    }

    fn identity(uid: u32, gid: u32, groups: &[u32]) -> Identity {
        Identity::new(uid, gid, Arc::from(groups))
    }

    #[test]
    fn root_is_squashed_wherever_it_hides() {
        let rights = rights(Squash::Root);
        assert_eq!(rights.identity(0, 0, &[0, 4]), identity(65534, 65533, &[65533, 4]));
        assert_eq!(rights.identity(1000, 100, &[]), identity(1000, 100, &[]));
        assert_eq!(rights.identity(1000, 0, &[]), identity(1000, 65533, &[]));
    }

    #[test]
    fn all_are_squashed_and_a_user_that_was_seen_is_that_user() {
        assert_eq!(rights(Squash::All).identity(1000, 100, &[4]), identity(65534, 65533, &[]));
        let seen = rights(Squash::Only(identity(1000, 100, &[7])));
        assert_eq!(seen.identity(0, 0, &[0]), identity(1000, 100, &[7]));
        assert_eq!(rights(Squash::None).identity(0, 0, &[0]), identity(0, 0, &[0]));
    }

    #[test]
    fn ids_below_the_least_are_squashed() {
        let rights = Rights { least_id: 1000, ..rights(Squash::None) };
        assert_eq!(rights.identity(999, 1000, &[4]), identity(65534, 1000, &[65533]));
    }

    #[test]
    fn nothing_changes_what_is_exported_read_only() {
        let rights = Rights { read_only: true, ..rights(Squash::None) };
        let open = |flags| Call::Open { node: NodeId(2), how: OpenHow { flags, readable: false } };
        assert!(rights.check(&open(libc::O_RDONLY)).is_ok());
        for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_RDONLY | libc::O_TRUNC] {
            assert_eq!(rights.check(&open(flags)), Err(Errno::from_raw(libc::EROFS)));
        }
        let unlink = Call::Unlink { parent: NodeId(1), name: b"x" };
        assert!(rights.check(&unlink).is_err());
        let set_flags = Call::Ioctl { handle: HandleId(1), command: 0x4008_6602, room: 0 };
        assert!(rights.check(&set_flags).is_err());
        let ask = Call::Ioctl { handle: HandleId(1), command: control::SNAPSHOT, room: 8 };
        assert!(rights.check(&ask).is_ok());
        let get_flags = Call::Ioctl { handle: HandleId(1), command: 0x8008_6601, room: 8 };
        assert!(rights.check(&get_flags).is_ok());
    }
}
