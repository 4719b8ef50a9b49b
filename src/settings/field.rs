//! The table of all fields: meaning, default, bounds and why, and the variable that overrules the
//! file. Error messages, `describe` and the check of the example come from it.

use iofwd_scheduler::time::Span;

use crate::quantity;

/// One field of the settings file.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The section it stands in; empty for the fields above all sections.
    pub section: &'static str,
    /// Its name in the section.
    pub name: &'static str,
    /// What it means, in words.
    pub meaning: &'static str,
    /// The environment variable that overrules the file.
    pub variable: Option<&'static str>,
    /// Default and bounds of a number.
    pub bound: Option<Bound>,
}

/// Default and bounds of a number.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// What is counted.
    pub unit: Unit,
    /// Taken when nothing is given; `None`: somebody else decides.
    pub default: Option<u64>,
    /// The least it may be.
    pub least: u64,
    /// The most it may be.
    pub most: u64,
    /// Why it may not be less or more.
    pub why: &'static str,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
}

impl Unit {
    /// A number as it would be typed.
    pub fn show(self, value: u64) -> String {
        match self {
            Unit::Count => value.to_string(),
            Unit::Bytes => quantity::show_bytes(value),
            Unit::Time => quantity::show_span(Span::from_nanos(value)),
        }
    }
}

impl Bound {
    /// A number in bounds, or what is wrong with it.
    pub(super) fn read(&self, text: &str) -> Result<u64, String> {
        let value = match self.unit {
            Unit::Count => text
                .parse()
                .map_err(|_| format!("'{text}' is no whole number: write {}", self.range()))?,
            Unit::Bytes => quantity::bytes(text)?,
            Unit::Time => quantity::span(text)?.as_nanos(),
        };
        if value < self.least || self.most < value {
            return Err(format!("{text} is out of bounds, write {}: {}", self.range(), self.why));
        }
        Ok(value)
    }

    /// The bounds as they would be typed.
    pub(super) fn range(&self) -> String {
        format!("{} to {}", self.unit.show(self.least), self.unit.show(self.most))
    }
}

impl Field {
    /// How messages call it: `limits.memory`.
    pub fn path(&self) -> String {
        match self.section {
            "" => self.name.to_string(),
            section => format!("{section}.{}", self.name),
        }
    }
}

/// The field of this name in this section, if there is one.
pub fn find(section: &str, name: &str) -> Option<&'static Field> {
    in_section(section).find(|field| field.name == name)
}

/// All fields of a section.
pub fn in_section(section: &str) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.section == section)
}

const fn field(section: &'static str, name: &'static str, meaning: &'static str) -> Field {
    Field { section, name, meaning, variable: None, bound: None }
}

impl Field {
    const fn or(mut self, variable: &'static str) -> Field {
        self.variable = Some(variable);
        self
    }

    const fn of(self, unit: Unit, default: u64, bounds: (u64, u64), why: &'static str) -> Field {
        self.bound(unit, Some(default), bounds, why)
    }

    const fn bound(
        mut self,
        unit: Unit,
        default: Option<u64>,
        (least, most): (u64, u64),
        why: &'static str,
    ) -> Field {
        self.bound = Some(Bound { unit, default, least, most, why });
        self
    }
}

/// The sections beside the fields above all of them.
pub const SECTIONS: &[&str] =
    &["tls", "agent", "scheduler", "layout", "stripes", "limits", "export", "job", "telemetry"];

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MICROSECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;
/// The highest id: the one above means "leave it as it is" to the kernel.
const ID_MOST: u64 = u32::MAX as u64 - 1;

