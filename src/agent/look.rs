//! Everything there is to tell of an agent, for those who watch it.

use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use iofwd_mount::Errno;
use iofwd_mount::store::{Controlled, NodeId};
use iofwd_scheduler::request::FileId;

use crate::control::pages::{self, Pages};
use crate::control::snapshot_page;
use crate::quantity;
use crate::report::Report;
use crate::settings::field;
use crate::telemetry::Snapshot;
use crate::telemetry::snapshot::{Export, Service as Clients, Setting};

use super::engine::EngineSettings;
use super::service::{Peer, Service};
use super::{Agent, Forwarder};

/// Whether names of files are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// They are.
    Told,
    /// A number stands for each.
    Kept,
}

/// What those who watch a store need beside its numbers.
#[derive(Debug)]
pub(crate) struct Lookout {
    pages: Pages,
    setup: Vec<Setting>,
    begun: Instant,
}

impl Lookout {
    pub(crate) fn new(settings: &EngineSettings) -> Lookout {
        Lookout { pages: Pages::default(), setup: setup(settings), begun: Instant::now() }
    }

    /// Everything there is to tell of a process with one store.
    pub(crate) fn snapshot(&self, export: Export, numbers: &Report) -> Snapshot {
        Snapshot {
            uptime_ns: self.begun.elapsed().as_nanos() as u64,
            exports: vec![export],
            settings: self.setup.clone(),
            numbers: numbers.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ..here()
        }
    }

    /// A page of it, for a control operation.
    pub(crate) fn page(
        &self,
        argument: &[u8],
        room: usize,
        make: impl FnOnce() -> Snapshot,
    ) -> Result<Controlled, Errno> {
        snapshot_page(&self.pages, argument, room, make)
    }
}

impl Agent {
    /// Everything, at this moment.
    pub fn snapshot(&self, names: Names) -> Snapshot {
        self.lookout.snapshot(self.look(names), &self.report())
    }

    /// What it does as an export.
    pub(super) fn look(&self, names: Names) -> Export {
        let mut export = self.engine.look(&|file| self.file_name(file, names));
        export.nodes = self.nodes.len() as u64;
        export.open_files = self.files.len() as u64;
        for (server, known) in export.servers.iter_mut().zip(self.layouts.servers()) {
            server.name = known.to_string();
        }
        export
    }

    fn file_name(&self, file: FileId, names: Names) -> String {
        let node = self.nodes.get(NodeId(file.0)).ok().filter(|_| names == Names::Told);
        let path = node.map(|node| node.inode.seen_at()).filter(|path| !path.is_empty());
        path.map_or_else(
            || format!("node {}", file.0),
            |path| String::from_utf8_lossy(&path).into_owned(),
        )
    }
}

impl Service {
    /// Everything, at this moment.
    pub fn snapshot(&self, names: Names) -> Snapshot {
        let numbers = self.report();
        let number = |name: &str| numbers.get(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let service = Clients {
            clients: number("clients"),
            clients_limit: self.settings.limits.clients.into(),
            requests: number("requests"),
            done: number("done"),
            failed: number("failed"),
            memory_bytes: number("memory_bytes"),
            memory_bytes_peak: number("memory_bytes_peak"),
            memory_bytes_limit: self.settings.limits.memory,
        };
        Snapshot {
            uptime_ns: self.uptime().as_nanos() as u64,
            service: Some(service),
            exports: self.look_at_exports(names),
            settings: self.settings.shown().into_iter().map(setting).collect(),
            numbers: numbers.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ..here()
        }
    }

    fn look_at_exports(&self, names: Names) -> Vec<Export> {
        let look = |(name, agent): (&str, &Arc<dyn Forwarder>)| Export {
            name: name.into(),
            ..agent.look(names)
        };
        self.named_agents().map(look).collect()
    }

    /// A page of it, for somebody who asks in words: a line with its token and the length of all, and
    /// the page.
    pub(super) fn tell_page(
        &self,
        peer: &Peer,
        offset: &str,
        token: &str,
    ) -> Result<String, String> {
        let wrong = |_| format!("'{offset}' and '{token}' are not both numbers");
        let (offset, token) = (offset.parse().map_err(wrong)?, token.parse().map_err(wrong)?);
        let make = || {
            let snapshot = self.snapshot(self.names_for(peer));
            // Plain letters, so that a page can end anywhere.
            ascii(&serde_json::to_string(&snapshot).unwrap_or_default())
        };
        let page = self.pages.page(offset, token, PAGE, make);
        let page: pages::Page = page.ok_or("too many ask at once: ask again")?;
        let text = String::from_utf8_lossy(&page.bytes);
        Ok(format!("{} {}\n{text}", page.token, page.total))
    }

    /// Whoever proved to have the key could read the files themselves.
    fn names_for(&self, peer: &Peer) -> Names {
        let may = match peer {
            Peer::Address(_) => self.key.is_some(),
            Peer::Local { .. } => peer.is_master(),
        };
        if may { Names::Told } else { Names::Kept }
    }
}

/// How an agent without a settings file is set up, in the words of one.
fn setup(settings: &EngineSettings) -> Vec<Setting> {
    let window = settings.window.map_or_else(|| "that of the policy".into(), quantity::show_span);
    let values = [
        ("scheduler", "policy", settings.policy.clone()),
        ("scheduler", "window", window),
        ("scheduler", "depth", settings.depth.to_string()),
        ("scheduler", "servers", settings.servers.to_string()),
        ("scheduler", "stripe", quantity::show_bytes(settings.stripe)),
        ("layout", "queues", settings.layouts.queues.to_string()),
        ("telemetry", "slow", quantity::show_span(settings.slow)),
    ];
    let shown = values.into_iter().map(|(section, name, value)| {
        let meaning = field::find(section, name).map_or("", |field| field.meaning);
        setting([format!("{section}.{name}"), value, meaning.into()])
    });
    shown.collect()
}

fn setting([name, value, meaning]: [String; 3]) -> Setting {
    Setting { name, value, meaning }
}

/// What every process knows of itself.
fn here() -> Snapshot {
    let host = nix::unistd::gethostname().unwrap_or_default();
    Snapshot {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        host: host.to_string_lossy().into_owned(),
        time_ns: UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64,
        ..Snapshot::default()
    }
}

/// JSON without letters beyond ASCII: they are written by their numbers.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            text.push_str(&format!("\\u{unit:04x}"));
        }
    }
    text
}

/// Bytes of a page: a message of a greeting has no more room.
const PAGE: usize = 7 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_survive_being_written_by_number() {
        let json = serde_json::to_string("ä 𝄞 \"x\" \n").unwrap();
        let plain = ascii(&json);
        assert!(plain.is_ascii());
        assert_eq!(serde_json::from_str::<String>(&plain).unwrap(), "ä 𝄞 \"x\" \n");
    }
}
