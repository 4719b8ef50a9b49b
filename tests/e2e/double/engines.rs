//! One test for each file system: opened, asked, queued at the right servers, and the data verified.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::harness::{can_mount, eventually};
use super::filesystem::Answers;
use super::{Double, layout, read, write};

const BLOCK: usize = 65_536;

/// `lustre.lov` of version 1.
fn lov(stripe: u32, osts: &[u32]) -> Vec<u8> {
    let mut bytes = 0x0BD1_0BD0u32.to_le_bytes().to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(stripe.to_le_bytes());
    bytes.extend((osts.len() as u16).to_le_bytes());
    bytes.extend([0; 2]);
    for ost in osts {
        bytes.extend([0; 20]);
        bytes.extend(ost.to_le_bytes());
    }
    bytes
}

/// A composite `lustre.lov` of two components; the second may have no objects yet.
fn growing(generation: u32, border: u64, first: &[u32], second: &[u32]) -> Vec<u8> {
    let blobs = [lov(BLOCK as u32, first), lov(BLOCK as u32, second)];
    let mut bytes = 0x0BD6_0BD0u32.to_le_bytes().to_vec();
    bytes.extend(((128 + blobs[0].len() + blobs[1].len()) as u32).to_le_bytes());
    bytes.extend(generation.to_le_bytes());
    bytes.extend([0, 0, 2, 0]);
    bytes.resize(32, 0);
    let mut offset = 128;
    for (start, end, blob) in [(0, border, &blobs[0]), (border, u64::MAX, &blobs[1])] {
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(if blob.len() > 32 { 0x10u32 } else { 0 }.to_le_bytes());
        bytes.extend(u64::to_le_bytes(start));
        bytes.extend(u64::to_le_bytes(end));
        bytes.extend((offset as u32).to_le_bytes());
        bytes.extend((blob.len() as u32).to_le_bytes());
        bytes.extend([0; 16]);
        offset += blob.len();
    }
    blobs.iter().for_each(|blob| bytes.extend(blob));
    bytes
}

fn attribute(name: &'static str, value: Vec<u8>) -> Answers {
    Answers { attributes: HashMap::from([(name, value)]), ..Answers::default() }
}

fn expected(servers: &[(&str, u64)]) -> BTreeMap<String, u64> {
    servers.iter().map(|(name, blocks)| ((*name).into(), blocks * BLOCK as u64)).collect()
}

/// Both the agent behind the mount and the program itself say the same about a file.
fn check_layout(double: &Double, name: &str, provider: &str, servers: &[&str], options: &[&str]) {
    for place in [double.mount.path(), double.mount.backing()] {
        let said = layout(&place.join(name), options);
        assert_eq!(said["provider"], provider, "{said}");
        let names = said["servers"].as_array().unwrap().iter();
        let names: Vec<&str> = names.map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, servers, "{said}");
        assert!(said["cost_ns"].as_u64().unwrap() > 0);
    }
}

#[test]
fn lustre_stripes_go_to_their_targets() {
    let answers = attribute("lustre.lov", lov(BLOCK as u32, &[3, 5, 3]));
    let Some(double) = Double::start(answers, &[]) else { return };
    double.fill("file", BLOCK, 9);
    // Each block is written and read once; of three two are on the first target.
    assert_eq!(double.bytes(), expected(&[("ost:3", 12), ("ost:5", 6)]));
    check_layout(&double, "file", "lustre", &["ost:3", "ost:5"], &[]);
    let said = layout(&double.mount.path().join("file"), &["--pieces", "2"]);
    assert_eq!(said["pieces"][1]["server"], "ost:5");
    assert_eq!(said["pieces"][1]["offset"], BLOCK);
    assert_eq!(said["more_pieces"], true);
    assert_eq!(double.status()["layouts_asked"], double.status()["layouts_asked_lustre"]);
}

