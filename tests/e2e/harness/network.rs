//! A network for a test: an agent and its clients each in a namespace of its own, a link between
//! the agent and every client, and all of it gone with the test, however it ends. What is in the middle
//! passes on what clients send to each other, so that agents and data servers can be at the ends, too.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{can_mount, program};

/// The namespaces; links between them go with them.
pub(crate) struct Network {
    agent: Namespace,
    clients: Vec<Option<Namespace>>,
}

impl Network {
    /// A star of so many clients around an agent, or says why the test is skipped.
    pub(crate) fn start(clients: usize) -> Option<Self> {
        if !can_mount() {
            return None;
        }
        if let Some(missing) = ["ip", "tc", "nsenter"].iter().find(|tool| !is_there(tool)) {
            println!("skipped: there is no program {missing} here (iproute2, util-linux)");
            return None;
        }
        let agent = Namespace::new()?;
        let forward = "echo 1 > /proc/sys/net/ipv4/ip_forward";
        run("nsenter", [&*agent.enter(), "sh", "-c", forward]);
        let mut network = Self { agent, clients: Vec::new() };
        for number in 0..clients {
            network.clients.push(Some(Namespace::new()?));
            network.connect(number);
        }
        Some(network)
    }

    fn connect(&self, number: usize) {
        let (agent, client) = (&self.agent.name, &self.client(number).name);
        let here = link_name(number);
        let pair = ["type", "veth", "peer", "name", UPLINK, "netns", client];
        run("ip", [&["-n", agent, "link", "add", &here][..], &pair].concat());
        for (namespace, link, address) in
            [(agent, &*here, agent_address(number)), (client, UPLINK, client_address(number))]
        {
            run("ip", ["-n", namespace, "address", "add", &format!("{address}/24"), "dev", link]);
            run("ip", ["-n", namespace, "link", "set", link, "up"]);
        }
        self.route(number);
    }

    /// Everything else is reached by way of the middle.
    fn route(&self, number: usize) {
        let (client, middle) = (&self.client(number).name, agent_address(number));
        run("ip", ["-n", client, "route", "replace", "default", "via", &middle]);
    }

    /// Where the agent is.
    pub(super) fn agent(&self) -> &Namespace {
        &self.agent
    }

    /// Where a client is.
    pub(crate) fn client(&self, number: usize) -> &Namespace {
        self.clients[number].as_ref().expect("the test has not removed it")
    }

    /// Pulls the cable of a client: nobody is told.
    pub(crate) fn cut(&self, client: usize) {
        run("ip", ["-n", &self.client(client).name, "link", "set", UPLINK, "down"]);
    }

    /// Puts it back.
    pub(crate) fn mend(&self, client: usize) {
        run("ip", ["-n", &self.client(client).name, "link", "set", UPLINK, "up"]);
        // The route has gone with the link.
        self.route(client);
    }

    /// Gives a client a slow link, in both directions.
    pub(crate) fn shape(&self, client: usize, rate: &str) {
        let bucket = ["root", "tbf", "rate", rate, "burst", "64kb", "latency", "100ms"];
        let (near, far) = (&self.client(client).name, &self.agent.name);
        run("tc", [&["-n", near, "qdisc", "add", "dev", UPLINK][..], &bucket].concat());
        let link = link_name(client);
        run("tc", [&["-n", far, "qdisc", "add", "dev", &link][..], &bucket].concat());
    }

    /// Removes a client's namespace, and its link with it.
    pub(crate) fn remove(&mut self, client: usize) {
        self.clients[client] = None;
    }
}

/// The address by which a client knows the agent.
pub(super) fn agent_address(client: usize) -> String {
    format!("10.77.{client}.1")
}

/// The address by which everybody knows what is at the end of a link.
pub(super) fn client_address(client: usize) -> String {
    format!("10.77.{client}.2")
}

/// The agent's end of the link to a client.
fn link_name(client: usize) -> String {
    format!("client{client}")
}

/// A network namespace of this process's own.
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    fn new() -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("iofwd-{}-{number}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        let made = made.expect("ip was found before");
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
            println!("skipped: no network namespace can be made here: {why}");
            return None;
        }
        let namespace = Self { name };
        run("ip", ["-n", &namespace.name, "link", "set", "lo", "up"]);
        Some(namespace)
    }

    /// The program, run in it. Not by `ip netns exec`, which would hide what is mounted there.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(self.enter()).arg(program());
        command
    }

    fn enter(&self) -> String {
        format!("--net=/run/netns/{}", self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What fails here must not hide why a test failed.
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).status();
    }
}

fn run<W: AsRef<OsStr>>(tool: &str, words: impl AsRef<[W]>) {
    let output = Command::new(tool).args(words.as_ref()).output().expect("it was found before");
    let words: Vec<_> = words.as_ref().iter().map(|word| word.as_ref().to_owned()).collect();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {words:?}: {complaint}");
}

fn is_there(tool: &str) -> bool {
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .any(|place| place.join(tool).exists())
}

/// The client's end of its link.
const UPLINK: &str = "uplink";
