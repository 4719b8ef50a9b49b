//! Whom `iofwd status` and `iofwd top` look at: the agent behind a mountpoint, or one by its address.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::client::{self, Source};
use crate::control::{self, pages};
use crate::key::Key;
use crate::mounts;
use crate::report::Report;
use crate::telemetry::Snapshot;
use crate::telemetry::snapshot::Client;

use super::Failure;

/// What is looked at.
#[derive(Clone, Debug, Args)]
pub(super) struct WatchArguments {
    /// The mountpoint, or an agent: HOST:PORT or unix:PATH [default: unix:/run/iofwd/agent.sock]
    #[arg(value_name = "MOUNTPOINT|AGENT", default_value = OWN_AGENT, hide_default_value = true)]
    place: PathBuf,
    /// The key that the agent has too
    #[arg(long, value_name = "FILE", env = "IOFWD_KEY_FILE")]
    key_file: Option<PathBuf>,
}

/// Where it is, understood.
pub(super) enum Watched {
    Mount(PathBuf),
    Agent(Source, Option<Key>),
}

impl WatchArguments {
    pub(super) fn find(&self) -> Result<Watched, Failure> {
        let place = &self.place;
        let agent = place.to_str().and_then(Source::parse).filter(|_| !place.exists());
        let Some(agent) = agent else { return Ok(Watched::Mount(place.clone())) };
        let key = self.key_file.as_deref().map(Key::load).transpose();
        Ok(Watched::Agent(agent, key.map_err(|error| error.to_string())?))
    }

    /// As it was typed.
    pub(super) fn shown(&self) -> String {
        self.place.display().to_string()
    }
}

impl Watched {
    /// Everything there is to tell, now.
    pub(super) fn look(&self) -> Result<Snapshot, Failure> {
        match self {
            Watched::Mount(mountpoint) => look_through(mountpoint),
            Watched::Agent(agent, key) => ask(agent, key.as_ref()),
        }
    }
}

fn look_through(mountpoint: &Path) -> Result<Snapshot, Failure> {
    let explain = |error: std::io::Error| explain(mountpoint, &error);
    let report = control::status(mountpoint, PATIENCE).map_err(explain)?;
    let client = client_of(&report);
    // An agent that is lost would be waited for.
    let mut snapshot = match client.as_ref().is_some_and(|client| client.lost_s.is_some()) {
        true => Snapshot::default(),
        false => control::snapshot(mountpoint, PATIENCE).map_err(explain)?,
    };
    snapshot.client = client;
    snapshot.numbers = report.iter().map(|(name, value)| (name.into(), value.into())).collect();
    Ok(snapshot)
}

/// The mount itself, if its agent is elsewhere: it says so in what it adds to the agent's numbers.
fn client_of(report: &Report) -> Option<Client> {
    let number = |name| report.get(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    Some(Client {
        agent: report.get("agent")?.into(),
        connections: number("connections"),
        calls: number("calls"),
        calls_waiting: number("calls_waiting_for_room"),
        lost_s: report.get("lost_for_s").and_then(|text| text.parse().ok()),
        lost_because: report.get("lost_because").unwrap_or_default().into(),
        oldest_call: report.get("oldest_call").unwrap_or_default().into(),
        oldest_call_ms: number("oldest_call_ms"),
    })
}

/// Why a mountpoint does not answer, and what can be done.
pub(super) fn explain(mountpoint: &Path, error: &std::io::Error) -> Failure {
    let place = mountpoint.display();
    match error.raw_os_error() {
        Some(libc::ENOTTY) => format!(
            "{place} is not mounted with iofwd: findmnt -t fuse.iofwd lists what is, and an agent is \
             written HOST:PORT or unix:PATH"
        ),
        Some(libc::ENOENT) => format!("there is no {place}: findmnt -t fuse.iofwd lists what is"),
        _ if mounts::is_dead(error) => format!(
            "the process behind {place} died: remove the mountpoint with iofwd unmount {place}, \
             or mount again with --force"
        ),
        _ => format!("{place} does not answer: {error}"),
    }
}

fn ask(agent: &Source, key: Option<&Key>) -> Result<Snapshot, Failure> {
    let first = agent.agents.first().ok_or("no agent is named")?;
    let text = pages::gather(|offset, token| {
        let words = vec!["snapshot".into(), offset.to_string(), token.to_string()];
        let told = client::control(first, key, words, PATIENCE);
        let told = told.map_err(|error| error.to_string())?;
        page(&told).ok_or_else(|| format!("{agent} answers as no agent of this version does"))
    })?;
    serde_json::from_slice(&text)
        .map_err(|error| format!("what {agent} tells cannot be understood: {error}"))
}

fn page(told: &str) -> Option<pages::Page> {
    let (head, text) = told.split_once('\n')?;
    let (token, total) = head.split_once(' ')?;
    let (token, total) = (token.parse().ok()?, total.parse().ok()?);
    Some(pages::Page { token, total, bytes: text.as_bytes().to_vec() })
}

const PATIENCE: Duration = Duration::from_secs(10);
/// Where the agent of a node listens, as its package sets it up.
const OWN_AGENT: &str = "unix:/run/iofwd/agent.sock";