#[test]
fn a_lustre_file_that_grows_is_asked_for_again() {
    let border = 4 * BLOCK as u64;
    let answers = attribute("lustre.lov", growing(1, border, &[1, 2], &[]));
    let Some(double) = Double::start(answers, &[]) else { return };
    let file = double.open("file");
    (0..5).for_each(|number| write(&file, BLOCK, number));
    // The write behind the border gave the second component its objects.
    double.served.answer("lustre.lov", growing(2, border, &[1, 2], &[7]));
    (5..9).for_each(|number| write(&file, BLOCK, number));
    (0..9).for_each(|number| read(&file, BLOCK, number));
    let bytes = double.bytes();
    assert_eq!(bytes["ost:7"], 9 * BLOCK as u64, "{bytes:?}");
    assert_eq!(bytes["ost:2"], 4 * BLOCK as u64, "{bytes:?}");
    let said = layout(&double.mount.path().join("file"), &[]);
    assert_eq!(said["generation"], 2, "{said}");
}

#[test]
fn an_unchanged_file_is_asked_for_once() {
    let answers = attribute("lustre.lov", lov(BLOCK as u32, &[3]));
    let Some(double) = Double::start(answers, &[]) else { return };
    fs::write(double.mount.path().join("file"), b"some bytes").unwrap();
    drop(double.open("file"));
    let before = double.served.asked("lustre.lov");
    (0..20).for_each(|_| drop(double.open("file")));
    assert_eq!(double.served.asked("lustre.lov"), before);
}

#[test]
fn orangefs_strips_go_to_the_servers_of_their_handles() {
    if !can_mount() {
        return;
    }
    let mut distribution = 13u32.to_le_bytes().to_vec();
    distribution.extend(b"simple_stripe\0\0\0\0\0\0\0");
    distribution.extend((BLOCK as u64).to_le_bytes());
    distribution.resize(56, 0);
    let handles: Vec<u8> = [250u64, 110, 299].iter().flat_map(|one| one.to_le_bytes()).collect();
    let mut answers = attribute("system.pvfs2.md", distribution);
    answers.attributes.insert("system.pvfs2.dh", handles);
    let room = tempfile::tempdir().unwrap();
    let configuration = room.path().join("orangefs.conf");
    let text = "<DataHandleRanges>\nRange one 100-199\nRange two 200-299\n</DataHandleRanges>\n";
    fs::write(&configuration, text).unwrap();
    let option = format!("--pvfs-config={}", configuration.display());
    let Some(double) = Double::start(answers, &[&option]) else { return };
    double.fill("file", BLOCK, 6);
    assert_eq!(double.bytes(), expected(&[("alias:two", 8), ("alias:one", 4)]));
    check_layout(&double, "file", "pvfs2", &["alias:two", "alias:one"], &[&option]);
}

#[test]
fn beegfs_chunks_go_to_their_targets() {
    let mut info = 1u32.to_le_bytes().to_vec();
    info.extend((BLOCK as u32).to_le_bytes());
    info.extend([2, 0, 0, 0]);
    let target = |id: u32| {
        let mut answer = vec![0; 536];
        answer[4..8].copy_from_slice(&id.to_le_bytes());
        answer
    };
    let controls =
        HashMap::from([(0x800c_6619, vec![info]), (0x8218_661a, vec![target(11), target(12)])]);
    let answers = Answers { controls, ..Answers::default() };
    let Some(double) = Double::start(answers, &[]) else { return };
    double.fill("file", BLOCK, 5);
    assert_eq!(double.bytes(), expected(&[("target:11", 6), ("target:12", 4)]));
    check_layout(&double, "file", "beegfs", &["target:11", "target:12"], &[]);
}

#[test]
fn a_gluster_file_is_on_its_brick() {
    let said = b"(<DISTRIBUTE:v-dht> <POSIX(/b0):host:/b0/file>)".to_vec();
    let Some(double) = Double::start(attribute("glusterfs.pathinfo", said), &[]) else { return };
    double.fill("file", BLOCK, 3);
    assert_eq!(double.bytes(), expected(&[("brick:host:/b0", 6)]));
    check_layout(&double, "file", "gluster", &["brick:host:/b0"], &[]);
}

