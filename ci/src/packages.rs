//! What the judges need and a fresh system lacks: packages of the distribution, and two judges
//! that are built from their crates.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

/// Installs what is missing; says nothing about what is there.
pub(crate) fn install(site: &Site) -> Verdict {
    let names = install_missing(site, WANTED)?;
    let built: Vec<_> = CRATES.iter().map(|c| build(site, c)).collect::<Result<_, _>>()?;
    let built = built.into_iter().flatten();
    let installed: Vec<_> = names.into_iter().chain(built).collect();
    Ok(Outcome::Passed(installed.join(" ")))
}

/// Installs the file systems that `speed-remote` compares with. Their servers are ours to start,
/// not the system's.
pub(crate) fn install_peers(site: &Site) -> Result<(), String> {
    let refusal = Path::new(SERVICE_POLICY);
    let ours = !refusal.exists();
    if ours {
        site.guardian.remove(refusal);
        let failed = |e| format!("{SERVICE_POLICY}: {e}");
        fs::write(refusal, "#!/bin/sh\nexit 101\n").map_err(failed)?;
        fs::set_permissions(refusal, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    let installed = install_missing(site, PEERS);
    if ours {
        fs::remove_file(refusal).map_err(|e| format!("{SERVICE_POLICY}: {e}"))?;
    }
    installed.map(drop)
}

/// Installs what `bench-fio` compares with and by.
pub(crate) fn install_comparison(site: &Site) -> Result<(), String> {
    install_missing(site, &[("fio", "fio"), ("strace", "strace")]).map(drop)
}

fn install_missing(
    site: &Site,
    wanted: &'static [(&'static str, &str)],
) -> Result<Vec<&'static str>, String> {
    let mut names: Vec<_> =
        wanted.iter().filter(|(_, tool)| !is_there(tool)).map(|(package, _)| *package).collect();
    names.dedup();
    if !names.is_empty() {
        apt(site, &["update", "--quiet"])?;
        let mut words = vec!["install", "--quiet", "--yes", "--no-install-recommends"];
        words.extend(&names);
        apt(site, &words)?;
    }
    Ok(names)
}

fn apt(site: &Site, words: &[&str]) -> Result<String, String> {
    let step = Step::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive");
    step.limit(600).run(site)
}

/// Builds a judge unless it is there already.
fn build(
    site: &Site,
    (name, version): &(&'static str, &str),
) -> Result<Option<&'static str>, String> {
    if site.tool(name).is_ok() {
        return Ok(None);
    }
    let step = Step::new("cargo").args(["install", "--quiet", "--locked", "--version", version]);
    step.arg("--root").arg(site.tools()).arg(name).limit(900).run(site)?;
    Ok(Some(name))
}

fn is_there(tool: &str) -> bool {
    let mut find = Command::new("sh");
    find.args(["-c", "PATH=$PATH:/usr/sbin:/sbin command -v \"$0\"", tool]);
    find.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Packages, and a command by which to tell that one is there.
const WANTED: &[(&str, &str)] = &[
    ("acl", "setfacl"),
    ("attr", "setfattr"),
    ("binutils", "strip"),
    ("bindfs", "bindfs"),
    ("btrfs-progs", "mkfs.btrfs"),
    ("chromium", "chromium"),
    ("dbench", "dbench"),
    ("fio", "fio"),
    ("fuse3", "fusermount3"),
    ("git", "git"),
    ("iproute2", "ip"),
    ("rsync", "rsync"),
    ("sqlite3", "sqlite3"),
    ("stress-ng", "stress-ng"),
    ("tar", "tar"),
    ("tmux", "tmux"),
    ("util-linux", "setpriv"),
];

/// What only `speed-remote` needs.
const PEERS: &[(&str, &str)] = &[
    ("glusterfs-client", "glusterfs"),
    ("glusterfs-server", "glusterd"),
    ("openssh-client", "ssh"),
    ("openssh-server", "sshd"),
    ("openssh-sftp-server", "/usr/lib/openssh/sftp-server"),
    ("sshfs", "sshfs"),
];

/// Debian asks this script whether a package may start its service.
const SERVICE_POLICY: &str = "/usr/sbin/policy-rc.d";

/// Crates whose programs judge, at the versions whose verdicts we know.
const CRATES: &[(&str, &str)] = &[("pjdfstest", "0.2.2"), ("fsx", "0.3.2")];
