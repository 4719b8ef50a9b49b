//! The same judges with requests read from the device: other kernels offer nothing else, and ordinary
//! users cannot have it otherwise. Where the kernel offers rings, the default has to be using them.

use std::fs;
use std::path::Path;

use crate::area::Area;
use crate::judge::{fsx, pjdfstest};
use crate::mounted::on_mount;
use crate::program::{Cache, Program, Through};
use crate::site::Site;
use crate::stage::{Outcome, Verdict};

/// POSIX, and random operations on a file, in the default mode.
pub(crate) fn device(site: &Site) -> Verdict {
    let Program::Iofwd(_) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself has the choice".into()));
    };
    let rings = ring_threads(site)?;
    if rings == 0 && Path::new(PARAMETER).exists() {
        return Err("the kernel offers rings, and the mount does not use them".into());
    }
    let note = site.through(Through::Device, || {
        if ring_threads(site)? > 0 {
            return Err("it has rings though it should have none".into());
        }
        let posix = pjdfstest::judge(site, &[Cache::Coherent])?;
        let random = fsx::judge_modes(site, &[Cache::Coherent], OPERATIONS)?;
        Ok::<_, String>(format!("pjdfstest: {posix}, fsx: {random}"))
    })?;
    Ok(Outcome::Passed(format!("{note}; by default {rings} rings")))
}

/// How many threads of a mount have a ring.
fn ring_threads(site: &Site) -> Result<usize, String> {
    let area = Area::in_memory(site, "rings")?;
    let count = on_mount(site, &area, Cache::Coherent, |mounted| {
        let Some(process) = mounted.process() else { return Ok(0) };
        let tasks = format!("/proc/{process}/task");
        let tasks = fs::read_dir(&tasks).map_err(|error| format!("{tasks}: {error}"))?;
        let is_ring = |task: &fs::DirEntry| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == THREAD)
        };
        Ok(tasks.flatten().filter(is_ring).count())
    })?;
    area.clear();
    Ok(count)
}

const THREAD: &str = "iofwd-ring";
const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";
const OPERATIONS: u32 = 30_000;
