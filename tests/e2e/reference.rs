//! A mount behaves like the plain directory to its only client, in each cache mode.

use std::fs;

use super::harness::Mount;
use super::sequence::{Holes, Sequences, Trial};

#[test]
fn a_coherent_mount_behaves_like_the_directory() {
    compare("coherent", Holes::Asked, 60);
}

#[test]
fn a_close_to_open_mount_behaves_like_the_directory_to_its_only_client() {
    compare("close-to-open", Holes::Asked, 30);
}

/// Where the kernel has not written back yet, it asks the file system about holes all the same;
/// so nobody can promise anything about them in this mode.
#[test]
fn an_exclusive_mount_behaves_like_the_directory() {
    compare("exclusive", Holes::NotAsked, 30);
}

/// What is found must be the mount's doing: two plain directories show no difference.
#[test]
fn a_directory_behaves_like_another() {
    let room = tempfile::tempdir().expect("a temporary directory can be made");
    let (one, two) = (room.path().join("one"), room.path().join("two"));
    let sequences =
        Sequences { what: "two directories", clients: 1, holes: Holes::Asked, cases: 10 };
    sequences.each(|name, steps| Trial::of_one(&one.join(name), &two.join(name)).run(steps));
}

fn compare(cache: &str, holes: Holes, cases: u32) {
    let Some(mount) = Mount::start(&[&format!("--cache={cache}")]) else { return };
    let tried = Sequences { what: cache, clients: 1, holes, cases }.each(|name, steps| {
        Trial::of_one(&mount.path().join(name), &mount.plain().join(name)).run(steps)
    });
    let seen = fs::read_dir(mount.backing()).expect("it is still there").count();
    assert_eq!(seen, tried, "each sequence had a directory of its own");
}
