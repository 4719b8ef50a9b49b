//! What a mount costs: next to no processor when idle, and bounded memory whoever writes.

use std::fs;
use std::time::Duration;

use crate::area::Area;
use crate::mounted::on_mount;
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

/// Under one per cent of a core after some use, with a file open.
pub(crate) fn idle(site: &Site) -> Verdict {
    let area = Area::in_memory(site, "idle")?;
    let used = on_mount(site, &area, Cache::Coherent, |mounted| {
        let Some(process) = mounted.process() else { return Ok(None) };
        let file = mounted.path().join("file");
        fs::write(&file, vec![1; 1 << 20]).map_err(|e| format!("{}: {e}", file.display()))?;
        let open = fs::File::open(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let before = ticks(process)?;
        std::thread::sleep(Duration::from_secs(IDLE_SECONDS));
        let after = ticks(process)?;
        drop(open);
        Ok(Some(after - before))
    })?;
    let Some(used) = used else { return Ok(Outcome::Skipped("nothing is mounted".into())) };
    let percent = used as f64 / (IDLE_SECONDS * TICKS_PER_SECOND) as f64 * 100.0;
    let found = format!("{percent:.2} % of a core over {IDLE_SECONDS} s");
    if percent < 1.0 { Ok(Outcome::Passed(found)) } else { Err(found) }
}

/// The most memory the server ever took, under the load of 64 writers, in each cache mode.
pub(crate) fn memory(site: &Site) -> Verdict {
    let mut found = Vec::new();
    for cache in Cache::ALL {
        let area = Area::in_memory(site, &format!("memory-{}", cache.name()))?;
        let peak = on_mount(site, &area, cache, |mounted| {
            let Some(process) = mounted.process() else { return Ok(None) };
            let step = Step::new("fio").args(WRITERS).arg("--directory").arg(mounted.path());
            step.run(site)?;
            peak_kib(process).map(Some)
        })?;
        area.clear();
        let Some(peak) = peak else { return Ok(Outcome::Skipped("nothing is mounted".into())) };
        let text = format!("{} {} MiB", cache.name(), peak / 1024);
        if peak > site.memory_mib * 1024 {
            return Err(format!("{text}, more than {} MiB", site.memory_mib));
        }
        found.push(text);
    }
    Ok(Outcome::Passed(format!("{} of {} MiB", found.join(", "), site.memory_mib)))
}

/// Processor time of a process in the kernel's units, all threads together.
fn ticks(process: u32) -> Result<u64, String> {
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    ticks_in(&stat).ok_or_else(|| format!("{path} has no times: {stat}"))
}

fn ticks_in(stat: &str) -> Option<u64> {
    // The name before may hold anything, even parentheses.
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<_> = after_name.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(number(11)? + number(12)?)
}

/// The most memory a process ever took.
pub(crate) fn peak_kib(process: u32) -> Result<u64, String> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("{path} has no VmHWM"))
}

const IDLE_SECONDS: u64 = 10;
/// Linux counts in hundredths of a second towards programs.
const TICKS_PER_SECOND: u64 = 100;

const WRITERS: [&str; 9] = [
    "--name=writers",
    "--rw=randwrite",
    "--bs=1m",
    "--size=8m",
    "--numjobs=64",
    "--ioengine=psync",
    "--time_based",
    "--runtime=5",
    "--group_reporting",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 41 1 0 0 20";
        assert_eq!(ticks_in(stat), Some(42));
    }
}
