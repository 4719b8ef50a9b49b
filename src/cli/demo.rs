//! `iofwd demo`: a sample directory, mounted, used by ordinary programs, and taken away again.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::mounts;

use super::{Failure, say, status};

pub(super) fn run() -> Result<ExitCode, Failure> {
    let stage = Stage::build()?;
    say("A directory, mounted through a forwarding agent that believes it is striped over four");
    say("data servers, with TWINS time windows of 1 ms:\n");
    stage.iofwd(&["mount", "--servers=4", "--stripe=64K", "--policy=twins", "--window=1ms"])?;
    for line in PROGRAMS {
        stage.show(line)?;
    }
    say("What the scheduler did:\n");
    let report = status::ask(&stage.mountpoint())?;
    for (name, meaning) in SHOWN {
        say(&format!("  {:>12}  {meaning}", report.get(name).unwrap_or("?")));
    }
    say("");
    stage.unmount()?;
    say("\nNothing is left behind. Now try it on a directory of yours:");
    say("  iofwd mount DIRECTORY MOUNTPOINT");
    Ok(ExitCode::SUCCESS)
}

/// Programs as a user would type them, in the mounted directory.
const PROGRAMS: [&str; 8] = [
    "ls -l",
    "grep -c window notes.txt",
    "cp notes.txt copy.txt && cmp notes.txt copy.txt && echo same",
    "dd if=/dev/zero of=big bs=1M count=64 status=none && ls -sh big",
    "for i in 1 2 3 4; do dd if=big of=part$i bs=256K count=64 skip=$((i*32)) status=none & done; wait; sha256sum part? | cut -c1-16 | sort -u | wc -l",
    "tar cf tree.tar notes.txt copy.txt part1 && tar tf tree.tar",
    "ln notes.txt again.txt && stat -c '%h names for %n' notes.txt",
    "rm big part? tree.tar && ls",
];

/// Which numbers of the report are shown, and what they mean.
const SHOWN: [(&str, &str); 8] = [
    ("reads", "reads done"),
    ("writes", "writes done"),
    ("batches", "batches sent to the four servers"),
    ("request_bytes_in", "bytes in a request as it arrived, on average"),
    ("request_bytes_out", "bytes in a batch as it left, on average"),
    ("wait_ns_p50", "nanoseconds that half of them waited for their window"),
    ("scheduler_cost_ns_p50", "nanoseconds to decide, for half of them"),
    ("failed", "failed"),
];

/// A temporary directory with a source and a mountpoint; unmounted and removed in any case.
struct Stage {
    directory: PathBuf,
}

impl Stage {
    fn build() -> Result<Stage, Failure> {
        let name = format!("iofwd-demo-{}", std::process::id());
        let stage = Stage { directory: std::env::temp_dir().join(name) };
        let notes = "A window belongs to one data server.\nThe next one follows.\n".repeat(2000);
        std::fs::create_dir(&stage.directory)
            .and_then(|()| std::fs::create_dir(stage.source()))
            .and_then(|()| std::fs::create_dir(stage.mountpoint()))
            .and_then(|()| std::fs::write(stage.source().join("notes.txt"), notes))
            .map_err(|error| format!("cannot make {}: {error}", stage.directory.display()))?;
        Ok(stage)
    }

    fn source(&self) -> PathBuf {
        self.directory.join("source")
    }

    fn mountpoint(&self) -> PathBuf {
        self.directory.join("mounted")
    }

    /// Run this program itself on the two directories.
    fn iofwd(&self, arguments: &[&str]) -> Result<(), Failure> {
        say(&format!("$ iofwd {} source mounted", arguments.join(" ")));
        let mut command = program()?;
        command.args(arguments).arg(self.source()).arg(self.mountpoint());
        succeed(&mut command)
    }

    fn unmount(&self) -> Result<(), Failure> {
        say("$ iofwd unmount mounted");
        succeed(program()?.arg("unmount").arg(self.mountpoint()))
    }

    fn show(&self, line: &str) -> Result<(), Failure> {
        say(&format!("$ {line}"));
        succeed(Command::new("sh").arg("-ec").arg(line).current_dir(self.mountpoint()))?;
        say("");
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if is_mounted(&self.mountpoint()) {
            let _ = mounts::detach(&self.mountpoint());
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn is_mounted(mountpoint: &Path) -> bool {
    let resolved = mounts::resolve(mountpoint);
    resolved.is_ok_and(|place| mounts::at(&place).is_ok_and(|mount| mount.is_some()))
}

fn program() -> Result<Command, Failure> {
    std::env::current_exe().map(Command::new).map_err(|error| format!("who am I? {error}"))
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} ended with {status}", command.get_program().display())),
        Err(error) => Err(format!("cannot run {}: {error}", command.get_program().display())),
    }
}
