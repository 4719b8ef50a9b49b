//! What can be mounted, and how: the program in one process or with an agent apart, and others to
//! compare it with.

mod agent;
mod cluster;
mod gluster;
mod ssh;

use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::service::Service;
use crate::site::Site;
use crate::step::Step;

pub(crate) use agent::Agent;
pub(crate) use cluster::Cluster;

/// What is mounted.
#[derive(Clone)]
pub(crate) enum Program {
    Iofwd(PathBuf),
    /// The same, with data around the cache of this node.
    Direct(PathBuf),
    /// The same, with requests read from the device.
    Device(PathBuf),
    /// The same, with the agent in a process of its own.
    Remote {
        path: PathBuf,
        transport: Transport,
    },
    /// A client of an agent that runs already.
    Client {
        path: PathBuf,
        source: String,
    },
    Yardstick {
        path: PathBuf,
        ttl: u32,
    },
    /// As it comes: one thread, and a second of caching by the kernel; or with several threads and
    /// nothing cached, which is what a coherent mount promises.
    Bindfs {
        as_it_comes: bool,
    },
    /// Over the loopback, nothing cached.
    Sshfs,
    /// A volume of one brick over the loopback, nothing cached.
    Gluster,
    /// No mount at all: the directory itself.
    Bare,
}

/// How requests reach the agent, if not as they do by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Through {
    /// In the same process, read from the device.
    Device,
    /// In a process of its own.
    Agent(Transport),
}

impl From<Transport> for Through {
    fn from(transport: Transport) -> Self {
        Self::Agent(transport)
    }
}

/// How a client reaches its agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Transport {
    Unix,
    Tcp,
    /// Over TCP, to one of two agents over four data servers with stripes of that size.
    Servers(&'static str),
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Unix, Self::Tcp];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Tcp => "tcp",
            Self::Servers(_) => "servers",
        }
    }
}

/// The cache modes of the program.
#[derive(Clone, Copy)]
pub(crate) enum Cache {
    Coherent,
    CloseToOpen,
    Exclusive,
}

impl Cache {
    pub(crate) const ALL: [Self; 3] = [Self::Coherent, Self::CloseToOpen, Self::Exclusive];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Coherent => "coherent",
            Self::CloseToOpen => "close-to-open",
            Self::Exclusive => "exclusive",
        }
    }
}

/// What it takes to mount: what runs behind, and the client, which stays in the foreground.
pub(crate) struct Mounting<'a> {
    pub(crate) behind: Behind<'a>,
    pub(crate) client: Step,
}

/// What a client needs on the other side.
pub(crate) enum Behind<'a> {
    Nothing,
    /// Ours: it must end well.
    Agent(Service<'a>),
    /// Ours, all of them.
    Cluster(Cluster<'a>),
    /// Not ours to judge.
    Other(Service<'a>),
}

impl Behind<'_> {
    /// Ends it, after its client; says whether both ended well, if that is ours to judge.
    pub(crate) fn finish(self, client: Result<(), String>) -> Result<(), String> {
        match self {
            Self::Nothing => client,
            Self::Agent(agent) => {
                let stopped = agent.stop();
                client.and(stopped)
            }
            Self::Cluster(cluster) => {
                let stopped = cluster.stop();
                client.and(stopped)
            }
            Self::Other(mut service) => {
                service.kill();
                Ok(())
            }
        }
    }
}

impl Program {
    /// How it is mounted; none for the bare directory. What runs behind has been started.
    pub(crate) fn mounting<'a>(
        &self,
        site: &'a Site,
        area: &Area,
        cache: Cache,
    ) -> Result<Option<Mounting<'a>>, String> {
        let client = match self {
            Self::Iofwd(path) => client(path, cache),
            Self::Direct(path) => client(path, cache).arg("--data=direct"),
            Self::Device(path) => client(path, cache).arg("--no-rings"),
            Self::Remote { path, transport: Transport::Servers(stripe) } => {
                let cluster = Cluster::start(site, path, area, stripe, "")?;
                let client = client(path, cache).arg(&cluster.sources[0]).arg(&area.point);
                return Ok(Some(Mounting { behind: Behind::Cluster(cluster), client }));
            }
            Self::Remote { path, transport } => {
                let agent = Agent::start(site, path, area, *transport, "")?;
                let client = client(path, cache).arg(&agent.source).arg(&area.point);
                return Ok(Some(Mounting { behind: Behind::Agent(agent.service), client }));
            }
            Self::Client { path, source } => {
                let client = client(path, cache).arg("--threads=4").arg(source).arg(&area.point);
                return Ok(Some(Mounting { behind: Behind::Nothing, client: client.quiet() }));
            }
            Self::Sshfs => return ssh::mounting(site, area).map(Some),
            Self::Gluster => return gluster::mounting(site, area).map(Some),
            Self::Yardstick { path, ttl } => Step::new(path).arg("--ttl").arg(ttl.to_string()),
            Self::Bindfs { as_it_comes: true } => Step::new("bindfs").arg("-f"),
            Self::Bindfs { as_it_comes: false } => {
                let options = "attr_timeout=0,entry_timeout=0,negative_timeout=0";
                Step::new("bindfs").args(["-f", "--multithreaded", "-o", options])
            }
            Self::Bare => return Ok(None),
        };
        let client = client.arg(&area.backing).arg(&area.point);
        Ok(Some(Mounting { behind: Behind::Nothing, client }))
    }

    /// How it is unmounted.
    pub(crate) fn unmount(&self, point: &Path) -> Step {
        let step = match self {
            Self::Iofwd(path)
            | Self::Direct(path)
            | Self::Device(path)
            | Self::Remote { path, .. }
            | Self::Client { path, .. } => Step::new(path).arg("unmount"),
            Self::Yardstick { .. }
            | Self::Bindfs { .. }
            | Self::Sshfs
            | Self::Gluster
            | Self::Bare => Step::new("umount"),
        };
        step.arg(point).limit(60).quiet()
    }
}

/// A client of ours, but for what it mounts and where.
pub(crate) fn client(path: &Path, cache: Cache) -> Step {
    let mount = ["mount", "--foreground", "--allow-other"];
    Step::new(path).args(mount).arg(format!("--cache={}", cache.name()))
}
