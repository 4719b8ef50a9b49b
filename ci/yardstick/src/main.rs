//! The yardstick: a FUSE pass-through with nothing added, which the mount's speed is measured
//! against. Four event loops with their own descriptors, direct I/O, one reused buffer per loop;
//! no scheduler, no change of identity, no cache beyond `--ttl` seconds for names and attributes.
//!
//! `yardstick [--ttl SECONDS] DIR MOUNTPOINT` stays in the foreground and ends on unmount.

mod attribute;
mod directory;
mod node;
mod passthrough;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use fuser::{Config, MountOption, SessionACL};

use crate::passthrough::Passthrough;

struct Arguments {
    ttl: Duration,
    directory: PathBuf,
    mountpoint: PathBuf,
}

fn main() -> ExitCode {
    match parse().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "a command line program reports its end here")]
            {
                eprintln!("yardstick: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn parse() -> Result<Arguments, String> {
    let usage = || "usage: yardstick [--ttl SECONDS] DIR MOUNTPOINT".to_owned();
    let mut ttl = Duration::ZERO;
    let mut paths = Vec::new();
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        if word == "--ttl" {
            let seconds = words.next().and_then(|w| w.to_str()?.parse().ok());
            ttl = Duration::from_secs(seconds.ok_or_else(usage)?);
        } else {
            paths.push(PathBuf::from(word));
        }
    }
    let [directory, mountpoint] = <[PathBuf; 2]>::try_from(paths).map_err(|_| usage())?;
    Ok(Arguments { ttl, directory, mountpoint })
}

fn run(arguments: Arguments) -> Result<(), String> {
    raise_descriptor_limit();
    let filesystem = Passthrough::new(&arguments.directory, arguments.ttl)
        .map_err(|error| format!("{}: {error}", arguments.directory.display()))?;
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("yardstick".into()), MountOption::Subtype("yardstick".into())];
    if nix::unistd::geteuid().is_root() {
        config.acl = SessionACL::All;
    }
    config.n_threads = Some(4);
    config.clone_fd = true;
    fuser::mount(filesystem, &arguments.mountpoint, &config)
        .map_err(|error| format!("{}: {error}", arguments.mountpoint.display()))
}

/// Every name the kernel remembers holds a descriptor here, so the soft limit goes to the hard one.
fn raise_descriptor_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Failing leaves the old limit, with which a small tree still works.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
