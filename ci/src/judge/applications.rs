//! Programs that people run: a file server's load, git, and a compiler.

use std::fs;
use std::path::Path;

use crate::area::Area;
use crate::mounted::{in_each_mode, on_mount};
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

/// dbench, with extended attributes, as a file server uses them.
pub(crate) fn dbench(site: &Site) -> Verdict {
    let area = Area::new(site, "dbench")?;
    let output = on_mount(site, &area, Cache::Coherent, |mounted| {
        let load = ["--timelimit=10", "--xattr", "4"];
        Step::new("dbench").arg("--directory").arg(mounted.path()).args(load).run(site)
    })?;
    area.clear();
    let throughput = output.lines().rfind(|line| line.starts_with("Throughput"));
    // dbench ends with success even when its clients gave up early.
    throughput
        .map(|line| Outcome::Passed(line.into()))
        .ok_or_else(|| format!("no result\n{output}"))
}

/// Clones this repository, checks every object, commits, and finds the tree clean.
pub(crate) fn git(site: &Site) -> Verdict {
    let area = |cache| Area::for_mode(site, "git", cache);
    in_each_mode(site, &Cache::ALL, area, |mounted, _| {
        let clone = mounted.path().join("clone");
        let source = format!("file://{}", site.workspace.display());
        git_step(&["clone", "--quiet", &source]).arg(&clone).run(site)?;
        git_in(site, &clone, &["fsck", "--full", "--strict"])?;
        clean(site, &clone)?;
        fs::write(clone.join("new"), "new\n").map_err(|e| format!("write: {e}"))?;
        git_in(site, &clone, &["add", "new"])?;
        git_in(site, &clone, &["commit", "--quiet", "--message", "new"])?;
        git_in(site, &clone, &["gc", "--quiet"])?;
        git_in(site, &clone, &["fsck", "--full", "--strict"])?;
        clean(site, &clone)
    })?;
    Ok(Outcome::Passed("in each cache mode".into()))
}

fn clean(site: &Site, clone: &Path) -> Result<(), String> {
    let changed = git_in(site, clone, &["status", "--porcelain"])?;
    if changed.is_empty() { Ok(()) } else { Err(format!("the clone is not clean:\n{changed}")) }
}

fn git_in(site: &Site, clone: &Path, words: &[&str]) -> Result<String, String> {
    git_step(words).dir(clone).run(site)
}

/// Without the settings of whoever runs us; a clone of a repository of another user is fine.
fn git_step(words: &[&str]) -> Step {
    let step = Step::new("git").args(["-c", "safe.directory=*"]);
    let step = step.args(["-c", "user.name=ci", "-c", "user.email=ci@localhost"]).args(words);
    step.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null")
}

/// Builds a crate on the mount twice, the second time with nothing to do, and runs it: compilers
/// map files, lock them, and believe time stamps.
pub(crate) fn cargo_build(site: &Site) -> Verdict {
    let area = |cache| Area::for_mode(site, "cargo-build", cache);
    in_each_mode(site, &Cache::ALL, area, |mounted, _| {
        build_and_run(site, &mounted.path().join("small"))
    })?;
    Ok(Outcome::Passed("in each cache mode".into()))
}

fn build_and_run(site: &Site, place: &Path) -> Result<(), String> {
    let write = |name: &str, text: &str| {
        fs::write(place.join(name), text).map_err(|e| format!("{name}: {e}"))
    };
    fs::create_dir_all(place.join("src")).map_err(|e| format!("src: {e}"))?;
    write("Cargo.toml", MANIFEST)?;
    write("src/main.rs", "fn main() {\n    println!(\"{}\", small::answer());\n}\n")?;
    write("src/lib.rs", LIBRARY)?;
    let cargo = |words: &[&str]| {
        let step = Step::new("cargo").args(words).dir(place);
        step.env("CARGO_TARGET_DIR", place.join("target")).run(site)
    };
    cargo(&["test", "--offline"])?;
    let ran = cargo(&["run", "--offline", "--quiet"])?;
    let again = cargo(&["build", "--offline", "--verbose"])?;
    match (ran.trim(), again.contains("Compiling")) {
        ("42", false) => Ok(()),
        (_, true) => Err(format!("built again though nothing changed:\n{again}")),
        (other, _) => Err(format!("the program printed {other:?} instead of 42")),
    }
}

const MANIFEST: &str =
    "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";

const LIBRARY: &str = "pub fn answer() -> u32 {\n    6 * 7\n}\n\n#[test]\nfn it_is() {\n    \
                       assert_eq!(answer(), 42);\n}\n";
