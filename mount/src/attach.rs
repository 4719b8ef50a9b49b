//! Puts the tree into place: the system call where this process may make it, else the helper.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;

use fuser::{Config, MountOption, SessionACL};
use nix::mount::{MsFlags, mount};

use crate::cache::Cache;
use crate::negotiation::Negotiation;
use crate::session::Options;

/// Mount, and agree with the kernel on the terms.
pub(crate) fn attach(
    options: &Options,
    negotiation: Negotiation,
) -> io::Result<fuser::Session<Negotiation>> {
    let acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
    match directly(options)? {
        Some(device) => fuser::Session::from_fd(negotiation, device, acl, Config::default()),
        None => {
            let mut config = Config::default();
            config.mount_options = helper_options(options);
            config.acl = acl;
            fuser::Session::new(negotiation, &options.mountpoint, &config)
        }
    }
}

/// Mount as the super-user, under a type of our own: the helper that `fuser` has for this calls
/// every mount just `fuse`. `None` if this process may not.
fn directly(options: &Options) -> io::Result<Option<OwnedFd>> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(None);
    }
    let device = File::options().read(true).write(true).open("/dev/fuse")?;
    let root_mode = options.mountpoint.metadata()?.permissions().mode();
    let mut data = format!(
        "fd={},rootmode={root_mode:o},user_id=0,group_id={}",
        device.as_raw_fd(),
        nix::unistd::getegid()
    );
    let (flags, words) = kernel_options(options);
    for word in words {
        data.push(',');
        data.push_str(&word);
    }
    let (source, place) = (Some(options.source.as_str()), &options.mountpoint);
    match mount(source, place, Some("fuse.iofwd"), flags, Some(data.as_str())) {
        Ok(()) => Ok(Some(device.into())),
        Err(nix::Error::EPERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The flags of the system call, and what goes along as text.
fn kernel_options(options: &Options) -> (MsFlags, Vec<String>) {
    let mut flags = MsFlags::empty();
    flags.set(MsFlags::MS_RDONLY, options.read_only);
    flags.set(MsFlags::MS_NOSUID, !options.suid);
    flags.set(MsFlags::MS_NODEV, !options.dev);
    let mut words = Vec::new();
    for option in &options.extra {
        match option.as_str() {
            "exec" | "atime" | "async" => {}
            "noexec" => flags |= MsFlags::MS_NOEXEC,
            "noatime" => flags |= MsFlags::MS_NOATIME,
            "sync" => flags |= MsFlags::MS_SYNCHRONOUS,
            "dirsync" => flags |= MsFlags::MS_DIRSYNC,
            other => words.push(other.to_string()),
        }
    }
    if options.allow_other {
        words.push("allow_other".into());
    }
    if checks_in_kernel(options) {
        words.push("default_permissions".into());
    }
    (flags, words)
}

/// Where names are cached nobody but the kernel can check permissions on the way.
fn checks_in_kernel(options: &Options) -> bool {
    options.cache == Cache::Exclusive
}

fn helper_options(options: &Options) -> Vec<MountOption> {
    let mut list = vec![
        MountOption::FSName(options.source.replace('\\', "\\\\").replace(',', "\\,")),
        MountOption::Subtype("iofwd".into()),
        if options.read_only { MountOption::RO } else { MountOption::RW },
    ];
    if checks_in_kernel(options) {
        list.push(MountOption::DefaultPermissions);
    }
    list.extend(options.extra.iter().cloned().map(MountOption::CUSTOM));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_flags_or_words() {
        let mut options = Options::new("/mnt".into(), "/data".into());
        options.extra = vec!["noexec".into(), "context=x".into()];
        options.allow_other = true;
        options.read_only = true;
        let (flags, words) = kernel_options(&options);
        let expected =
            MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        assert_eq!(flags, expected);
        assert_eq!(words, ["context=x", "allow_other"]);
    }
}
