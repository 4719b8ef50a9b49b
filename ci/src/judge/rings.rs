//! The same judges with requests over `io_uring`, which an administrator has to switch on: it is
//! switched on for as long as they judge, and left as it was.

use std::fs;

use crate::area::Area;
use crate::judge::{fsx, pjdfstest};
use crate::mounted::on_mount;
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::uring::Switch;

/// POSIX, and random operations on a file, in the default mode.
pub(crate) fn rings(site: &Site) -> Verdict {
    let _switch = match Switch::on() {
        Ok(switch) => switch,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let threads = ring_threads(site)?;
    if threads == 0 {
        return Err("the kernel offers rings, and the mount does not use them".into());
    }
    let posix = pjdfstest::judge(site, &[Cache::Coherent])?;
    let random = fsx::judge_modes(site, &[Cache::Coherent], OPERATIONS)?;
    Ok(Outcome::Passed(format!("{threads} rings, pjdfstest: {posix}, fsx: {random}")))
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
const OPERATIONS: u32 = 30_000;
