//! fsx: many random operations on one file, each read compared with what must be there. Every
//! operation it knows is on, and every cache mode is judged, because each takes another path
//! through the kernel's page cache.

use std::fs;
use std::path::Path;
use std::thread;

use crate::area::Area;
use crate::judge::remote::over_each_transport;
use crate::mounted::{Mounted, on_mount};
use crate::program::{Cache, Program};
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn fsx(site: &Site) -> Verdict {
    judge_modes(site, &Cache::ALL, OPERATIONS).map(Outcome::Passed)
}

/// The default mode, with client and agent apart.
pub(crate) fn remote_fsx(site: &Site) -> Verdict {
    over_each_transport(site, || judge_modes(site, &[Cache::Coherent], REMOTE_OPERATIONS))
}

/// The default mode on a disk, with data around its cache.
pub(crate) fn direct_fsx(site: &Site) -> Verdict {
    let Program::Iofwd(path) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself can go around the cache".into()));
    };
    let area = Area::new(site, "fsx-direct")?;
    let mounted = Mounted::with(site, &Program::Direct(path), &area, Cache::Coherent)?;
    operate(site, &area, mounted.path(), DIRECT_SEED, DIRECT_OPERATIONS)?;
    mounted.finish()?;
    area.clear();
    Ok(Outcome::Passed(format!("{DIRECT_OPERATIONS} operations, seed {DIRECT_SEED}")))
}

/// The modes run side by side: each spends most of its time waiting for its own mount.
pub(crate) fn judge_modes(site: &Site, modes: &[Cache], operations: u32) -> Result<String, String> {
    site.program()?;
    site.memory()?;
    let judged: Vec<_> = thread::scope(|scope| {
        let started = (1..)
            .zip(modes)
            .map(|(seed, &cache)| scope.spawn(move || judge(site, cache, seed, operations)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(|one| one.join().unwrap_or(Err("fsx panicked".into()))).collect()
    });
    let failures: Vec<_> = judged.into_iter().filter_map(Result::err).collect();
    if failures.is_empty() {
        Ok(format!("{operations} operations, seeds 1 to {}", modes.len()))
    } else {
        Err(failures.join("\n"))
    }
}

fn judge(site: &Site, cache: Cache, seed: u32, operations: u32) -> Result<(), String> {
    let area = Area::in_memory(site, &format!("fsx-{}", cache.name()))?;
    on_mount(site, &area, cache, |mounted| {
        let operated = operate(site, &area, mounted.path(), seed, operations);
        operated.map_err(|why| format!("{}: {why}", cache.name()))
    })?;
    area.clear();
    Ok(())
}

fn operate(
    site: &Site,
    area: &Area,
    place: &Path,
    seed: u32,
    operations: u32,
) -> Result<(), String> {
    let settings = area.beside.join("settings.toml");
    fs::write(&settings, SETTINGS).map_err(|e| format!("{}: {e}", settings.display()))?;
    let step = Step::new(site.tool("fsx")?).arg("-f").arg(&settings).arg("-P").arg(&area.beside);
    let step = step.args(["-N", &operations.to_string(), "-S", &seed.to_string()]);
    step.arg(place.join("file")).limit(900).run(site).map(drop)
}

const OPERATIONS: u32 = 100_000;
const REMOTE_OPERATIONS: u32 = 30_000;
const DIRECT_OPERATIONS: u32 = 30_000;
const DIRECT_SEED: u32 = 4;

pub(crate) const SETTINGS: &str = "
[weights]
close_open = 1
invalidate = 1
mapread = 10
mapwrite = 10
read = 10
write = 10
truncate = 5
fsync = 0.2
fdatasync = 0.2
posix_fallocate = 3
punch_hole = 5
sendfile = 3
posix_fadvise = 1
copy_file_range = 5
";
