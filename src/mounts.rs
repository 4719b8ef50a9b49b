//! The system's table of mounts: what is mounted where, whether it is alive, taking it away.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MntFlags, umount2};

/// The file system type of our mounts.
pub const TYPE: &str = "fuse.iofwd";

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub mountpoint: PathBuf,
    /// What kind.
    pub kind: String,
    /// Of what.
    pub source: PathBuf,
}

/// The topmost mount on that directory.
pub fn at(mountpoint: &Path) -> io::Result<Option<Mount>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    let mut mounts = table.split(|byte| *byte == b'\n').filter_map(parse);
    Ok(mounts.rfind(|mount| mount.mountpoint == mountpoint))
}

/// Where a path leads. If it is a mount of ours that is not asked, because it may be dead, or wait for
/// an agent: the directory above can always be resolved.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    if let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name())
        && let Ok(parent) = parent.canonicalize()
    {
        let place = parent.join(name);
        if at(&place).ok().flatten().is_some_and(|mount| mount.kind == TYPE) {
            return Ok(place);
        }
    }
    path.canonicalize()
}

/// Whether the error says that nobody serves the mount any more.
pub fn is_dead(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOTCONN | libc::ECONNABORTED))
}

/// Unmount. `EBUSY` while somebody uses it.
pub fn unmount(mountpoint: &Path) -> io::Result<()> {
    remove(mountpoint, MntFlags::UMOUNT_NOFOLLOW, &["-u"])
}

/// Take the mount out of the tree at once; it ends when its last user does.
pub fn detach(mountpoint: &Path) -> io::Result<()> {
    remove(mountpoint, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW, &["-u", "-z"])
}

fn remove(mountpoint: &Path, flags: MntFlags, helper_flags: &[&str]) -> io::Result<()> {
    match umount2(mountpoint, flags) {
        Err(nix::Error::EPERM) => fusermount(mountpoint, helper_flags),
        result => Ok(result?),
    }
}

/// Only the super-user may unmount; others ask the helper, which knows whose mount it is.
fn fusermount(mountpoint: &Path, flags: &[&str]) -> io::Result<()> {
    let output = Command::new("fusermount3").args(flags).arg("--").arg(mountpoint).output()?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
    if message.contains("busy") {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    Err(io::Error::other(message))
}

/// Processes that have their working directory or an open file on the mount.
pub fn users(mountpoint: &Path) -> Vec<(u32, String)> {
    let (sender, found) = mpsc::channel();
    let mountpoint = mountpoint.to_owned();
    // To look at a process that becomes another program just now may take for ever, if it waits for
    // a mount that does not answer.
    thread::spawn(move || {
        for pid in processes().into_iter().filter(|pid| uses(*pid, &mountpoint)) {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if sender.send((pid, name.trim().to_string())).is_err() {
                return;
            }
        }
    });
    let end = Instant::now() + PATIENCE;
    let left = || end.saturating_duration_since(Instant::now());
    std::iter::from_fn(|| found.recv_timeout(left()).ok()).collect()
}

fn processes() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn uses(pid: u32, mountpoint: &Path) -> bool {
    let leads_there =
        |link: PathBuf| std::fs::read_link(link).is_ok_and(|target| target.starts_with(mountpoint));
    let process = PathBuf::from(format!("/proc/{pid}"));
    leads_there(process.join("cwd"))
        || leads_there(process.join("root"))
        || std::fs::read_dir(process.join("fd"))
            .is_ok_and(|files| files.flatten().any(|file| leads_there(file.path())))
}

/// How long to look for those who use a mount.
const PATIENCE: Duration = Duration::from_secs(3);

/// A line of the table: `ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS TAGS... - TYPE SOURCE OPTIONS`.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ');
    let mountpoint = path(words.nth(4)?);
    let mut after = words.skip_while(|word| *word != b"-").skip(1);
    let kind = String::from_utf8_lossy(after.next()?).into_owned();
    Some(Mount { mountpoint, kind, source: path(after.next()?) })
}

/// Blanks and backslashes stand in the table as three octal digits.
fn path(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, tail)) = rest.split_first() {
        let octal = (*first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_is_taken_apart() {
        let line = b"36 35 0:42 / /mnt/my\\040data rw,nosuid shared:1 - fuse.iofwd /d\\134x rw";
        let mount = parse(line).expect("a mount");
        assert_eq!(mount.mountpoint, Path::new("/mnt/my data"));
        assert_eq!(mount.kind, TYPE);
        assert_eq!(mount.source, Path::new("/d\\x"));
        assert!(parse(b"").is_none());
        assert!(parse(b"1 2 3 4 /mnt").is_none());
    }

    #[test]
    fn the_root_is_mounted() {
        assert!(at(Path::new("/")).unwrap().is_some());
        assert!(at(Path::new("/no/such/place")).unwrap().is_none());
    }
}