#[test]
fn a_ceph_file_is_its_pools_as_long_as_nobody_tells_where_objects_are() {
    let said = "stripe_unit=65536 stripe_count=4 object_size=1048576 pool=data";
    let answers = attribute("ceph.file.layout", said.into());
    let Some(double) = Double::start(answers, &[]) else { return };
    double.fill("file", BLOCK, 3);
    assert_eq!(double.bytes(), expected(&[("pool:data", 6)]));
    check_layout(&double, "file", "ceph", &["pool:data"], &[]);
}

#[test]
fn a_ceph_files_objects_go_to_the_daemons_that_the_command_names() {
    if !can_mount() {
        return;
    }
    // The first object is on daemon 5, the second one on daemon 3.
    let room = tempfile::tempdir().unwrap();
    let command = room.path().join("ceph");
    let script = "#!/bin/sh\ncase \"$6\" in *.00000000) n=5;; *) n=3;; esac\n\
                  [ \"$3 $4 $5\" = \"osd map data\" ] && echo \"{\\\"acting_primary\\\": $n}\"\n";
    fs::write(&command, script).unwrap();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let said = "stripe_unit=65536 stripe_count=2 object_size=1048576 pool=data";
    let option = format!("--ceph-command={}", command.display());
    let Some(double) = Double::start(attribute("ceph.file.layout", said.into()), &[&option]) else {
        return;
    };
    let file = double.open("file");
    (0..4).for_each(|number| write(&file, BLOCK, number));
    eventually("both daemons are known", || {
        read(&file, BLOCK, 0);
        double.bytes().contains_key("osd:3") && double.bytes().contains_key("osd:5")
    });
    let before = double.bytes();
    (0..4).for_each(|number| read(&file, BLOCK, number));
    let after = double.bytes();
    for daemon in ["osd:3", "osd:5"] {
        assert_eq!(after[daemon] - before[daemon], 2 * BLOCK as u64, "{daemon}");
    }
    let said = layout(&double.mount.path().join("file"), &[]);
    assert_eq!(said["pieces"][0]["server"], "osd:5", "{said}");
    assert_eq!(said["pieces"][1]["server"], "osd:3", "{said}");
}

#[test]
fn a_file_system_that_says_nothing_is_asked_once_and_is_one_server() {
    let Some(double) = Double::start(Answers::default(), &[]) else { return };
    (0..10).for_each(|number| double.fill(&format!("file{number}"), BLOCK, 2));
    assert_eq!(double.bytes(), expected(&[("all", 40)]));
    for attribute in ["ceph.file.layout", "lustre.lov", "system.pvfs2.md", "glusterfs.pathinfo"] {
        assert_eq!(double.served.asked(attribute), 1, "{attribute}");
    }
    assert_eq!(double.status()["layouts_asked"], "1");
}

#[test]
fn a_layout_that_cannot_be_read_harms_nobody() {
    let mut garbage = lov(0, &[1, 2]);
    garbage.resize(60_000, 0xa5);
    let Some(double) = Double::start(attribute("lustre.lov", garbage), &[]) else { return };
    double.fill("file", BLOCK, 4);
    assert_eq!(double.bytes(), expected(&[("all", 8)]));
}

#[test]
fn servers_that_come_too_late_share_queues() {
    let osts: Vec<u32> = (0..20).collect();
    let answers = attribute("lustre.lov", lov(BLOCK as u32, &osts));
    let Some(double) = Double::start(answers, &["--queues=4"]) else { return };
    double.fill("file", BLOCK, 20);
    let bytes = double.bytes();
    assert_eq!(bytes.len(), 4);
    assert_eq!(bytes.values().sum::<u64>(), 40 * BLOCK as u64);
}
