//! stress-ng: its file system stressors, verifying what they did. One that does worse on the mount
//! than on the bare directory is a failure; one that fails on both is only mentioned.

use crate::area::Area;
use crate::mounted::on_mount;
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::{Finished, Step};

pub(crate) fn stress_ng(site: &Site) -> Verdict {
    let area = Area::new(site, "stress-ng")?;
    let below_par = on_mount(site, &area, Cache::Coherent, |mounted| {
        let mut below_par = Vec::new();
        for stressor in STRESSORS.split_whitespace() {
            let finished = stressor_step(stressor).arg(mounted.path()).outcome(site)?;
            if Class::of(&finished) != Class::Passed {
                below_par.push((stressor, finished));
            }
        }
        Ok(below_par)
    })?;
    let (mut worse, mut same) = (Vec::new(), Vec::new());
    for (stressor, on_mount) in below_par {
        let bare = stressor_step(stressor).arg(&area.backing).outcome(site)?;
        if Class::of(&on_mount) > Class::of(&bare) {
            worse.push(format!("{stressor}: {}", on_mount.explain()));
        } else {
            same.push(stressor);
        }
    }
    area.clear();
    if !worse.is_empty() {
        let count = worse.len();
        return Err(format!("{count} do worse than on the bare directory\n{}", worse.join("\n")));
    }
    let passed = STRESSORS.split_whitespace().count() - same.len();
    let but = match same.join(" ") {
        none if none.is_empty() => none,
        some => format!("; not on the bare directory either: {some}"),
    };
    Ok(Outcome::Passed(format!("{passed} stressors{but}")))
}

/// How a stressor ended, better ones first.
#[derive(Debug, PartialEq, PartialOrd)]
enum Class {
    Passed,
    /// It did not run, for want of something in the system or the file system.
    Skipped,
    Failed,
}

impl Class {
    fn of(finished: &Finished) -> Self {
        let skipped = finished.output.contains("skipping stressor");
        match finished.code {
            Some(0) if skipped => Self::Skipped,
            Some(0) => Self::Passed,
            Some(NO_RESOURCE | NOT_IMPLEMENTED) => Self::Skipped,
            _ => Self::Failed,
        }
    }
}

fn stressor_step(stressor: &str) -> Step {
    let mut step = Step::new("stress-ng").args([&format!("--{stressor}"), "2"]);
    if stressor == "mmap" {
        step = step.args(["--mmap-file", "--mmap-bytes", "16m"]);
    }
    if matches!(stressor, "hdd" | "iomix" | "fallocate" | "seek" | "readahead" | "revio") {
        step = step.args([&format!("--{stressor}-{}", size_word(stressor)), "16m"]);
    }
    step.args(["--verify", "--timeout", "1", "--temp-path"]).limit(120)
}

/// The word by which a stressor takes the size of its file.
fn size_word(stressor: &str) -> &'static str {
    if stressor == "seek" { "size" } else { "bytes" }
}

/// The file system class, without those that never touch a file of ours (`io`, `dup`, `procfs`,
/// mounts of their own), that watch every mount of the system (`fanotify`), or that need what FUSE
/// does not hand on to anybody (`fiemap`, `verity`); and with those of other classes that read,
/// write and map files.
const STRESSORS: &str = "
    access aio aiol chattr chdir chmod chown copy-file dentry dir dirdeep dirmany dnotify
    fallocate fcntl file-ioctl filename flock fpunch fsize fstat getdent handle
    hdd inode-flags inotify iomix lease link locka lockf lockofd mknod mmap open readahead
    rename revio seek sendfile splice symlink sync-file touch utime xattr
";

const NO_RESOURCE: i32 = 3;
const NOT_IMPLEMENTED: i32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(code: i32, output: &str) -> Finished {
        let (output, summary) = (output.to_owned(), String::new());
        Finished { success: code == 0, code: Some(code), output, summary }
    }

    #[test]
    fn a_skipped_stressor_is_worse_than_a_passed_one() {
        let skipped = Class::of(&finished(0, "info: skipping stressor"));
        assert!(skipped > Class::of(&finished(0, "passed: 2")));
        assert!(skipped < Class::of(&finished(2, "fail: read")));
        assert_eq!(Class::of(&finished(4, "")), Class::Skipped);
    }
}
