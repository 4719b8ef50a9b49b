//! mount(8) finds us under the usual helper name, from the command line and from a line of fstab;
//! and whoever unmounts by hand leaves no server behind.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::area::Area;
use crate::program::Program;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn helper(site: &Site) -> Verdict {
    let Program::Iofwd(program) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself is a mount helper".into()));
    };
    let helper = Path::new(HELPER);
    if fs::symlink_metadata(helper).is_ok() {
        return Ok(Outcome::Skipped(format!("{HELPER} is there already and not ours")));
    }
    let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    site.guardian.remove(helper);
    symlink(program, helper).map_err(|e| format!("{HELPER}: {e}"))?;
    let judged = judge(site);
    fs::remove_file(helper).map_err(|e| format!("{HELPER}: {e}"))?;
    judged
}

fn judge(site: &Site) -> Verdict {
    let area = Area::new(site, "helper")?;
    let file = area.backing.join("file");
    fs::write(&file, "here\n").map_err(|e| format!("{}: {e}", file.display()))?;
    let fstab = area.beside.join("fstab");
    let (backing, point) = (area.backing.display(), area.point.display());
    fs::write(&fstab, format!("{backing} {point} fuse.iofwd allow_other,nosuid 0 0\n"))
        .map_err(|e| format!("{}: {e}", fstab.display()))?;

    let by_hand = Step::new("mount").args(["-t", "fuse.iofwd"]).arg(&area.backing).arg(&area.point);
    round(site, &area, by_hand, Step::new("umount"))?;
    let by_hand = Step::new("mount").args(["-t", "fuse.iofwd", "-o", "rw,allow_other"]);
    let by_hand = by_hand.arg(&area.backing).arg(&area.point);
    round(site, &area, by_hand, Step::new("fusermount3").arg("-u"))?;
    let by_line = Step::new("mount").arg("-T").arg(&fstab).arg(&area.point);
    round(site, &area, by_line, Step::new("umount"))?;
    Ok(Outcome::Passed(String::new()))
}

/// Mounts, looks, unmounts, and sees the server go.
fn round(site: &Site, area: &Area, mount: Step, unmount: Step) -> Result<(), String> {
    mount.limit(60).run(site)?;
    let seen = fs::read_to_string(area.point.join("file"));
    unmount.arg(&area.point).limit(60).run(site)?;
    match seen {
        Ok(text) if text == "here\n" => gone(&area.point),
        other => Err(format!("the mount should show the file, but: {other:?}")),
    }
}

/// Waits until no process has the mountpoint on its command line.
fn gone(point: &Path) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = servers(point);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("still running {PATIENCE:?} after unmounting: {left:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn servers(point: &Path) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let lines = processes.flatten().filter_map(|process| {
        let line = fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    let point = point.to_string_lossy();
    lines.filter(|line| line.contains(&*point)).collect()
}

const HELPER: &str = "/sbin/mount.fuse.iofwd";
const PATIENCE: Duration = Duration::from_secs(20);
