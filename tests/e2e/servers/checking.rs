//! `iofwd check` finds what does not agree, and repairs it when nobody else is there.

use std::fs::{self, File};

use super::{Small, check, objects_of, pattern, said};
use crate::e2e::harness::{Agent, Mount};

#[test]
fn what_a_crash_left_is_found_and_repaired() {
    let Some(small) = Small::start("64K") else { return };
    fs::create_dir(small.path("sub")).unwrap();
    fs::write(small.path("sub/kept"), pattern(500_000, 1)).unwrap();
    fs::hard_link(small.path("sub/kept"), small.path("again")).unwrap();
    fs::write(small.path("lost"), pattern(500_000, 2)).unwrap();
    let clean = check(&small.servers, &[]);
    assert!(clean.status.success(), "{}", said(&clean));
    assert!(said(&clean).contains("3 names of files, 8 objects: 0 problems"), "{}", said(&clean));
    let refused = check(&small.servers, &["--repair"]);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("end all agents first"), "{}", said(&refused));

    let servers = small.leave();
    // A name that vanished, and an object that goes on behind the end of its file.
    fs::remove_file(servers.directory(0).join("names/lost")).unwrap();
    let kept = servers.directory(0).join("names/sub/kept");
    File::options().write(true).open(&kept).unwrap().set_len(100_000).unwrap();
    let found = check(&servers, &[]);
    assert!(!found.status.success());
    let text = said(&found);
    assert_eq!(text.matches("belongs to no file").count(), 4, "{text}");
    assert_eq!(text.matches("/kept: object").count() + text.matches("/again: object").count(), 4);
    let repaired = check(&servers, &["--repair"]);
    assert!(repaired.status.success(), "{}", said(&repaired));
    let clean = check(&servers, &[]);
    assert!(clean.status.success(), "{}", said(&clean));
    assert_eq!(servers.objects(), 4);

    let agent = Agent::over_servers(&servers);
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let left = fs::read(mount.path().join("sub/kept")).unwrap();
    assert_eq!(left, pattern(500_000, 1)[..100_000]);
    File::options().write(true).open(mount.path().join("again")).unwrap().set_len(200_000).unwrap();
    let grown = fs::read(mount.path().join("sub/kept")).unwrap();
    assert!(grown[100_000..].iter().all(|byte| *byte == 0), "nothing that was cut off is back");
}

#[test]
fn an_object_where_its_file_has_none_is_found() {
    let Some(small) = Small::start("64K") else { return };
    fs::write(small.path("file"), b"short").unwrap();
    let servers = small.leave();
    let (from, object) = (0..4)
        .find_map(|number| Some((number, objects_of(&servers, number).pop()?)))
        .expect("a file with data has an object");
    let other = (from + 1) % 4;
    let below = object.strip_prefix(servers.directory(from)).unwrap();
    fs::copy(&object, servers.directory(other).join(below)).unwrap();
    let found = check(&servers, &[]);
    assert!(said(&found).contains("has 5 bytes, the file at most 0"), "{}", said(&found));
    assert!(check(&servers, &["--repair"]).status.success());
    assert!(check(&servers, &[]).status.success());
}
