//! The Debian package: put together from the release build, and tried on a copy of this system.

mod contents;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Program;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) use trial::try_it;

/// Builds it, and says where it is.
pub(crate) fn build(site: &Site) -> Verdict {
    let package = make(site)?;
    Ok(Outcome::Passed(package.display().to_string()))
}

/// Has the guide typed on nodes where the package is installed.
pub(crate) fn guide(site: &Site) -> Verdict {
    let package = make(site)?;
    let words = ["test", "--quiet", "--test", "guide", "--", "--nocapture"];
    let step = Step::new("cargo").args(words).dir(&site.workspace);
    let step = step.env("IOFWD_PACKAGE", &package).env("TMPDIR", &site.room);
    let output = step.limit(900).run(site)?;
    match output.lines().find(|line| line.contains("skipped:")) {
        Some(why) => Ok(Outcome::Skipped(why.trim().into())),
        None => Ok(Outcome::Passed(String::new())),
    }
}

/// The package, built anew.
fn make(site: &Site) -> Result<PathBuf, String> {
    let Program::Iofwd(program) = site.program()? else {
        return Err("only the program itself can be packaged".into());
    };
    let tree = site.room.join("package");
    let _ = fs::remove_dir_all(&tree);
    contents::lay_out(site, &program, &tree)?;
    let version = version(&site.workspace)?;
    let architecture = Step::new("dpkg").arg("--print-architecture").quiet().run(site)?;
    let architecture = architecture.trim();
    control(site, &tree, &version, architecture)?;
    let package = site.target.join(format!("iofwd_{version}_{architecture}.deb"));
    let step = Step::new("dpkg-deb").args(["--root-owner-group", "--build"]);
    step.arg(&tree).arg(&package).limit(300).run(site)?;
    Ok(package)
}

/// The version of the workspace.
fn version(workspace: &Path) -> Result<String, String> {
    let text = contents::read(&workspace.join("Cargo.toml"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = line.and_then(|rest| rest.strip_suffix('"'));
    version.map(String::from).ok_or_else(|| "Cargo.toml says no version".into())
}

fn control(site: &Site, tree: &Path, version: &str, architecture: &str) -> Result<(), String> {
    let size = Step::new("du").args(["-sk"]).arg(tree).quiet().run(site)?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let text = contents::read(&site.workspace.join("ci/package/control.in"))?;
    let text = text
        .replace("@VERSION@", version)
        .replace("@ARCHITECTURE@", architecture)
        .replace("@SIZE@", &size);
    contents::write(&tree.join("DEBIAN/control"), &text, 0o644)
}
