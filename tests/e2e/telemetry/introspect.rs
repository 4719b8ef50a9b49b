//! Files of a mount that tell of it, for those who asked for them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::e2e::harness::{Agent, Mount};

use super::load;

fn tells(mount: &Path) {
    fs::create_dir(mount.join("below")).unwrap();
    load::run(mount);
    fs::rename(mount.join(load::name(3)), mount.join("below/moved")).unwrap();
    let names = fs::read_dir(mount).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| name != ".iofwd"), "listings do not show it");
    let own = fs::read_dir(mount.join(".iofwd")).unwrap();
    let mut own: Vec<_> = own.map(|entry| entry.unwrap().file_name()).collect();
    own.sort();
    assert_eq!(own, ["layout", "status"]);
    let status = fs::read_to_string(mount.join(".iofwd/status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        line.unwrap_or_else(|| panic!("no {name} in {status}")).to_owned()
    };
    assert_eq!(number("policy "), "twins");
    assert_eq!(number("bytes_written "), load::BYTES.to_string());
    for path in [load::name(0), "below/moved".into()] {
        let told = fs::read_to_string(mount.join(".iofwd/layout").join(path)).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["queues"].as_array().unwrap().len(), 4, "{told}");
    }
    let missing = fs::read_to_string(mount.join(".iofwd/layout/nothing"));
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    // Nothing of it can be changed, and the tree goes on as if it was not there.
    assert!(fs::write(mount.join(".iofwd/status"), "x").is_err());
    assert!(fs::remove_file(mount.join(".iofwd/status")).is_err());
    assert!(fs::write(mount.join(".iofwd/new"), "x").is_err());
    assert!(fs::rename(mount.join(load::name(0)), mount.join(".iofwd/layout/x")).is_err());
    assert!(fs::remove_dir(mount.join(".iofwd")).is_err());
    fs::write(mount.join("more"), "x").unwrap();
    assert_eq!(fs::read(mount.join("more")).unwrap(), b"x");
}

#[test]
fn a_mount_tells_of_itself_in_files_that_listings_do_not_show() {
    for cache in ["coherent", "close-to-open", "exclusive"] {
        let options = ["--introspect", "--servers=4", &format!("--cache={cache}")];
        let Some(mount) = Mount::start(&options) else { return };
        if cache == "coherent" {
            tells(mount.path());
        }
        let status = fs::read_to_string(mount.path().join(".iofwd/status")).unwrap();
        assert!(status.contains("policy"), "{cache}: {status}");
    }
}

#[test]
fn a_client_tells_what_its_agent_does() {
    let Some(agent) = Agent::exporting("[scheduler]\nservers = 4\n", "squash = \"none\"") else {
        return;
    };
    let mount = Mount::remote(&agent, &agent.over_unix(), &["--introspect"]);
    tells(mount.path());
}

#[test]
fn nobody_who_did_not_ask_has_such_files() {
    let Some(mount) = Mount::start(&[]) else { return };
    let missing = fs::metadata(mount.path().join(".iofwd")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    fs::create_dir(mount.path().join(".iofwd")).unwrap();
}
