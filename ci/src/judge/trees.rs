//! tar and rsync carry a tree with everything in it onto the mount and back, and nothing about it
//! has changed: neither as the mount shows it, nor as it lies in the directory behind.

use std::fs;
use std::path::Path;

use crate::area::Area;
use crate::judge::tree::{self, Kinds};
use crate::mounted::{Cache, on_mount};
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn trees(site: &Site) -> Verdict {
    let area = Area::new(site, "trees")?;
    let original = area.beside.join("original");
    tree::make(site, &original)?;
    let entries = tree::read(site, &original, Kinds::All)?.len();
    on_mount(site, &area, Cache::Coherent, |mounted| {
        let by_tar = made(&mounted.path().join("tar"))?;
        tar(site, &original, &by_tar)?;
        same(site, &original, &by_tar, Kinds::WithoutSockets)?;
        let by_rsync = made(&mounted.path().join("rsync"))?;
        rsync(site, &original, &by_rsync)?;
        same(site, &original, &by_rsync, Kinds::All)?;
        let (tar_back, rsync_back) =
            (made(&area.beside.join("tar"))?, made(&area.beside.join("rsync"))?);
        tar(site, &by_tar, &tar_back)?;
        same(site, &original, &tar_back, Kinds::WithoutSockets)?;
        rsync(site, &by_rsync, &rsync_back)?;
        same(site, &original, &rsync_back, Kinds::All)
    })?;
    same(site, &original, &area.backing.join("tar"), Kinds::WithoutSockets)?;
    same(site, &original, &area.backing.join("rsync"), Kinds::All)?;
    Ok(Outcome::Passed(format!("{entries} entries, there and back")))
}

fn made(path: &Path) -> Result<std::path::PathBuf, String> {
    fs::create_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path.to_owned())
}

/// tar knows everything but sockets, which it leaves out with a remark.
fn tar(site: &Site, from: &Path, to: &Path) -> Result<(), String> {
    let script = r#"
        tar --create --file - --directory "$1" --format posix --sparse --numeric-owner \
            --acls --xattrs --xattrs-include='*' . > "$3"
        tar --extract --file "$3" --directory "$2" --same-permissions --same-owner \
            --numeric-owner --acls --xattrs --xattrs-include='*'
        rm "$3"
    "#;
    let archive = site.room.join("archive.tar");
    Step::shell(script).arg("tar").args([from, to, &archive]).run(site).map(drop)
}

fn rsync(site: &Site, from: &Path, to: &Path) -> Result<(), String> {
    let step = Step::new("rsync").args(["-aHAXS", "--numeric-ids"]);
    step.arg(format!("{}/", from.display())).arg(to).run(site).map(drop)
}

fn same(site: &Site, original: &Path, copy: &Path, kinds: Kinds) -> Result<(), String> {
    let differences =
        tree::differences(&tree::read(site, original, kinds)?, &tree::read(site, copy, kinds)?);
    if differences.is_empty() {
        return Ok(());
    }
    let shown: Vec<_> = differences.iter().take(SHOWN).map(|d| format!("   {d}\n")).collect();
    let count = differences.len();
    Err(format!("{} differs in {count} things:\n{}", copy.display(), shown.concat()))
}

const SHOWN: usize = 20;
