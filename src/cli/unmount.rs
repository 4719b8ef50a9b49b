//! `iofwd unmount`: drain, flush, unmount, wait for the process, confirm.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::control;
use crate::mounts::{self, Mount};
use crate::report::Report;

use super::{Failure, UnmountArguments, say};

pub(super) fn run(arguments: &UnmountArguments) -> Result<ExitCode, Failure> {
    let mountpoint = mounts::resolve(&arguments.mountpoint)
        .map_err(|error| format!("{}: {error}", arguments.mountpoint.display()))?;
    let place = mountpoint.display();
    let mount = ours(&mountpoint)?;
    let report = match control::flush(&mountpoint, Duration::from_secs(arguments.timeout)) {
        Ok(report) => report,
        Err(error) if mounts::is_dead(&error) => return remove_dead(&mountpoint),
        Err(error) => {
            return Err(format!(
                "not unmounted: {place} could not be made durable: {error}; the mount goes on"
            ));
        }
    };
    // Held from before the end, so that an error of what is written until then is not missed.
    let source = File::open(&mount.source).ok();
    let process = report.get("pid").and_then(|pid| pid.parse().ok()).and_then(process);
    unmount(&mountpoint).map_err(|error| explain(&error, &mountpoint))?;
    if let Some(process) = process {
        wait(&process, arguments.timeout, &mountpoint)?;
    }
    if let Some(source) = source {
        nix::unistd::syncfs(&source).map_err(|error| {
            format!("unmounted {place}, but {} reports: {error}", mount.source.display())
        })?;
    }
    say(&summary(&mountpoint, &report));
    Ok(ExitCode::SUCCESS)
}

/// Who uses it only for a moment, like a program that is just being started, is waited for.
fn unmount(mountpoint: &Path) -> std::io::Result<()> {
    let end = Instant::now() + MOMENT;
    loop {
        match mounts::unmount(mountpoint) {
            Err(error) if is_busy(&error) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

fn is_busy(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY)
}

fn ours(mountpoint: &Path) -> Result<Mount, Failure> {
    let place = mountpoint.display();
    let found = mounts::at(mountpoint).map_err(|error| format!("no table of mounts: {error}"))?;
    match found {
        None => Err(format!("{place} is not a mountpoint")),
        Some(mount) if mount.kind != mounts::TYPE => {
            Err(format!("{place} is mounted, but as {}: use umount", mount.kind))
        }
        Some(mount) => Ok(mount),
    }
}

fn remove_dead(mountpoint: &Path) -> Result<ExitCode, Failure> {
    let place = mountpoint.display();
    mounts::detach(mountpoint).map_err(|error| format!("cannot remove {place}: {error}"))?;
    say(&format!("removed the dead mount on {place}: its process had ended before"));
    Ok(ExitCode::SUCCESS)
}

fn explain(error: &std::io::Error, mountpoint: &Path) -> Failure {
    let place = mountpoint.display();
    if !is_busy(error) {
        return format!("cannot unmount {place}: {error}");
    }
    let users: Vec<String> = mounts::users(mountpoint)
        .into_iter()
        .map(|(pid, name)| format!("{name} (process {pid})"))
        .collect();
    let by = if users.is_empty() { "somebody".into() } else { users.join(", ") };
    format!("{place} is in use by {by}: end that first; everything written so far is durable")
}

fn process(pid: i32) -> Option<OwnedFd> {
    // SAFETY: returns a new descriptor or an error.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: the call has just returned this descriptor, and nobody else knows it.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn wait(process: &OwnedFd, seconds: u64, mountpoint: &Path) -> Result<(), Failure> {
    let mut ended = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(Duration::from_secs(seconds)).unwrap_or(PollTimeout::MAX);
    match poll(&mut ended, timeout) {
        Ok(0) => Err(format!(
            "unmounted {}, but its process has not ended within {seconds} s: what was written \
             after the last flush may not be durable yet",
            mountpoint.display()
        )),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("cannot wait for descriptor {}: {error}", process.as_raw_fd())),
    }
}

fn summary(mountpoint: &Path, report: &Report) -> String {
    let number = |name| report.get(name).unwrap_or("0").to_string();
    format!(
        "unmounted {}: {} reads, {} writes, {} bytes written, {} failed; everything is durable",
        mountpoint.display(),
        number("reads"),
        number("writes"),
        number("bytes_written"),
        number("failed")
    )
}

/// How long it is tried again.
const MOMENT: Duration = Duration::from_secs(1);
