//! tar and rsync carry a tree with everything in it onto the mount and back, and nothing about it
//! has changed: neither as the mount shows it, nor as it lies in the directory behind.

use std::fs;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::judge::tree::{self, Kinds};
use crate::mounted::on_mount;
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn trees(site: &Site) -> Verdict {
    let original = Area::new(site, "trees")?.beside.join("original");
    tree::make(site, &original)?;
    let entries = tree::read(site, &original, Kinds::All)?.len();
    for cache in Cache::ALL {
        judge(site, &original, cache).map_err(|why| format!("{}: {why}", cache.name()))?;
    }
    Ok(Outcome::Passed(format!("{entries} entries, there and back, in each cache mode")))
}

fn judge(site: &Site, original: &Path, cache: Cache) -> Result<(), String> {
    let area = Area::for_mode(site, "trees", cache)?;
    on_mount(site, &area, cache, |mounted| {
        for carrier in CARRIERS {
            let there = carrier.carry(site, original, mounted.path())?;
            same(site, original, &there, carrier.kinds)?;
            let back = carrier.carry(site, &there, &area.beside)?;
            same(site, original, &back, carrier.kinds)?;
        }
        Ok(())
    })?;
    // Only now is everything behind that the kernel kept to itself.
    for carrier in CARRIERS {
        same(site, original, &area.backing.join(carrier.name), carrier.kinds)?;
    }
    area.clear();
    Ok(())
}

/// A program that copies trees, and what it is able to copy.
struct Carrier {
    name: &'static str,
    kinds: Kinds,
    copy: fn(&Site, &Path, &Path) -> Result<(), String>,
}

impl Carrier {
    /// Copies a tree to a new directory of its name.
    fn carry(&self, site: &Site, from: &Path, place: &Path) -> Result<PathBuf, String> {
        let to = place.join(self.name);
        fs::create_dir(&to).map_err(|e| format!("{}: {e}", to.display()))?;
        (self.copy)(site, from, &to)?;
        Ok(to)
    }
}

const CARRIERS: [Carrier; 2] = [
    // tar knows everything but sockets, which it leaves out with a remark.
    Carrier { name: "tar", kinds: Kinds::WithoutSockets, copy: tar },
    Carrier { name: "rsync", kinds: Kinds::All, copy: rsync },
];

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
