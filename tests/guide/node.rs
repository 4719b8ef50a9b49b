//! Nodes of a cluster, each a set of namespaces: a layer over this system's files that vanishes, an
//! address on a common switch, a name that the others know, processes of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Nodes on one switch. All of it is gone when it is dropped.
pub(crate) struct Cluster {
    nodes: Vec<Node>,
    switch: String,
    _room: TempDir,
}

/// One node.
pub(crate) struct Node {
    name: String,
    network: String,
    holder: Child,
    /// The first process inside.
    first: u32,
    room: PathBuf,
}

impl Cluster {
    /// Makes them, or says why the test is skipped.
    pub(crate) fn start(names: &[&str]) -> Option<Self> {
        if !nix::unistd::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
            println!("skipped: only root can make nodes, and they need /dev/fuse");
            return None;
        }
        let prefix = format!("iofwd-guide-{}", std::process::id());
        let switch = format!("{prefix}-switch");
        if !succeeds(Command::new("ip").args(["netns", "add", &switch])) {
            println!("skipped: no network namespace can be made here (iproute2?)");
            return None;
        }
        let mut cluster = Self { nodes: Vec::new(), switch, _room: tempfile::tempdir().unwrap() };
        ip(&["-n", &cluster.switch, "link", "add", "hub", "type", "bridge"]);
        ip(&["-n", &cluster.switch, "link", "set", "hub", "up"]);
        for (number, name) in names.iter().enumerate() {
            let node = cluster.add(&prefix, number, name, names)?;
            cluster.nodes.push(node);
        }
        Some(cluster)
    }

    pub(crate) fn node(&self, name: &str) -> &Node {
        self.nodes
            .iter()
            .find(|node| node.name == name)
            .expect("the guide names nodes that are there")
    }

    fn add(&self, prefix: &str, number: usize, name: &str, names: &[&str]) -> Option<Node> {
        let network = format!("{prefix}-{name}");
        ip(&["netns", "add", &network]);
        let port = format!("port{number}");
        let peer = ["peer", "name", "net0", "netns", &network];
        ip(&[&["-n", &self.switch, "link", "add", &port, "type", "veth"], &peer[..]].concat());
        ip(&["-n", &self.switch, "link", "set", &port, "master", "hub", "up"]);
        ip(&["-n", &network, "address", "add", &format!("{}/24", address(number)), "dev", "net0"]);
        ip(&["-n", &network, "link", "set", "net0", "up"]);
        ip(&["-n", &network, "link", "set", "lo", "up"]);
        let room = self._room.path().join(name);
        fs::create_dir_all(room.join("data")).unwrap();
        let hosts: String =
            (0..).zip(names).map(|(at, name)| format!("{} {name}\n", address(at))).collect();
        fs::write(room.join("hosts"), format!("127.0.0.1 localhost\n{hosts}")).unwrap();
        Node::enter(name, network, room)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            if std::thread::panicking() {
                println!("{} said:\n{}", node.name, node.said());
            }
            // With the first process all others of the node end, and with the last its mounts.
            let _ = node.holder.kill();
            let _ = node.holder.wait();
            let _ = Command::new("ip").args(["netns", "delete", &node.network]).status();
        }
        let _ = Command::new("ip").args(["netns", "delete", &self.switch]).status();
    }
}

impl Node {
    fn enter(name: &str, network: String, room: PathBuf) -> Option<Self> {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{network}"));
        command.args(["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child"]);
        command.args(["sh", "-eu", "-c", PREPARE, name]).arg(&room).arg(program());
        let log = fs::File::create(room.join("holder")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut holder = command.spawn().expect("util-linux is there");
        let end = Instant::now() + PATIENCE;
        while !room.join("ready").exists() {
            if holder.try_wait().unwrap().is_some() {
                let why = fs::read_to_string(room.join("holder")).unwrap_or_default();
                println!("skipped: no node can be made here: {why}");
                let _ = Command::new("ip").args(["netns", "delete", &network]).status();
                return None;
            }
            assert!(Instant::now() < end, "{name} is not ready");
            std::thread::sleep(Duration::from_millis(5));
        }
        let first = first_below(holder.id());
        Some(Self { name: name.into(), network, holder, first, room })
    }

    /// Runs a command as somebody who is logged in there; it must succeed. What it said.
    pub(crate) fn run(&self, command: &str) -> String {
        let output = self.command("timeout 60 sh -ec \"$0\"", command).output().unwrap();
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{}# {command}\n{said}{}", self.name, self.said());
        said
    }

    /// Starts a command that stays, and waits until it says that it is ready.
    pub(crate) fn start(&self, command: &str) -> String {
        let before = self.said().matches("ready").count();
        let log =
            fs::File::options().append(true).create(true).open(self.room.join("log")).unwrap();
        let mut started = self.command("exec $0", command);
        started.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        drop(started.spawn().unwrap());
        let end = Instant::now() + PATIENCE;
        while self.said().matches("ready").count() == before {
            assert!(Instant::now() < end, "{}# {command}\n{}", self.name, self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
        String::new()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.room.join("log")).unwrap_or_default()
    }

    fn command(&self, script: &str, argument: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--mount", "--uts", "--net", "--pid"]);
        command.args(["--root", "--wd=/root", "sh", "-c", script, argument]);
        command
    }
}

/// What the first process of a node does: a layer over this system, with the program installed and
/// an `scp` that reaches the other nodes. `$0` is the name, `$1` a directory of ours, `$2` the program.
const PREPARE: &str = r#"
mount --make-rprivate /
mkdir -p "$1/layer"
mount -t tmpfs tmpfs "$1/layer"
mkdir "$1/layer/upper" "$1/layer/work" "$1/layer/root"
root=$1/layer/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/layer/upper,workdir=$1/layer/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/data" "$root/run/iofwd" "$root/run/nodes" "$root/etc/iofwd" "$1/../nodes/$0/etc/iofwd"
mount --bind "$1/data" "$root/data"
mount --bind "$1/../nodes" "$root/run/nodes"
mount --bind "$1/../nodes/$0/etc/iofwd" "$root/etc/iofwd"
hostname "$0"
cp "$1/hosts" "$root/etc/hosts"
if [ -n "${IOFWD_PACKAGE:-}" ]; then
    cp "$IOFWD_PACKAGE" "$root/tmp/iofwd.deb"
    chroot "$root" dpkg -i /tmp/iofwd.deb
else
    cp "$2" "$root/usr/bin/iofwd"
fi
cat > "$root/usr/local/bin/scp" <<'SCP'
#!/bin/sh -eu
# scp -p FILE HOST:FILE below /etc/iofwd, between nodes of a test.
cp -p "$2" "/run/nodes/${3%%:*}${3#*:}"
SCP
chmod +x "$root/usr/local/bin/scp"
touch "$1/ready"
exec chroot "$root" sleep infinity
"#;

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_iofwd")
}

/// The only child of a process that has one.
fn first_below(parent: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    children.unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

fn address(number: usize) -> String {
    format!("10.78.0.{}", number + 1)
}

fn succeeds(command: &mut Command) -> bool {
    command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn ip(words: &[&str]) {
    let output = Command::new("ip").args(words).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {words:?}: {complaint}");
}

const PATIENCE: Duration = Duration::from_secs(30);
