//! Called as `mount.fuse.iofwd`: how `mount -t fuse.iofwd` and a line in fstab arrive.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Parser;

use super::{Cli, Command, Failure, MountArguments};

/// The mount that was asked for, if the program was called by the helper's name.
pub(super) fn translate(arguments: &[OsString]) -> Option<Result<MountArguments, Failure>> {
    let name = Path::new(arguments.first()?).file_name()?;
    (name == OsStr::new("mount.fuse.iofwd")).then(|| parse(&arguments[1..]))
}

/// `SOURCE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]`, as mount(8) calls helpers.
fn parse(arguments: &[OsString]) -> Result<MountArguments, Failure> {
    let mut typed: Vec<OsString> = vec!["iofwd".into(), "mount".into()];
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("-t" | "-N") => drop(rest.next()),
            Some("-s" | "-n" | "-v" | "-f") => {}
            _ => typed.push(argument.clone()),
        }
    }
    let cli = Cli::try_parse_from(typed).map_err(|error| {
        format!("{error}\nused as: mount -t fuse.iofwd DIRECTORY MOUNTPOINT [-o OPTIONS]")
    })?;
    let Command::Mount(mut mount) = cli.command else {
        return Err("the helper only mounts".into());
    };
    // The administrator mounts as for any other file system: these two are its defaults.
    mount.options.splice(0..0, ["suid".to_string(), "dev".to_string()]);
    Ok(*mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn what_mount_types_is_understood() {
        let line =
            "/sbin/mount.fuse.iofwd /data /mnt -n -o rw,noexec,cache=exclusive -t fuse.iofwd";
        let mount = translate(&words(line)).expect("the helper's name").expect("good arguments");
        assert_eq!(mount.source, Path::new("/data"));
        assert_eq!(mount.options, ["suid", "dev", "rw", "noexec", "cache=exclusive"]);
    }

    #[test]
    fn only_the_helpers_name_makes_it_the_helper() {
        assert!(translate(&words("/usr/bin/iofwd mount a b")).is_none());
        assert!(translate(&words("mount.fuse.iofwd /data")).expect("helper").is_err());
    }
}
