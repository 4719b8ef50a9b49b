//! The disks of data servers, and of a directory: they lose their power, fill up, fail, or are gone. What
//! was made durable is there afterwards, errors arrive as themselves and only where they belong, and
//! everything goes on when the cause is gone.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::libc;

use crate::e2e::harness::{Agent, DataServers, Disk, Mount, eventually};

/// Three data servers with a disk each, an agent over them, a client of it.
struct Scene {
    mount: Mount,
    _agent: Agent,
    servers: DataServers,
    disks: Vec<Disk>,
}

impl Scene {
    /// With disks of so many mebibytes, and files over so many of them.
    fn start(sizes: [u64; 3], stripes: u32) -> Option<Scene> {
        let disks: Option<Vec<Disk>> = sizes.into_iter().map(Disk::new).collect();
        let disks = disks?;
        let directories: Vec<PathBuf> = disks.iter().map(Disk::directory).collect();
        let servers = DataServers::at(&directories, "16K");
        let export = format!("{}stripe_count = {stripes}\n", servers.export());
        let agent = Agent::exporting("[scheduler]\npolicy = \"fifo\"", &export)?;
        let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
        Some(Scene { mount, _agent: agent, servers, disks })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.mount.path().join(name)
    }

    /// The disk of a server fails as it does when its power is gone, and so does the server.
    fn lose_power(&mut self, number: usize) {
        self.disks[number].lose_power();
        self.repair(number);
    }

    /// A server is ended by force, its disk repaired, and both are there again.
    fn repair(&mut self, number: usize) {
        self.servers.kill(number);
        self.disks[number].start_again();
        self.servers.restart(number);
    }
}

fn errno<T>(result: std::io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 512 * 7 + at * 3 + seed) as u8).collect()
}

fn write_synced(path: &Path, data: &[u8]) {
    let mut file = File::create(path).unwrap();
    file.write_all(data).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn what_was_synced_outlives_the_power_of_any_data_server() {
    let Some(mut scene) = Scene::start([64; 3], 3) else { return };
    write_synced(&scene.path("open"), b"open all the time");
    let reader = Reader::open(&scene.path("open"));
    for (round, victim) in [1, 0, 2].into_iter().enumerate() {
        let [synced, changed, not] =
            ["synced", "changed", "not"].map(|name| scene.path(&format!("{name}-{round}")));
        write_synced(&changed, &pattern(LENGTH, round));
        write_synced(&synced, &pattern(LENGTH, round));
        let part = pattern(LENGTH / 3, round + 100);
        let file = File::options().write(true).open(&changed).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &part, 10_000).unwrap();
        file.sync_data().unwrap();
        drop(file);
        // Others are not, and may be there or not.
        fs::write(&not, pattern(LENGTH, round)).unwrap();
        scene.lose_power(victim);
        let is_whole = fs::read(&not).is_ok_and(|read| read == pattern(LENGTH, round));
        assert!(!is_whole, "the power of server {victim} was not really gone");
        for round in 0..=round {
            let read = fs::read(scene.path(&format!("synced-{round}"))).unwrap();
            assert!(read == pattern(LENGTH, round), "server {victim}, file {round}");
            let mut expected = pattern(LENGTH, round);
            expected[10_000..10_000 + LENGTH / 3]
                .copy_from_slice(&pattern(LENGTH / 3, round + 100));
            let read = fs::read(scene.path(&format!("changed-{round}"))).unwrap();
            assert!(read == expected, "server {victim}, file {round} that was changed");
        }
        works(&scene.path("after"));
    }
    assert_eq!(reader.read(), "open all the time");
}

/// Another process that has a file open. Not this one: whoever starts a program closes what it has open
/// on the way, and would wait for servers that it is about to start again.
struct Reader(Child);

