//! How a mount ends: asked to, told by a signal, killed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{iofwd, text};
use crate::e2e::harness::{Mount, eventually};

fn mounted(mount: &Mount) -> bool {
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    table.contains(mount.path().to_str().unwrap())
}

#[test]
fn unmount_flushes_and_confirms() {
    for cache in ["--cache=coherent", "--cache=close-to-open", "--cache=exclusive"] {
        let Some(mut mount) = Mount::start(&[cache]) else { return };
        let mut file = File::create(mount.path().join("f")).unwrap();
        file.write_all(&vec![5; 3 << 20]).unwrap();
        drop(file);
        let output = iofwd(&[OsStr::new("unmount"), mount.path().as_os_str()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("everything is durable"));
        assert!(mount.ended().success());
        assert!(!mounted(&mount));
        assert_eq!(fs::read(mount.backing().join("f")).unwrap(), vec![5; 3 << 20], "{cache}");
    }
}

#[test]
fn a_signal_unmounts() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let Some(mut mount) = Mount::start(&["--cache=exclusive"]) else { return };
        fs::write(mount.path().join("f"), vec![6; 1 << 20]).unwrap();
        kill(Pid::from_raw(mount.server().id() as i32), signal).unwrap();
        assert!(mount.ended().success());
        assert!(!mounted(&mount));
        assert_eq!(fs::read(mount.backing().join("f")).unwrap(), vec![6; 1 << 20]);
    }
}

#[test]
fn unmount_names_those_who_use_it() {
    let Some(mount) = Mount::start(&[]) else { return };
    let used = File::create(mount.path().join("f")).unwrap();
    let output = iofwd(&[OsStr::new("unmount"), mount.path().as_os_str()]);
    assert!(!output.status.success());
    let message = text(&output.stderr);
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    assert!(mounted(&mount), "it goes on");
    drop(used);
}

#[test]
fn a_killed_mount_can_be_replaced() {
    let Some(mut mount) = Mount::start(&[]) else { return };
    fs::write(mount.path().join("f"), "acknowledged").unwrap();
    mount.server().kill().unwrap();
    mount.ended();
    assert_eq!(fs::read(mount.backing().join("f")).unwrap(), b"acknowledged");
    let [backing, point] = [mount.backing(), mount.path()].map(std::path::Path::as_os_str);
    let refused = iofwd(&[OsStr::new("mount"), backing, point]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("--force"), "{}", text(&refused.stderr));
    let replaced = iofwd(&[OsStr::new("mount"), OsStr::new("--force"), backing, point]);
    assert!(replaced.status.success(), "{}", text(&replaced.stderr));
    assert_eq!(fs::read(mount.path().join("f")).unwrap(), b"acknowledged");
    assert!(iofwd(&[OsStr::new("unmount"), point]).status.success());
    assert!(!mounted(&mount));
}

#[test]
fn a_dead_mountpoint_can_be_removed() {
    let Some(mut mount) = Mount::start(&[]) else { return };
    mount.server().kill().unwrap();
    mount.ended();
    eventually("it is dead", || fs::metadata(mount.path()).is_err());
    let output = iofwd(&[OsStr::new("unmount"), mount.path().as_os_str()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("dead"), "{}", text(&output.stdout));
    assert!(!mounted(&mount));
}
