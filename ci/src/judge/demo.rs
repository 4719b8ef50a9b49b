//! The demonstration that the README begins with: it runs, and leaves nothing behind.

use std::fs;

use crate::area::Area;
use crate::guardian;
use crate::program::Program;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn demo(site: &Site) -> Verdict {
    let Program::Iofwd(program) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself has a demonstration".into()));
    };
    let area = Area::new(site, "demo")?;
    let shown = Step::new(program).arg("demo").env("TMPDIR", &area.beside).limit(120).run(site)?;
    let left = fs::read_dir(&area.beside).map_err(|e| format!("{}: {e}", area.beside.display()))?;
    let left: Vec<_> = left.flatten().map(|entry| entry.path()).collect();
    let mounted = guardian::mounts_below(&area.beside);
    if left.is_empty() && mounted.is_empty() {
        Ok(Outcome::Passed(format!("{} lines", shown.lines().count())))
    } else {
        Err(format!("left behind: {left:?}, still mounted: {mounted:?}"))
    }
}