impl Reader {
    fn open(path: &Path) -> Reader {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 3< \"$0\"; echo open; read go; exec cat <&3"]).arg(path);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 5];
        child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"open\n");
        Reader(child)
    }

    fn read(mut self) -> String {
        self.0.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let output = self.0.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn what_was_synced_outlives_the_power_of_a_directory() {
    let Some(disk) = Disk::new(64) else { return };
    let Some(mut agent) = Agent::over_directory(&disk.directory()) else { return };
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let synced = mount.path().join("synced");
    write_synced(&synced, &pattern(LENGTH, 1));
    fs::write(mount.path().join("not"), pattern(LENGTH, 2)).unwrap();
    disk.lose_power();
    assert_eq!(errno(fs::write(mount.path().join("new"), "x")), Some(libc::EIO));
    agent.kill();
    disk.start_again();
    agent.start_again();
    let not = fs::read(mount.path().join("not"));
    assert!(!not.is_ok_and(|read| read == pattern(LENGTH, 2)), "it was not really gone");
    assert!(fs::read(&synced).unwrap() == pattern(LENGTH, 1));
    works(&mount.path().join("after"));
}

/// Files over one server each: by what a disk does, only its own files are hit.
fn files_of_each(scene: &Scene) -> Vec<PathBuf> {
    let all: Vec<PathBuf> = (0..30).map(|n| scene.path(&format!("file-{n}"))).collect();
    all.iter().for_each(|path| write_synced(path, b"data"));
    all
}

#[test]
fn a_server_whose_disk_fails_fails_its_files_only_and_they_are_back_with_it() {
    let Some(mut scene) = Scene::start([64; 3], 1) else { return };
    let files = files_of_each(&scene);
    scene.disks[1].lose_power();
    let (mut failed, mut fine) = (0, 0);
    for path in &files {
        match fs::read(path) {
            Ok(data) => {
                assert_eq!(data, b"data");
                fs::write(path, b"more").unwrap();
                fine += 1;
            }
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EIO));
                let file = File::options().write(true).open(path).unwrap();
                assert_eq!(errno((&file).write(b"x")), Some(libc::EIO), "at the write itself");
                failed += 1;
            }
        }
    }
    assert!(failed > 0 && fine > 0, "{failed} failed, {fine} did not");
    scene.repair(1);
    for path in &files {
        let data = fs::read(path).unwrap();
        assert!(data == b"data" || data == b"more", "{data:?}");
        works(path);
    }
}

#[test]
fn a_server_whose_disk_becomes_read_only_refuses_changes_of_its_files_only() {
    let Some(mut scene) = Scene::start([64; 3], 1) else { return };
    let files = files_of_each(&scene);
    scene.disks[2].become_read_only();
    let (mut refused, mut fine) = (0, 0);
    for path in &files {
        assert_eq!(fs::read(path).unwrap(), b"data", "it can be read");
        let file = File::options().write(true).open(path).unwrap();
        match errno((&file).write(b"x")) {
            None => fine += 1,
            Some(errno) => {
                assert_eq!(errno, libc::EROFS);
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && fine > 0, "{refused} refused, {fine} not");
    scene.repair(2);
    files.iter().for_each(|path| works(path));
}

#[test]
fn a_data_server_that_is_full_is_told_at_the_write_and_has_room_again() {
    let Some(scene) = Scene::start([64, 8, 64], 3) else { return };
    let full = scene.path("full");
    assert_eq!(errno(fs::write(&full, vec![7; 30 << 20])), Some(libc::ENOSPC));
    assert!(fs::metadata(&full).unwrap().len() < 30 << 20);
    fs::remove_file(&full).unwrap();
    eventually("there is room again", || fs::write(&full, vec![7; 6 << 20]).is_ok());
    assert!(fs::read(&full).unwrap() == vec![7; 6 << 20]);
}

#[test]
fn a_data_server_whose_directory_is_removed_fails_its_files_until_it_is_started_again() {
    let Some(mut scene) = Scene::start([64; 3], 1) else { return };
    fs::remove_dir_all(scene.servers.directory(1).join("objects")).unwrap();
    let results: Vec<Option<i32>> =
        (0..20).map(|n| errno(fs::write(scene.path(&format!("file-{n}")), b"data"))).collect();
    let is_expected = |result: &Option<i32>| matches!(result, None | Some(libc::EIO));
    assert!(results.iter().all(is_expected), "{results:?}");
    assert!(results.contains(&None) && results.contains(&Some(libc::EIO)), "{results:?}");
    scene.servers.kill(1);
    scene.servers.restart(1);
    (0..20).for_each(|n| works(&scene.path(&format!("file-{n}"))));
}

fn works(path: &Path) {
    fs::write(path, "good").unwrap();
    assert_eq!(fs::read(path).unwrap(), b"good");
    fs::remove_file(path).unwrap();
}

const LENGTH: usize = 300_000;