/// Every field there is.
#[rustfmt::skip]
pub const FIELDS: &[Field] = &[
    field("", "listen", "where clients connect: ADDRESS:PORT or unix:PATH"),
    field("", "key_file", "the key that clients over TCP must have too").or("IOFWD_KEY_FILE"),
    field("", "state", "directory for what clients need to go on after the agent's death").or("IOFWD_STATE"),

    field("tls", "certificate", "the agent's certificate and those between it and the root, PEM").or("IOFWD_TLS_CERTIFICATE"),
    field("tls", "private_key", "the private key of the certificate, PEM").or("IOFWD_TLS_PRIVATE_KEY"),
    field("tls", "client_ca", "clients must have a certificate from here, PEM").or("IOFWD_TLS_CLIENT_CA"),

    field("agent", "index", "which of the agents that share the servers this is").or("IOFWD_AGENT_INDEX")
        .bound(Unit::Count, None, (0, 1023), "agents are counted from 0"),
    field("agent", "count", "how many agents share the servers").or("IOFWD_AGENT_COUNT")
        .of(Unit::Count, 1, (1, 1024), "each has windows of its own"),

    field("scheduler", "policy", "the order in which requests are issued").or("IOFWD_POLICY"),
    field("scheduler", "window", "length of a time window, for policies that have them").or("IOFWD_WINDOW")
        .bound(Unit::Time, None, (10 * MICROSECOND, 10 * SECOND), "no timer meets shorter windows, no user waits for longer ones"),
    field("scheduler", "gather", "within a window, wait for those that went with the last batch, for policies that can").or("IOFWD_GATHER"),
    field("scheduler", "depth", "reads and writes under way at one server at a time").or("IOFWD_DEPTH")
        .of(Unit::Count, 64, (1, 1024), "each may occupy a thread"),
    field("scheduler", "servers", "treat files as striped over so many servers where nobody says more; 1: the directory is one").or("IOFWD_SERVERS")
        .of(Unit::Count, 1, (1, 1024), "each has a queue of its own"),
    field("scheduler", "stripe", "bytes of a file on one server before the next one follows").or("IOFWD_STRIPE")
        .of(Unit::Bytes, 64 * KIB, (4 * KIB, 4 * GIB), "smaller than a page, every request would be cut up; 4G is more than any file system has"),

    field("layout", "queues", "servers that may have a queue of their own; those that come later share one").or("IOFWD_QUEUES")
        .of(Unit::Count, 64, (1, 1024), "a round of windows has one for each"),
    field("layout", "servers", "the servers in the order of their numbers, alike in all agents that share them"),
    field("layout", "pvfs_config", "configuration of an OrangeFS file system: which handles are whose").or("IOFWD_PVFS_CONFIG"),
    field("layout", "ceph_command", "asked on which daemons the objects of CephFS files are").or("IOFWD_CEPH_COMMAND"),

    field("stripes", "pattern", "files that are meant, by their paths below the export"),
    field("stripes", "stripe", "bytes of such a file on one server before the next one follows")
        .of(Unit::Bytes, 64 * KIB, (4 * KIB, 4 * GIB), "smaller than a page, every request would be cut up; 4G is more than any file system has"),
    field("stripes", "servers", "over how many servers such a file is")
        .bound(Unit::Count, None, (1, 1024), "each has a queue of its own"),
    field("stripes", "first", "the server that a file begins on: by the hash of its inode number, or always this one"),

    field("limits", "clients", "clients served at a time; the next is refused").or("IOFWD_CLIENTS")
        .of(Unit::Count, 1024, (1, 65_536), "each needs descriptors and some KiB even when it is idle"),
    field("limits", "memory", "bytes of requests and answers held for all clients together").or("IOFWD_MEMORY")
        .of(Unit::Bytes, 512 * MIB, (16 * MIB, 1024 * GIB), "a few of the largest requests must fit, and a machine must have it"),
    field("limits", "memory_per_client", "bytes of requests and answers held for one client").or("IOFWD_MEMORY_PER_CLIENT")
        .of(Unit::Bytes, 64 * MIB, (4 * MIB, 1024 * GIB), "the largest read and the largest write must fit side by side"),
    field("limits", "idle", "a client that is silent for so long is given up, and its locks with it").or("IOFWD_IDLE")
        .of(Unit::Time, 30 * SECOND, (SECOND, 3600 * SECOND), "in less a busy client looks dead; for more the locks of a dead one stop everybody"),

    field("limits", "grace", "what a client held, its locks too, is kept for so long when its connections are gone").or("IOFWD_GRACE")
        .of(Unit::Time, 10 * SECOND, (SECOND, 3600 * SECOND), "in less nobody has connected again; for more the locks of a dead client stop everybody"),

    field("export", "name", "what clients call it: HOST:PORT/NAME"),
    field("export", "path", "the directory"),
    field("export", "backend", "what it is: a directory, or files striped over data servers"),
    field("export", "servers", "where the data servers are, in an order that stays; the first has the names"),
    field("export", "servers_key_file", "the key that the data servers have too"),
    field("export", "stripe_size", "bytes of a new file on one data server before the next one follows")
        .of(Unit::Bytes, 64 * KIB, (4 * KIB, 4 * GIB), "smaller than a page, every request would be cut up; 4G is more than any file system has"),
    field("export", "stripe_count", "over how many data servers a new file is striped")
        .bound(Unit::Count, None, (1, 1024), "each has a queue of its own"),
    field("export", "servers_timeout", "how long a data server that is away is waited for; then its files fail with EIO, or the agent does not start")
        .of(Unit::Time, 60 * SECOND, (SECOND, 86_400 * SECOND), "in less no server can be started again; for more nobody waits"),
    field("export", "data", "through the cache of this node or around it: auto, direct or buffered"),
    field("export", "device", "have every request take as long as on this device: hdd, ssd or null"),
    field("export", "read_only", "whether every change is refused"),
    field("export", "squash", "whose requests are done as the anonymous user: root's, all, or none"),
    field("export", "anonymous_uid", "user id of the anonymous user")
        .of(Unit::Count, 65_534, (1, ID_MOST), "0 would make everybody root; 4294967295 is no id"),
    field("export", "anonymous_gid", "group id of the anonymous user")
        .of(Unit::Count, 65_534, (1, ID_MOST), "0 would put everybody in root's group; 4294967295 is no id"),
    field("export", "clients", "networks that may mount it"),
    field("export", "subtrees", "whether clients may mount a directory below it"),
    field("export", "least_uid", "lower user ids are done as the anonymous user")
        .of(Unit::Count, 0, (0, ID_MOST), "4294967295 is no id"),

    field("job", "variables", "variables of a process that name its job; the first that is set counts"),

    field("telemetry", "listen", "where metrics and the page can be read, by whoever reaches it: ADDRESS:PORT").or("IOFWD_METRICS"),
    field("telemetry", "file_names", "whether the page shows names of files"),
    field("telemetry", "slow", "a read or write that takes longer is told of in the log, and why").or("IOFWD_SLOW")
        .of(Unit::Time, SECOND, (MICROSECOND, 3600 * SECOND), "in less everything is slow; after more a user has complained"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_in_bounds_and_has_a_reason() {
        for field in FIELDS {
            let Some(bound) = field.bound else { continue };
            let default = bound.default.unwrap_or(bound.least);
            assert!((bound.least..=bound.most).contains(&default), "{}", field.path());
            for value in [default, bound.most] {
                assert_eq!(bound.read(&bound.unit.show(value)), Ok(value), "{}", field.path());
            }
            assert!(bound.why.len() > 10, "{}", field.path());
        }
    }

    #[test]
    fn names_and_variables_are_there_once() {
        for (at, field) in FIELDS.iter().enumerate() {
            assert!(field.section.is_empty() || SECTIONS.contains(&field.section));
            for other in &FIELDS[at + 1..] {
                assert_ne!(field.path(), other.path());
                assert!(field.variable.is_none() || field.variable != other.variable);
            }
        }
    }

    #[test]
    fn out_of_bounds_says_the_bounds_and_why() {
        let bound = find("limits", "memory").and_then(|field| field.bound).expect("a bound");
        let problem = bound.read("1M").expect_err("too little");
        assert_eq!(
            problem,
            "1M is out of bounds, write 16M to 1024G: a few of the largest requests must fit, \
             and a machine must have it"
        );
    }
}
