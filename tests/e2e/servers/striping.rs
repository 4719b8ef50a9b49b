//! Where bytes are, and that they are what they would be in a directory.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;

use super::{Small, objects_of, pattern, said};
use crate::e2e::harness::{Agent, DataServers, Mount, eventually, program};

#[test]
fn a_file_is_striped_over_all_servers_and_its_layout_is_told() {
    let Some(small) = Small::start("64K") else { return };
    let data = pattern(1_000_000, 1);
    fs::write(small.path("file"), &data).unwrap();
    assert_eq!(fs::read(small.path("file")).unwrap(), data);
    let sizes: Vec<u64> = (0..4)
        .flat_map(|number| objects_of(&small.servers, number))
        .map(|path| fs::metadata(path).unwrap().len())
        .collect();
    assert_eq!(sizes.len(), 4, "one object on each server");
    assert_eq!(sizes.iter().sum::<u64>(), 1_000_000);
    assert!(sizes.iter().all(|size| *size >= 3 * 65_536), "{sizes:?}");
    let told = Command::new(program()).arg("layout").arg(small.path("file")).output().unwrap();
    assert!(said(&told).contains("iofwd") && said(&told).contains("64K"), "{}", said(&told));
}

#[test]
fn holes_are_where_nothing_was_written() {
    let Some(small) = Small::start("64K") else { return };
    let file = File::options().read(true).write(true).create_new(true).open(small.path("sparse"));
    let file = file.unwrap();
    file.write_all_at(&[1; 4096], 10 << 20).unwrap();
    assert_eq!(file.metadata().unwrap().len(), (10 << 20) + 4096);
    let mut block = [9; 4096];
    file.read_exact_at(&mut block, 5 << 20).unwrap();
    assert_eq!(block, [0; 4096]);
    let seek = |offset, whence| nix::unistd::lseek(&file, offset, whence).unwrap();
    assert_eq!(seek(0, nix::unistd::Whence::SeekData), 10 << 20);
    assert_eq!(seek(0, nix::unistd::Whence::SeekHole), 0);
    assert_eq!(seek(10 << 20, nix::unistd::Whence::SeekHole), (10 << 20) + 4096);
}

#[test]
fn objects_go_with_their_file_and_not_before() {
    let Some(small) = Small::start("64K") else { return };
    fs::write(small.path("gone"), pattern(300_000, 1)).unwrap();
    fs::write(small.path("open"), pattern(300_000, 2)).unwrap();
    fs::write(small.path("over"), pattern(300_000, 3)).unwrap();
    assert_eq!(small.servers.objects(), 12);
    let open = File::open(small.path("open")).unwrap();
    fs::remove_file(small.path("gone")).unwrap();
    fs::remove_file(small.path("open")).unwrap();
    eventually("the objects of a removed file are gone", || small.servers.objects() == 8);
    assert_eq!(open.metadata().unwrap().nlink(), 0);
    let mut data = vec![0; 300_000];
    open.read_exact_at(&mut data, 0).unwrap();
    assert_eq!(data, pattern(300_000, 2), "a file that is open is whole");
    drop(open);
    eventually("those of a closed one too", || small.servers.objects() == 4);
    fs::write(small.path("new"), b"new").unwrap();
    fs::rename(small.path("new"), small.path("over")).unwrap();
    eventually("and of one that was replaced", || small.servers.objects() == 1);
}

#[test]
fn a_mount_without_an_agent_sees_what_those_with_one_see() {
    let Some(small) = Small::start("4K") else { return };
    let source = format!("servers:{}", small.servers.addresses().join(","));
    let own = Mount::remote(&small.agent, &source, &[]);
    fs::write(own.path().join("file"), pattern(100_000, 5)).unwrap();
    assert_eq!(fs::read(small.path("file")).unwrap(), pattern(100_000, 5));
    fs::write(small.path("file"), b"short").unwrap();
    assert_eq!(fs::read(own.path().join("file")).unwrap(), b"short");
}

#[test]
fn servers_in_another_order_are_refused() {
    let Some(servers) = DataServers::start(2, "64K") else { return };
    drop(Agent::over_servers(&servers));
    let mut list = servers.addresses();
    list.reverse();
    let refused = Command::new(program()).arg("check").arg(list.join(",")).output().unwrap();
    assert!(!refused.status.success());
    assert!(said(&refused).contains("another order"), "{}", said(&refused));
}
