//! Rules of the settings, and the layout of a file as a client elsewhere is told it.

use super::super::harness::{Agent, Mount};
use super::layout;

const SETTINGS: &str = "[[stripes]]\npattern = \"*.h5\"\nstripe = \"8K\"\nservers = 3\nfirst = 1\n\
    [[stripes]]\npattern = \"run/**\"\nstripe = \"4K\"\nservers = 2\n";

#[test]
fn rules_lay_out_files_by_their_paths_and_clients_are_told() {
    let Some(agent) = Agent::exporting(SETTINGS, "squash = \"none\"\n") else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    std::fs::create_dir_all(mount.path().join("run/deep")).unwrap();
    for (name, servers) in [
        ("out.h5", &["server:1", "server:2", "server:0"][..]),
        ("run/deep/out.h5", &["server:1", "server:2", "server:0"]),
        ("other", &["all"]),
    ] {
        let path = mount.path().join(name);
        std::fs::write(&path, vec![7; 100_000]).unwrap();
        let said = layout(&path, &[]);
        let found = said["ranges"][0]["servers"].as_array().unwrap().iter();
        let found: Vec<&str> = found.map(|one| one.as_str().unwrap()).collect();
        assert_eq!(found, servers, "{name}: {said}");
        assert!(said["servers"][0]["queue"].is_u64(), "{said}");
        assert_eq!(std::fs::read(&path).unwrap(), vec![7; 100_000]);
    }
    let path = mount.path().join("run/deep/data");
    std::fs::write(&path, vec![8; 20_000]).unwrap();
    let said = layout(&path, &[]);
    assert_eq!((&said["provider"], &said["ranges"][0]["stripe"]), (&"rule".into(), &4096.into()));
    assert_eq!(said["pieces"].as_array().unwrap().len(), 5);
}
