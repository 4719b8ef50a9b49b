//! A Ceph cluster on this machine for one test: a monitor, daemons that keep their objects in memory, a
//! metadata server and a mount. Everything is in one directory and on the loopback, and ends with it.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::super::harness::can_mount;

/// Debian has them in ceph-mon, ceph-osd, ceph-mds, ceph-fuse and ceph-common.
const TOOLS: [&str; 6] = ["ceph-mon", "ceph-osd", "ceph-mds", "ceph-fuse", "ceph", "monmaptool"];

const PATIENCE: Duration = Duration::from_secs(120);

/// A running cluster.
pub(super) struct Cluster {
    /// The mount's first, the monitor's last: each still finds the one it speaks to.
    processes: Vec<Child>,
    room: TempDir,
}

impl Cluster {
    /// Starts one with so many daemons, or says why the test is skipped.
    pub(super) fn start(daemons: u32) -> Option<Cluster> {
        if !can_mount() {
            return None;
        }
        if let Some(missing) = TOOLS.iter().find(|tool| !is_installed(tool)) {
            println!(
                "skipped: {missing} is not installed (Debian: ceph-mon ceph-osd ceph-mds ceph-fuse)"
            );
            return None;
        }
        let mut cluster = Cluster { processes: Vec::new(), room: tempfile::tempdir().unwrap() };
        cluster.start_monitor();
        cluster.start_daemons(daemons);
        cluster.start_file_system();
        cluster.mount();
        Some(cluster)
    }

    /// Where the file system is mounted.
    pub(super) fn path(&self) -> PathBuf {
        self.room.path().join("mnt")
    }

    /// The ceph command for this cluster.
    pub(super) fn command(&self) -> PathBuf {
        self.room.path().join("ceph")
    }

    /// The daemon that has an object, as Ceph tells.
    pub(super) fn daemon_of(&self, object: &str) -> u64 {
        let mut command = Command::new(self.command());
        let output = command.args(["osd", "map", "data", object, "-f", "json"]).output().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        value["acting_primary"].as_u64().expect("a daemon")
    }

    fn start_monitor(&mut self) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let room = self.room.path().display().to_string();
        fs::create_dir(self.room.path().join("mnt")).unwrap();
        let settings = SETTINGS.replace("ROOM", &room).replace("PORT", &port.to_string());
        fs::write(self.conf(), settings).unwrap();
        let script = format!("#!/bin/sh\nCEPH_CONF={room}/ceph.conf exec ceph \"$@\"\n");
        fs::write(self.command(), script).unwrap();
        fs::set_permissions(self.command(), fs::Permissions::from_mode(0o755)).unwrap();
        let map = self.room.path().join("monmap");
        let address = format!("[v2:127.0.0.1:{port}]");
        let make = ["--create", "--fsid", FSID, "--enable-all-features", "--addv", "a", &address];
        done(Command::new("monmaptool").args(make).arg(&map));
        done(self.tool("ceph-mon").args(["--mkfs", "-i", "a", "--monmap"]).arg(&map));
        self.spawn("ceph-mon", &["-f", "-i", "a"]);
    }

    fn start_daemons(&mut self, daemons: u32) {
        let uuid = |daemon: u32| format!("00000000-0000-4000-8000-{daemon:012}");
        let lines: Vec<String> =
            (0..daemons).map(|daemon| format!("osd new {} {daemon}", uuid(daemon))).collect();
        self.tell(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        for daemon in 0..daemons {
            fs::create_dir(self.room.path().join(format!("osd{daemon}"))).unwrap();
            let id = daemon.to_string();
            done(self.tool("ceph-osd").args(["--mkfs", "-i", &id, "--osd-uuid", &uuid(daemon)]));
            self.spawn("ceph-osd", &["-f", "-i", &id]);
        }
    }

    fn start_file_system(&mut self) {
        self.tell(&[
            "osd pool create meta 8 8",
            "osd pool create data 32 32",
            "fs new fs meta data",
        ]);
        fs::create_dir(self.room.path().join("mdsa")).unwrap();
        self.spawn("ceph-mds", &["-f", "-i", "a"]);
        self.wait_for("the metadata server", |cluster| {
            cluster.tell(&["mds stat"]).contains("up:active")
        });
    }

    fn mount(&mut self) {
        let before = device(&self.path());
        let point = self.path().display().to_string();
        self.spawn("ceph-fuse", &["-f", &point]);
        self.wait_for("the mount", |cluster| device(&cluster.path()) != before);
    }

    fn wait_for(&self, what: &str, holds: impl Fn(&Cluster) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < end, "not in time: {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn conf(&self) -> PathBuf {
        self.room.path().join("ceph.conf")
    }

    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.arg("-c").arg(self.conf()).stdin(Stdio::null());
        command
    }

    /// Starts a process that is ended with the cluster.
    fn spawn(&mut self, name: &str, arguments: &[&str]) {
        let log = File::create(self.room.path().join(format!("{name}.log"))).unwrap();
        let mut command = self.tool(name);
        command.args(arguments).stdout(log.try_clone().unwrap()).stderr(log);
        self.processes.insert(0, command.spawn().unwrap());
    }

    /// Tells the cluster lines, with one start of its slow command.
    fn tell(&self, lines: &[&str]) -> String {
        let mut command = Command::new(self.command());
        command.args(["--connect-timeout", "60"]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{lines:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).replace("ceph> ", "")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nothing here is to be kept, and nothing may hang.
        let _ = Command::new("umount").arg("-l").arg(self.path()).stderr(Stdio::null()).status();
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn is_installed(tool: &str) -> bool {
    let found =
        Command::new(tool).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok()
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.dev())
}

const FSID: &str = "00000000-0000-4000-8000-00000000feed";

/// One machine, no copies, objects in memory, no proofs of identity: it lives for one test.
const SETTINGS: &str = "[global]
fsid = 00000000-0000-4000-8000-00000000feed
mon host = [v2:127.0.0.1:PORT]
run dir = ROOM
admin socket = ROOM/$name.$pid.asok
log file = ROOM/$name.$pid.log
crash dir = ROOM
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 1
paxos propose interval = 0.05
mds beacon interval = 1
[mon]
mon data = ROOM/mon
mon initial members = a
[mds]
mds data = ROOM/mdsa
[osd]
osd data = ROOM/osd$id
osd objectstore = memstore
memstore device bytes = 1073741824
osd class update on start = false
";
