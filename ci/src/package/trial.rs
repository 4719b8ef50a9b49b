//! The package, installed on a copy of this system, used, and removed again.

use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

/// Installs, uses, removes. The copy is a layer over the root directory, in a mount namespace of its
/// own: this system does not change, and everything is gone with the last process.
pub(crate) fn try_it(site: &Site) -> Verdict {
    let package = super::make(site)?;
    let layer = site.room.join("layer");
    std::fs::create_dir_all(&layer).map_err(|e| format!("{}: {e}", layer.display()))?;
    let script = site.workspace.join("ci/package/try.sh");
    let mut words = vec!["--mount".into(), "--pid".into(), "--fork".into(), "--kill-child".into()];
    words.extend(["sh".into(), script.into_os_string()]);
    let step = Step::new("unshare").args(words).arg(&layer).arg(&package).limit(300);
    let finished = step.outcome(site)?;
    if finished.code == Some(NO_LAYER) {
        return Ok(Outcome::Skipped("no file system can be laid over / here".into()));
    }
    if !finished.success {
        return Err(finished.explain());
    }
    Ok(Outcome::Passed("installed, mounted by mount(8), served by its agent, removed".into()))
}

/// What the script says if it cannot begin.
const NO_LAYER: i32 = 77;
