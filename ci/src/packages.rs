//! What the judges need and a fresh system lacks: packages of the distribution, and two judges
//! that are built from their crates.

use std::process::{Command, Stdio};

use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

/// Installs what is missing; says nothing about what is there.
pub(crate) fn install(site: &Site) -> Verdict {
    let mut missing: Vec<_> = WANTED.iter().filter(|(_, tool)| !is_there(tool)).collect();
    missing.dedup_by_key(|(package, _)| *package);
    let names: Vec<_> = missing.iter().map(|(package, _)| *package).collect();
    if !names.is_empty() {
        apt(site, &["update", "--quiet"])?;
        let mut words = vec!["install", "--quiet", "--yes", "--no-install-recommends"];
        words.extend(&names);
        apt(site, &words)?;
    }
    let built: Vec<_> = CRATES.iter().map(|c| build(site, c)).collect::<Result<_, _>>()?;
    let built = built.into_iter().flatten();
    let installed: Vec<_> = names.into_iter().chain(built).collect();
    Ok(Outcome::Passed(installed.join(" ")))
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
    ("bindfs", "bindfs"),
    ("dbench", "dbench"),
    ("fio", "fio"),
    ("fuse3", "fusermount3"),
    ("git", "git"),
    ("rsync", "rsync"),
    ("sqlite3", "sqlite3"),
    ("stress-ng", "stress-ng"),
    ("tar", "tar"),
    ("util-linux", "setpriv"),
];

/// Crates whose programs judge, at the versions whose verdicts we know.
const CRATES: &[(&str, &str)] = &[("pjdfstest", "0.2.2"), ("fsx", "0.3.2")];
