//! Acting as the user who asked.
//!
//! A privileged agent takes the caller's user, group and supplementary groups on for its own
//! thread, and gives up the capabilities that would let it pass what the caller may not. The kernel
//! then decides as it would for the caller itself: permissions, ACLs, sticky bits, quotas.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// A user as the kernel judges one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    uid: u32,
    gid: u32,
    groups: Arc<[u32]>,
}

impl Identity {
    /// A user, a group, and the supplementary groups.
    pub fn new(uid: u32, gid: u32, groups: Arc<[u32]>) -> Identity {
        Identity { uid, gid, groups }
    }

    /// The user id.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The group id.
    pub fn gid(&self) -> u32 {
        self.gid
    }

    /// The supplementary groups.
    pub fn groups(&self) -> Arc<[u32]> {
        Arc::clone(&self.groups)
    }

    /// Whether this process may act as others. If not it acts as itself, for everybody.
    pub fn can_be_assumed() -> bool {
        static PRIVILEGED: OnceLock<bool> = OnceLock::new();
        *PRIVILEGED.get_or_init(|| nix::unistd::geteuid().is_root())
    }

    /// From now on this thread acts as that user. Costs nothing if it does already.
    pub fn assume(&self) {
        CURRENT.with_borrow_mut(|current| {
            if current.as_ref() != Some(self) && Identity::can_be_assumed() {
                self.switch(current.as_ref());
                *current = Some(self.clone());
            }
        });
    }

    /// From now on this thread acts as the agent itself.
    pub fn assume_agent() {
        CURRENT.with_borrow_mut(|current| {
            // The super-user may do all that the agent may: there is nothing to change.
            if let Some(before) = current.take_if(|before| !before.is_super_user()) {
                Identity::new(0, 0, Arc::from([])).switch(Some(&before));
            }
        });
    }

    /// Do something as the agent itself, and go on as whoever this thread acts as.
    pub fn as_agent<T>(act: impl FnOnce() -> T) -> T {
        let before = CURRENT.with_borrow(Clone::clone);
        Identity::assume_agent();
        let done = act();
        if let Some(before) = before {
            before.assume();
        }
        done
    }

    fn is_super_user(&self) -> bool {
        self.uid == 0 && self.gid == 0 && self.groups.is_empty()
    }

    fn switch(&self, before: Option<&Identity>) {
        if before.map(|before| &before.groups) != Some(&self.groups) {
            set_groups(&self.groups);
        }
        set_group(self.gid);
        set_user(self.uid);
        limit_resources(self.uid != 0);
    }
}

thread_local! {
    /// Whom this thread acts as; `None` is the agent as it was started.
    static CURRENT: RefCell<Option<Identity>> = const { RefCell::new(None) };
}

// The C library's functions change all threads of the process; the bare system calls only this one.

fn set_user(uid: u32) {
    // SAFETY: changes this thread's file system identity and no memory.
    unsafe { libc::syscall(libc::SYS_setfsuid, uid) };
}

fn set_group(gid: u32) {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_setfsgid, gid) };
}

fn set_groups(groups: &[u32]) {
    // SAFETY: the list is as long as said.
    unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
}

/// Without this capability quotas and reserved blocks hold, as they do for the caller.
fn limit_resources(limit: bool) {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut sets = [CapabilitySet::default(); 2];
    // SAFETY: the header names a version whose data is two sets, and both outlive the call.
    if unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) } != 0 {
        return;
    }
    let bit = 1 << CAP_SYS_RESOURCE;
    let wanted = if limit {
        sets[0].effective & !bit
    } else {
        sets[0].effective | (sets[0].permitted & bit)
    };
    if wanted != sets[0].effective {
        sets[0].effective = wanted;
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) };
    }
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySet {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const CAP_SYS_RESOURCE: u32 = 24;

/// Set this thread's file creation mask, for this thread alone.
pub(super) fn set_umask(umask: u32) {
    thread_local! {
        static MASK: RefCell<Option<u32>> = const { RefCell::new(None) };
    }
    MASK.with_borrow_mut(|current| {
        if current.is_none() {
            // SAFETY: detaches this thread's mask and working directory from the other threads'.
            unsafe { libc::unshare(libc::CLONE_FS) };
        }
        if *current != Some(umask) {
            // SAFETY: changes a number in the kernel.
            unsafe { libc::umask(umask) };
            *current = Some(umask);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_becomes_another_user_and_itself_again() {
        if !Identity::can_be_assumed() {
            return eprintln!("skipped: only root can act as another user");
        }
        std::thread::spawn(|| {
            let dir = tempfile::tempdir().unwrap();
            let secret = dir.path().join("secret");
            std::fs::write(&secret, "x").unwrap();
            std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o640))
                .unwrap();
            std::os::unix::fs::chown(&secret, Some(0), Some(4242)).unwrap();
            std::fs::set_permissions(
                dir.path(),
                std::os::unix::fs::PermissionsExt::from_mode(0o755),
            )
            .unwrap();
            Identity::new(1234, 1234, Arc::from([])).assume();
            assert!(std::fs::read(&secret).is_err(), "neither owner nor group");
            Identity::new(1234, 1234, Arc::from([7, 4242])).assume();
            assert_eq!(std::fs::read(&secret).unwrap(), b"x", "a supplementary group lets it");
            Identity::assume_agent();
            assert_eq!(std::fs::read(&secret).unwrap(), b"x");
        })
        .join()
        .unwrap();
    }
}
