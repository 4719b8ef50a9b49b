//! What is in the package, and where it goes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::site::Site;
use crate::step::Step;

/// Lays all files out below a directory as they will lie below `/`.
pub(super) fn lay_out(site: &Site, program: &Path, tree: &Path) -> Result<(), String> {
    let binary = tree.join("usr/bin/iofwd");
    copy(program, &binary, 0o755)?;
    Step::new("strip").arg(&binary).quiet().run(site)?;
    link("../bin/iofwd", &tree.join("usr/sbin/mount.fuse.iofwd"))?;
    documents(site, tree)?;
    completions(site, program, tree)?;
    man_pages(site, program, &tree.join("usr/share/man"))?;
    directory(&tree.join("etc/iofwd/mount"))?;
    let example = Step::new(program).args(["agent", "--example"]).quiet().run(site)?;
    write(&tree.join("usr/share/doc/iofwd/examples/agent.toml"), &example, 0o644)
}

/// Texts that lie in the workspace as they are.
fn documents(site: &Site, tree: &Path) -> Result<(), String> {
    for (from, to) in FILES {
        let mode = if from.ends_with(".sh") { 0o755 } else { 0o644 };
        copy(&site.workspace.join(from), &tree.join(to), mode)?;
    }
    let changes = tree.join("usr/share/doc/iofwd/changelog");
    copy(&site.workspace.join("CHANGELOG.md"), &changes, 0o644)?;
    Step::new("gzip").args(["-9n"]).arg(&changes).quiet().run(site).map(drop)
}

fn completions(site: &Site, program: &Path, tree: &Path) -> Result<(), String> {
    for (shell, place) in SHELLS {
        let script =
            Step::new(program).args(["generate", "completion", shell]).quiet().run(site)?;
        write(&tree.join(place), &script, 0o644)?;
    }
    Ok(())
}

fn man_pages(site: &Site, program: &Path, man: &Path) -> Result<(), String> {
    let pages = man.join("man1");
    directory(&pages)?;
    Step::new(program).args(["generate", "man"]).arg(&pages).quiet().run(site)?;
    write(&man.join("man8/mount.fuse.iofwd.8"), ".so man1/iofwd-mount.1\n", 0o644)?;
    Step::shell("gzip -9n \"$0\"/man1/*.1 \"$0\"/man8/*.8").arg(man).quiet().run(site).map(drop)
}

pub(super) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// A new file, and the directories above it.
pub(super) fn write(path: &Path, text: &str, mode: u32) -> Result<(), String> {
    path.parent().map_or(Ok(()), directory)?;
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(|e| format!("{}: {e}", path.display()))
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    to.parent().map_or(Ok(()), directory)?;
    fs::copy(from, to)
        .and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(mode)))
        .map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

fn link(target: &str, place: &Path) -> Result<(), String> {
    place.parent().map_or(Ok(()), directory)?;
    symlink(target, place).map_err(|e| format!("{}: {e}", place.display()))
}

fn directory(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Files of the workspace, and where they go.
const FILES: &[(&str, &str)] = &[
    ("ci/package/iofwd-agent.service", "usr/lib/systemd/system/iofwd-agent.service"),
    ("ci/package/iofwd-mount@.service", "usr/lib/systemd/system/iofwd-mount@.service"),
    ("ci/package/iofwd-server.service", "usr/lib/systemd/system/iofwd-server.service"),
    ("README.md", "usr/share/doc/iofwd/README.md"),
    ("SEMANTICS.md", "usr/share/doc/iofwd/SEMANTICS.md"),
    ("LICENSE", "usr/share/doc/iofwd/copyright"),
    ("docs/guide.md", "usr/share/doc/iofwd/guide.md"),
    ("docs/metrics.md", "usr/share/doc/iofwd/metrics.md"),
    ("docs/grafana.json", "usr/share/doc/iofwd/grafana.json"),
    ("docs/slurm/prolog.sh", "usr/share/doc/iofwd/examples/slurm/prolog.sh"),
    ("docs/slurm/task_prolog.sh", "usr/share/doc/iofwd/examples/slurm/task_prolog.sh"),
    ("docs/slurm/epilog.sh", "usr/share/doc/iofwd/examples/slurm/epilog.sh"),
];

/// Where each shell looks for what completes.
const SHELLS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/iofwd"),
    ("zsh", "usr/share/zsh/vendor-completions/_iofwd"),
    ("fish", "usr/share/fish/vendor_completions.d/iofwd.fish"),
];
