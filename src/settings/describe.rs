//! What the settings mean, in words: for `iofwd agent --check`.

use std::fmt::Write;
use std::path::Path;

use iofwd_scheduler::policy;
use iofwd_scheduler::time::Span;

use crate::layout::{First, Rule};
use crate::quantity::{show_bytes, show_span};

use super::field;
use super::{
    DataPath, Export, LayoutSettings, Limits, SchedulerSettings, ServerSettings, Settings, Squash,
    TelemetrySettings,
};

/// A field's name, and its value in words.
type Value = (&'static str, String);

/// Fields that belong together: which section, and which of several of that name.
struct Section {
    name: &'static str,
    index: usize,
    values: Vec<Value>,
}

impl Settings {
    /// Every field with its value, where the value comes from, and what it means.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for Section { name, index, values } in self.sections() {
            self.section(&mut text, name, index, &values);
        }
        text
    }

    /// Name, value and meaning of what may be shown to whoever watches: no keys, no places.
    pub fn shown(&self) -> Vec<[String; 3]> {
        let sections = self.sections().into_iter();
        let sections = sections.filter(|section| SHOWN.contains(&section.name));
        let shown = sections.flat_map(|Section { name: section, values, .. }| {
            values.into_iter().map(move |(name, value)| {
                let meaning = field::find(section, name).map_or("", |field| field.meaning);
                [format!("{section}.{name}"), value, meaning.into()]
            })
        });
        shown.collect()
    }

    fn sections(&self) -> Vec<Section> {
        let section = |name, values| Section { name, index: 0, values };
        let free = || "whichever of them is free when it starts".into();
        let index = self.agent.index.map_or_else(free, |index| index.to_string());
        let place = [("index", index), ("count", self.agent.count.to_string())];
        let mut sections = vec![
            section("", self.top()),
            section("tls", self.tls_values()),
            section("agent", place.to_vec()),
            section("scheduler", self.scheduler.values()),
            section("layout", self.layout.values()),
        ];
        for (index, rule) in self.layout.rules.iter().enumerate() {
            sections.push(Section { name: "stripes", index, values: rule_values(rule) });
        }
        if self.layout.rules.is_empty() {
            let none = |name| (name, "none: no rule".to_string());
            let values = ["pattern", "stripe", "servers", "first"].map(none);
            sections.push(section("stripes", values.to_vec()));
        }
        sections.push(section("limits", self.limits.values()));
        for (index, export) in self.exports.iter().enumerate() {
            sections.push(Section { name: "export", index, values: export.values() });
        }
        let variables = ("variables", list(&self.job.variables, "none"));
        sections.push(section("job", vec![variables]));
        sections.push(section("telemetry", self.telemetry.values()));
        sections
    }

    fn section(&self, text: &mut String, section: &'static str, index: usize, values: &[Value]) {
        if !section.is_empty() {
            let _ = writeln!(text, "\n{section}");
        }
        for (name, value) in values {
            let meaning = field::find(section, name).map_or("", |field| field.meaning);
            let origin = self.origins.of(section, index, name);
            let _ = writeln!(text, "  {name:<20}{value}  ({origin})\n  {:<20}  {meaning}", "");
        }
    }

    fn top(&self) -> Vec<Value> {
        let none = "none: no proof is asked for, so that only this machine can connect";
        let places: Vec<String> = self.listen.iter().map(ToString::to_string).collect();
        vec![
            ("listen", list(&places, "nowhere")),
            ("key_file", path(self.key_file.as_deref(), none)),
            ("state", path(self.state_directory().as_deref(), "none: clients cannot go on")),
        ]
    }

    fn tls_values(&self) -> Vec<Value> {
        let Some(tls) = &self.tls else {
            return vec![
                ("certificate", "none: connections are not encrypted".into()),
                ("private_key", "none".into()),
                ("client_ca", "none".into()),
            ];
        };
        let any = "none: no certificate is asked of clients";
        vec![
            ("certificate", tls.certificate.display().to_string()),
            ("private_key", tls.private_key.display().to_string()),
            ("client_ca", path(tls.client_ca.as_deref(), any)),
        ]
    }
}

impl SchedulerSettings {
    fn values(&self) -> Vec<Value> {
        let about = policy::ALL.iter().find(|entry| entry.name == self.policy);
        let about = about.map_or("", |entry| entry.about);
        let window = self.window.map_or_else(|| "that of the policy".into(), show_span);
        vec![
            ("policy", format!("{}: {about}", self.policy)),
            ("window", window),
            ("gather", self.gather.to_string()),
            ("depth", self.depth.to_string()),
            ("servers", self.servers.to_string()),
            ("stripe", show_bytes(self.stripe)),
        ]
    }
}

