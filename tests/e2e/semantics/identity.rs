//! Who may do what, and that nobody gets out.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::e2e::harness::Mount;

/// Whether a shell run by that user, in these groups, succeeds.
fn shell(uid: u32, groups: &str, script: &str, directory: &Path) -> bool {
    let status = Command::new("setpriv")
        .args([format!("--reuid={uid}"), format!("--regid={uid}"), format!("--groups={groups}")])
        .args(["sh", "-c", script])
        .current_dir(directory)
        .stderr(std::process::Stdio::null())
        .status();
    status.expect("setpriv of util-linux").success()
}

fn open_to_all(mount: &Mount) {
    for place in [mount.backing(), mount.path()] {
        for above in place.ancestors().take(2) {
            fs::set_permissions(above, Permissions::from_mode(0o755)).unwrap();
        }
    }
    fs::set_permissions(mount.backing(), Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn the_callers_groups_decide() {
    let Some(mount) = Mount::start(&["--allow-other"]) else { return };
    open_to_all(&mount);
    let secret = mount.backing().join("secret");
    fs::write(&secret, "x").unwrap();
    chown(&secret, Some(0), Some(4242)).unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o640)).unwrap();
    let run = |groups, script| shell(1234, groups, script, mount.path());
    assert!(!run("1234", "cat secret"), "neither owner nor group");
    assert!(run("1234,4242", "cat secret"), "a supplementary group");
    fs::set_permissions(&secret, Permissions::from_mode(0o604)).unwrap();
    assert!(!run("1234,4242", "cat secret"), "the group may less than others");
    assert!(run("1234", "umask 027; echo y > mine; mkdir dir"));
    let mine = fs::metadata(mount.backing().join("mine")).unwrap();
    assert_eq!((mine.uid(), mine.gid(), mine.mode() & 0o777), (1234, 1234, 0o640));
    assert!(!shell(77, "77", "echo z > mine", mount.path()), "somebody else's file");
    assert!(!run("1234", "chown 0 mine"), "giving a file away");
    assert!(run("1234", "chmod 4755 mine && echo more >> mine && test ! -u mine"), "set-id bits");
}

#[test]
fn nothing_outside_is_reached() {
    let Some(mount) = Mount::start(&[]) else { return };
    let outside = mount.plain().join("outside");
    fs::write(&outside, "secret").unwrap();
    // Links are resolved by the client's kernel in the client's tree: relative to the mount.
    symlink("../plain/outside", mount.backing().join("link")).unwrap();
    assert_eq!(fs::read_link(mount.path().join("link")).unwrap(), Path::new("../plain/outside"));
    fs::create_dir(mount.backing().join("dir")).unwrap();
    fs::write(mount.backing().join("dir/file"), "inside").unwrap();
    let open = fs::File::open(mount.path().join("dir")).unwrap();
    let below = format!("/proc/self/fd/{}/file", std::os::fd::AsRawFd::as_raw_fd(&open));
    // A directory that is swapped for a link while names below it are looked up.
    std::thread::scope(|scope| {
        let (backing, plain) = (mount.backing().to_owned(), mount.plain().to_owned());
        fs::write(plain.join("file"), "outside").unwrap();
        let swapping = scope.spawn(move || {
            for _ in 0..2_000 {
                fs::rename(backing.join("dir"), backing.join("away")).unwrap();
                symlink(&plain, backing.join("dir")).unwrap();
                fs::remove_file(backing.join("dir")).unwrap();
                fs::rename(backing.join("away"), backing.join("dir")).unwrap();
            }
        });
        while !swapping.is_finished() {
            // The open directory is a node of its own, wherever its name leads meanwhile.
            if let Ok(text) = fs::read_to_string(&below) {
                assert_eq!(text, "inside");
            }
        }
    });
}
