//! Where a file system says the bytes of a file lie, whatever words it uses for it.
//!
//! One parser for each file system turns its bytes into a [`Description`], which names servers as that
//! file system does. [`Servers`] numbers them, and [`Description::layout`] makes the arithmetic of it.
//! Parsers never trust a length, and what they cannot read costs no more than saying so.

pub mod beegfs;
mod bytes;
pub mod ceph;
pub mod gluster;
pub mod lustre;
mod pattern;
mod problem;
mod provider;
pub mod pvfs;
mod rule;
mod server;
mod servers;
mod source;
mod told;

pub use pattern::Pattern;
pub use problem::Problem;
pub use provider::{Advice, ask, probe};
pub use rule::{First, Rule};
pub use server::Server;
pub use servers::Servers;
pub use source::{Descriptor, Source};
pub use told::Told;

use std::fmt;

use serde::{Deserialize, Serialize};

use iofwd_scheduler::layout::{Component, Layout, LayoutError, Objects, Stripe, Target};
use iofwd_scheduler::request::ServerId;

/// Who said where the bytes of a file lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Engine {
    /// CephFS.
    Ceph,
    /// Lustre.
    Lustre,
    /// OrangeFS, once PVFS2.
    Pvfs,
    /// BeeGFS.
    BeeGfs,
    /// GlusterFS.
    Gluster,
    /// A rule of the settings.
    Rule,
    /// Our own data servers.
    Iofwd,
    /// Nobody: the file system is one server.
    Plain,
}

impl Engine {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Engine; 8] = [
        Engine::Ceph,
        Engine::Lustre,
        Engine::Pvfs,
        Engine::BeeGfs,
        Engine::Gluster,
        Engine::Rule,
        Engine::Iofwd,
        Engine::Plain,
    ];

    /// Those that are asked on an open file of theirs.
    pub const PROVIDERS: [Engine; 5] =
        [Engine::Ceph, Engine::Lustre, Engine::Pvfs, Engine::BeeGfs, Engine::Gluster];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Ceph => "ceph",
            Engine::Lustre => "lustre",
            Engine::Pvfs => "pvfs2",
            Engine::BeeGfs => "beegfs",
            Engine::Gluster => "gluster",
            Engine::Rule => "rule",
            Engine::Iofwd => "iofwd",
            Engine::Plain => "none",
        }
    }

    /// Whether it has data servers of its own, behind the cache of whoever mounts it.
    pub const fn has_data_servers(self) -> bool {
        !matches!(self, Engine::Rule | Engine::Plain)
    }

    /// Whether the layout of a file may become another one while the file exists: Lustre gives it
    /// objects as it grows, and of an empty file of Ceph it can be set.
    pub const fn may_change(self) -> bool {
        matches!(self, Engine::Lustre | Engine::Ceph)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where the bytes of one file lie, in the words of its file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Who says so.
    pub engine: Engine,
    /// Which layout of the file it is, where the file system counts them; else zero.
    pub generation: u64,
    /// The layout.
    pub shape: Shape,
}

/// The shapes that layouts have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// All on one server.
    Whole(Server),
    /// Dealt out to servers in turn.
    Stripes(Stripes),
    /// Ranges of their own layout, in file order and apart; bytes in none have no server yet.
    Ranges(Vec<Range>),
    /// Objects, of some of which the server is known.
    Objects(ObjectStripes),
}

/// Units dealt out to servers in turn, counted from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripes {
    /// Bytes of a unit; not zero.
    pub unit: u64,
    /// The servers in the order of their turns; at least one.
    pub servers: Vec<Server>,
}

/// A range of a file, and its layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first byte.
    pub start: u64,
    /// The first byte behind it; `u64::MAX` is the end of the file.
    pub end: u64,
    /// How it is dealt out.
    pub stripes: Stripes,
}

/// Units dealt out to objects until these are full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectStripes {
    /// Bytes of a unit.
    pub unit: u64,
    /// How many objects are filled in turn.
    pub count: u64,
    /// Bytes of an object.
    pub object_size: u64,
    /// Where the objects are kept.
    pub pool: String,
    /// The part of the pool, if it has parts.
    pub namespace: Option<String>,
    /// The servers of objects, by object number; those of others are not known.
    pub known: Vec<(u64, Server)>,
}

impl Description {
    /// All on one server, says this one.
    pub const fn whole(engine: Engine, server: Server) -> Description {
        Description { engine, generation: 0, shape: Shape::Whole(server) }
    }

    /// Nobody says anything: the file system is one server.
    pub const fn plain() -> Description {
        Description::whole(Engine::Plain, Server::Only)
    }

    /// The arithmetic of it, with the servers' numbers.
    pub fn layout(&self, number: &dyn Fn(&Server) -> ServerId) -> Result<Layout, LayoutError> {
        let layout = match &self.shape {
            Shape::Whole(server) => Layout::single(number(server)),
            Shape::Stripes(stripes) => Layout::round_robin(stripes.unit, stripes.numbers(number))?,
            Shape::Ranges(ranges) => {
                let components = ranges.iter().map(|range| range.component(number));
                Layout::extents(components.collect::<Result<_, _>>()?)?
            }
            Shape::Objects(stripes) => stripes.layout(number)?,
        };
        Ok(layout.with_generation(self.generation))
    }
}

impl Stripes {
    fn numbers(&self, number: &dyn Fn(&Server) -> ServerId) -> Vec<ServerId> {
        self.servers.iter().map(number).collect()
    }
}

impl Range {
    fn component(&self, number: &dyn Fn(&Server) -> ServerId) -> Result<Component, LayoutError> {
        let stripe = Stripe::new(self.stripes.unit, self.stripes.numbers(number))?;
        Ok(Component { start: self.start, end: self.end, target: Target::RoundRobin(stripe) })
    }
}

impl ObjectStripes {
    /// The server of all objects together, as long as nothing is known of any one.
    pub fn pool_server(&self) -> Server {
        Server::Pool(self.pool.as_str().into())
    }

    /// How many objects a file of this size has; of an empty one, those that are filled first.
    pub fn objects_of(&self, size: u64) -> u64 {
        let set = self.object_size.saturating_mul(self.count).max(1);
        size.div_ceil(set).max(1).saturating_mul(self.count)
    }

    fn layout(&self, number: &dyn Fn(&Server) -> ServerId) -> Result<Layout, LayoutError> {
        let mut objects = Objects::new(self.unit, self.count, self.object_size)?;
        if self.known.is_empty() {
            return Ok(Layout::single(number(&self.pool_server())));
        }
        for (object, server) in &self.known {
            objects.learn(*object, number(server));
        }
        Ok(Layout::objects(objects))
    }
}