impl LayoutSettings {
    fn values(&self) -> Vec<Value> {
        let servers: Vec<String> = self.servers.iter().map(ToString::to_string).collect();
        let none = "none: a file of OrangeFS counts as one server's";
        let all = "none: a file of CephFS counts as its pool's";
        vec![
            ("queues", self.queues.to_string()),
            ("servers", list(&servers, "none: numbered in the order in which they are met")),
            ("pvfs_config", path(self.pvfs_config.as_deref(), none)),
            ("ceph_command", path(self.ceph_command.as_deref(), all)),
        ]
    }
}

fn rule_values(rule: &Rule) -> Vec<Value> {
    let first = match rule.first {
        First::Hash => "by the hash of its inode number".into(),
        First::Server(number) => number.to_string(),
    };
    vec![
        ("pattern", rule.pattern.to_string()),
        ("stripe", show_bytes(rule.stripe)),
        ("servers", rule.servers.to_string()),
        ("first", first),
    ]
}

impl Limits {
    fn values(&self) -> Vec<Value> {
        let idle = u64::try_from(self.idle.as_nanos()).unwrap_or(u64::MAX);
        vec![
            ("clients", self.clients.to_string()),
            ("memory", show_bytes(self.memory)),
            ("memory_per_client", show_bytes(self.memory_per_client)),
            ("idle", show_span(Span::from_nanos(idle))),
            ("grace", show_span(Span::from_nanos(self.grace.as_nanos() as u64))),
        ]
    }
}

impl TelemetrySettings {
    fn values(&self) -> Vec<Value> {
        let nowhere = || "nowhere: no metrics, no page".to_string();
        vec![
            ("listen", self.listen.map_or_else(nowhere, |address| address.to_string())),
            ("file_names", yes(self.file_names)),
            ("slow", show_span(self.slow)),
        ]
    }
}

impl Export {
    fn values(&self) -> Vec<Value> {
        let squash = match self.squash {
            Some(Squash::Root) => "root: requests of user and group 0",
            Some(Squash::All) => "all: everybody's requests",
            Some(Squash::None) => "none: everybody is who the client says",
            None => "root over TCP, none over a unix socket",
        };
        let data = match self.data {
            DataPath::Auto => "auto: around the cache where the file system has data servers",
            DataPath::Direct => "direct: around the cache",
            DataPath::Buffered => "buffered: through the cache",
        };
        let clients: Vec<String> = self.clients.iter().map(ToString::to_string).collect();
        [("name", self.name.clone()), ("path", self.path.display().to_string())]
            .into_iter()
            .chain(server_values(self.servers.as_ref()))
            .chain([
                ("data", data.into()),
                ("device", self.device.as_ref().map_or("none".into(), ToString::to_string)),
                ("read_only", yes(self.read_only)),
                ("squash", squash.into()),
                ("anonymous_uid", self.anonymous_uid.to_string()),
                ("anonymous_gid", self.anonymous_gid.to_string()),
                ("clients", list(&clients, "everybody")),
                ("subtrees", yes(self.subtrees)),
                ("least_uid", self.least_uid.to_string()),
            ])
            .collect()
    }
}

/// What is said of data servers, if there are any.
fn server_values(servers: Option<&ServerSettings>) -> Vec<Value> {
    let Some(servers) = servers else {
        let names = ["servers", "servers_key_file", "stripe_size", "stripe_count"];
        let none = names.into_iter().chain(["servers_timeout"]);
        let none = none.map(|name| (name, "none: it is a directory".to_string()));
        return std::iter::once(("backend", "directory".to_string())).chain(none).collect();
    };
    let count = servers.stripe_count.map_or_else(|| "all of them".into(), |n| n.to_string());
    let none = "none: they are this machine's";
    vec![
        ("backend", "servers".into()),
        ("servers", servers.addresses.join(", ")),
        ("servers_key_file", path(servers.key_file.as_deref(), none)),
        ("stripe_size", show_bytes(servers.stripe_size)),
        ("stripe_count", count),
        ("servers_timeout", format!("{} s", servers.timeout.as_secs())),
    ]
}

fn yes(flag: bool) -> String {
    if flag { "yes" } else { "no" }.into()
}

fn list(entries: &[String], none: &str) -> String {
    if entries.is_empty() { none.into() } else { entries.join(", ") }
}

fn path(path: Option<&Path>, none: &str) -> String {
    path.map_or_else(|| none.into(), |path| path.display().to_string())
}

/// What is no secret and helps to understand what is seen.
const SHOWN: [&str; 5] = ["scheduler", "layout", "stripes", "limits", "telemetry"];
