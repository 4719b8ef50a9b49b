//! POSIX call by call: the pjdfstest suite, as root, on the bare directory and on the mount of it.
//! What counts is a test that passes on the one and does not on the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::area::Area;
use crate::judge::remote::over_each_transport;
use crate::mounted::on_mount;
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::{Finished, Step};

pub(crate) fn pjdfstest(site: &Site) -> Verdict {
    judge(site, &Cache::ALL).map(Outcome::Passed)
}

/// The default mode, with client and agent apart.
pub(crate) fn remote_pjdfstest(site: &Site) -> Verdict {
    over_each_transport(site, || judge(site, &[Cache::Coherent]))
}

pub(crate) fn judge(site: &Site, modes: &[Cache]) -> Result<String, String> {
    let area = Area::new(site, "pjdfstest")?;
    let settings = area.beside.join("settings.toml");
    fs::write(&settings, SETTINGS).map_err(|e| format!("{}: {e}", settings.display()))?;
    let bare = run(site, &settings, &area.backing)?;
    let expected = results(&bare.output);
    if expected.is_empty() {
        return Err(bare.explain());
    }
    for &cache in modes {
        let mounted = on_mount(site, &area, cache, |mounted| run(site, &settings, mounted.path()))?;
        let worse = worse(&expected, &results(&mounted.output));
        if !worse.is_empty() {
            let (mode, count, names) = (cache.name(), worse.len(), worse.join("\n   "));
            let details = details(&mounted.output, &worse);
            return Err(format!(
                "{mode}: {count} tests pass on the bare directory only:\n   {names}\n{details}"
            ));
        }
    }
    let found = count(&expected, modes);
    drop(expected);
    area.clear();
    Ok(found)
}

fn run(site: &Site, settings: &Path, path: &Path) -> Result<Finished, String> {
    let other_file_system = site.memory()?;
    let step = Step::new(site.tool("pjdfstest")?).arg("--configuration-file").arg(settings);
    step.arg("--secondary-fs").arg(other_file_system).arg("--path").arg(path).outcome(site)
}

/// The verdict on each test: `ok`, `FAILED` or `skipped`.
fn results(output: &str) -> BTreeMap<&str, &str> {
    let verdict = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        matches!(words[..], [name, "ok" | "FAILED" | "skipped"] if name.contains("::"))
    };
    let lines = output.lines().filter(|line| verdict(line));
    lines.filter_map(|line| line.trim().split_once(' ')).map(|(n, v)| (n, v.trim())).collect()
}

/// What passes on the bare directory and does not on the mount, be it that it did not run at all
/// and has no excuse.
fn worse<'a>(bare: &BTreeMap<&'a str, &str>, mounted: &BTreeMap<&str, &str>) -> Vec<&'a str> {
    let passes = |(name, verdict): &(&&str, &&str)| {
        let on_mount = mounted.get(**name).copied();
        let excused = on_mount == Some("skipped") && MAY_SKIP.contains(*name);
        **verdict == "ok" && on_mount != Some("ok") && !excused
    };
    bare.iter().filter(passes).map(|(name, _)| *name).collect()
}

/// What the suite says about those tests.
fn details(output: &str, names: &[&str]) -> String {
    let mut lines = Vec::new();
    let mut wanted = false;
    for line in output.lines() {
        if let Some((name, _)) = line.split_once(' ')
            && name.contains("::")
        {
            wanted = names.contains(&name);
        }
        // Of a backtrace only the suite's own lines are of use.
        if wanted && (!line.starts_with(' ') || line.contains("tests::")) {
            lines.push(line);
        }
    }
    lines.truncate(DETAILS);
    lines.iter().map(|line| format!("   | {line}\n")).collect()
}

fn count(results: &BTreeMap<&str, &str>, modes: &[Cache]) -> String {
    let with = |verdict| results.values().filter(|v| **v == verdict).count();
    let (ok, failed, skipped) = (with("ok"), with("FAILED"), with("skipped"));
    let excused = MAY_SKIP.join(", ");
    let modes: Vec<_> = modes.iter().map(|mode| mode.name()).collect();
    let modes = modes.join(", ");
    format!(
        "all {ok} that pass on the bare directory ({failed} fail, {skipped} are skipped there) \
         pass in mode {modes}, except that the suite skips {excused} on FUSE"
    )
}

/// All features that Linux has; those of other systems stay off. The suite's tests of a read-only
/// file system stay off too: they would remount the whole disk below.
const SETTINGS: &str = r#"
[features]
posix_fallocate = {}
rename_ctime = {}
utime_now = {}
utimensat = {}

[settings]
naptime = 0.02

[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
"#;

/// Skipped by the suite itself on every FUSE mount: the C library knows the largest link count by
/// the type of the file system only, and there is none for FUSE.
const MAY_SKIP: &[&str] = &["link::link_count_max"];

const DETAILS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str = "a::x      ok\na::y   FAILED\n\twhy\na::z skipped\n\treason\nc::w ok\n";

    #[test]
    fn only_what_the_bare_directory_passes_counts() {
        let bare = results(BARE);
        assert_eq!(bare.len(), 4);
        let mounted = results("a::x FAILED\na::y FAILED\na::z FAILED\nc::w skipped\n");
        assert_eq!(worse(&bare, &mounted), ["a::x", "c::w"]);
        assert!(worse(&bare, &bare).is_empty());
    }

    #[test]
    fn a_skipped_test_needs_an_excuse() {
        let bare = results("link::link_count_max ok\n");
        assert!(worse(&bare, &results("link::link_count_max skipped\n")).is_empty());
        assert_eq!(worse(&bare, &results("link::link_count_max FAILED\n")).len(), 1);
        assert_eq!(worse(&bare, &results("")).len(), 1);
    }

    #[test]
    fn a_failure_is_shown_with_its_reason() {
        let shown = details(BARE, &["a::y"]);
        assert!(shown.contains("a::y") && shown.contains("why") && !shown.contains("reason"));
    }
}
