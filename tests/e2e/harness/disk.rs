//! A file system of its own for a test, on a file: it can lose its power, become read-only, and fill up;
//! or it allows only so much.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::libc;
use tempfile::TempDir;

use super::ground;
use super::{can_mount, eventually};

/// A mounted ext4, or a btrfs with a quota.
pub(crate) struct Disk {
    room: TempDir,
    point: PathBuf,
    options: &'static str,
}

impl Disk {
    /// Of so many mebibytes, or says why the test is skipped.
    pub(crate) fn new(size: u64) -> Option<Self> {
        Self::made(size, "mkfs.ext4", &["-q", "-F"], "loop,errors=remount-ro")
    }

    /// One that allows so many bytes, or says why the test is skipped.
    pub(crate) fn with_quota(bytes: u64) -> Option<Self> {
        let disk = Self::made(BTRFS_LEAST, "mkfs.btrfs", &["-q", "-f"], "loop")?;
        assert!(run("btrfs", &["quota", "enable"], &disk.point), "quotas can be had");
        disk.allow(bytes);
        Some(disk)
    }

    /// So many bytes may be on it from now on.
    pub(crate) fn allow(&self, bytes: u64) {
        let words = ["qgroup", "limit", &bytes.to_string()];
        assert!(run("btrfs", &words, &self.point), "a quota can be set");
    }

    fn made(size: u64, tool: &str, words: &[&str], options: &'static str) -> Option<Self> {
        if !can_mount() {
            return None;
        }
        let room = ground::room();
        let image = File::create(room.path().join("image")).expect("a file can be made");
        image.set_len(size << 20).expect("it can be sparse");
        if !run(tool, words, &room.path().join("image")) {
            println!("skipped: {tool} makes nothing here");
            return None;
        }
        let point = ground::directory(&room, "disk");
        let disk = Self { room, point, options };
        if !disk.try_mount() {
            println!("skipped: no file can be mounted here");
            return None;
        }
        Some(disk)
    }

    /// A new directory on it.
    pub(crate) fn directory(&self) -> PathBuf {
        let path = self.point.join("used");
        std::fs::create_dir_all(&path).expect("a directory can be made");
        path
    }

    /// Its power fails: what was not synced is lost, and everything that is asked of it fails.
    pub(crate) fn lose_power(&self) {
        let root = File::open(&self.point).expect("it is mounted");
        let no_flush: u32 = 2;
        // SAFETY: the operation reads a number that outlives the call.
        let result = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &no_flush) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }

    /// It is there again, as it was on the medium, and as another device: such numbers are given anew
    /// when a node is started. Nobody may use it meanwhile.
    pub(crate) fn start_again(&self) {
        let before = self.device();
        let mut others = Vec::new();
        eventually("it is another device", || {
            eventually("it is unmounted", || run("umount", &[], &self.point));
            others.push(Occupied::new(self.room.path()));
            assert!(self.try_mount(), "it can be mounted again");
            self.device() != before
        });
    }

    fn device(&self) -> u64 {
        std::fs::metadata(&self.point).expect("it is mounted").dev()
    }

    /// It finds an error in itself, and allows no change any more.
    pub(crate) fn become_read_only(&self) {
        let source = Command::new("findmnt").args(["-no", "SOURCE"]).arg(&self.point).output();
        let source = String::from_utf8(source.expect("there is findmnt(8)").stdout).unwrap();
        let device = source.trim().trim_start_matches("/dev/");
        let place = format!("/sys/fs/ext4/{device}/trigger_fs_error");
        std::fs::write(place, "for a test").expect("an error can be asked for");
    }

    fn try_mount(&self) -> bool {
        let mut command = Command::new("mount");
        command.args(["-o", self.options]).arg(self.room.path().join("image")).arg(&self.point);
        command.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &["-l"], &self.point);
    }
}

/// A loop device that nobody else can have.
struct Occupied(PathBuf);

impl Occupied {
    fn new(room: &Path) -> Self {
        let image = room.join("other");
        File::create(&image).and_then(|file| file.set_len(1 << 20)).expect("a file can be made");
        let made = Command::new("losetup").args(["--find", "--show"]).arg(image).output();
        let made = made.expect("there is losetup(8)");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self(PathBuf::from(String::from_utf8_lossy(&made.stdout).trim()))
    }
}

impl Drop for Occupied {
    fn drop(&mut self) {
        run("losetup", &["--detach"], &self.0);
    }
}

fn run(tool: &str, words: &[&str], what: &Path) -> bool {
    // Where the tools of an administrator are.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(tool).args(words).arg(what).env("PATH", path).output();
    output.is_ok_and(|output| output.status.success())
}

/// Mebibytes below which there is no such file system.
const BTRFS_LEAST: u64 = 128;
/// `EXT4_IOC_SHUTDOWN`.
const SHUTDOWN: libc::c_ulong = 0x8004_587d;
