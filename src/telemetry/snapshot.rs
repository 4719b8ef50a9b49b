//! Everything there is to tell of an agent at one moment: a value that can be sent and compared.
//!
//! Counters only grow while an agent runs; what happened in between is the difference of two.

use serde::{Deserialize, Serialize};

use super::spread::Spread;

/// An agent, or the one inside a mount.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Version of the program.
    pub version: String,
    /// The process.
    pub pid: u32,
    /// Where it runs.
    pub host: String,
    /// Nanoseconds since the epoch.
    pub time_ns: u64,
    /// Nanoseconds since it was started.
    pub uptime_ns: u64,
    /// Clients and their memory, where there are any.
    pub service: Option<Service>,
    /// The mount that was asked, if its agent is elsewhere.
    pub client: Option<Client>,
    /// What is exported, each with an engine of its own.
    pub exports: Vec<Export>,
    /// How it was set up.
    pub settings: Vec<Setting>,
    /// Names and numbers for those who look for one of them.
    pub numbers: Vec<(String, String)>,
}

/// Clients of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Clients that are connected.
    pub clients: u64,
    /// Clients that may be.
    pub clients_limit: u64,
    /// Requests that were let in.
    pub requests: u64,
    /// Answered well.
    pub done: u64,
    /// Answered with an error, which is an application's to judge.
    pub failed: u64,
    /// Bytes of requests and answers held now.
    pub memory_bytes: u64,
    /// The most that were held.
    pub memory_bytes_peak: u64,
    /// The most that may be.
    pub memory_bytes_limit: u64,
}

/// A mount whose agent is elsewhere, as it sees itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Client {
    /// The agent.
    pub agent: String,
    /// Connections to it.
    pub connections: u64,
    /// Calls made.
    pub calls: u64,
    /// Calls that wait until the agent has room for them.
    pub calls_waiting: u64,
    /// Seconds for which the agent has been lost, if it is.
    pub lost_s: Option<u64>,
    /// Why.
    pub lost_because: String,
    /// The call that has been under way for longest.
    pub oldest_call: String,
    /// For so many milliseconds.
    pub oldest_call_ms: u64,
}

/// One exported directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Export {
    /// What clients call it; empty for the agent inside a mount.
    pub name: String,
    /// The policy in charge.
    pub policy: String,
    /// Changes of policy.
    pub switches: u64,
    /// Where the window is, if the policy has them.
    pub window: Option<Window>,
    /// Requests that a server may have in flight.
    pub depth: u64,
    /// Nodes known.
    pub nodes: u64,
    /// Files open.
    pub open_files: u64,
    /// Bytes of writes that wait for their turn.
    pub waiting_bytes: u64,
    /// The most that may wait.
    pub waiting_bytes_limit: u64,
    /// Requests kept back because one before them conflicts.
    pub held: u64,
    /// Nanoseconds that half of the scheduler's decisions take.
    pub decision_ns: u64,
    /// Requests at each level, from the kernel of the clients to the servers.
    pub levels: Vec<Level>,
    /// The data servers.
    pub servers: Vec<Server>,
    /// Jobs, those that moved the most first.
    pub jobs: Vec<Job>,
    /// Files used last, those that moved the most first.
    pub files: Vec<File>,
    /// The batches that left last, the oldest first.
    pub recent: Vec<Issue>,
}

/// Where the window of this agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Its length.
    pub length_ns: u64,
    /// When it ends, in nanoseconds since the epoch.
    pub end_ns: u64,
    /// Its number modulo `groups`: agent `a` serves group `(turn + a) % groups`.
    pub turn: u32,
    /// Windows in a round.
    pub groups: u32,
    /// Servers in a group.
    pub size: u32,
    /// Which of the agents this is.
    pub agent: u32,
    /// Number of agents.
    pub agents: u32,
}

impl Window {
    /// Whether it covers a server.
    pub fn covers(&self, server: usize) -> bool {
        let group = (self.turn + self.agent) % self.groups.max(1);
        server / self.size.max(1) as usize == group as usize
    }
}

/// Requests that passed one level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    /// Which one.
    pub name: String,
    /// How many.
    pub requests: u64,
    /// Of so many bytes together.
    pub bytes: u64,
}

impl Level {
    /// Bytes of one, on average.
    pub fn size(&self) -> u64 {
        self.bytes.checked_div(self.requests).unwrap_or(0)
    }
}

/// One data server, as its queue sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// What its file system calls it.
    pub name: String,
    /// Requests that wait for their turn.
    pub queued: u64,
    /// Requests on their way.
    pub in_flight: u64,
    /// Nanoseconds since the oldest of them left.
    pub oldest_ns: u64,
    /// Reads and writes that came back well.
    pub reads: u64,
    /// See `reads`.
    pub writes: u64,
    /// Bytes of them.
    pub bytes_read: u64,
    /// See `bytes_read`.
    pub bytes_written: u64,
    /// Requests that left.
    pub issued: u64,
    /// In so many batches.
    pub batches: u64,
    /// Requests that came back with an error.
    pub failed: u64,
    /// Nanoseconds since the last of them, if there is one.
    pub failed_ago_ns: Option<u64>,
    /// Requests taken back.
    pub cancelled: u64,
    /// Nanoseconds in which it had something to do.
    pub busy_ns: u64,
    /// Nanoseconds from arrival to issue.
    pub wait: Spread,
    /// Nanoseconds from issue to completion.
    pub service: Spread,
}

impl Server {
    /// Requests that came back well.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Bytes of them.
    pub fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// Requests in a batch, on average.
    pub fn merged(&self) -> f64 {
        if self.batches == 0 { 1.0 } else { self.issued as f64 / self.batches as f64 }
    }
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Its number, or its user.
    pub name: String,
    /// Requests that wait.
    pub queued: u64,
    /// Requests that came back well.
    pub requests: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// One file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct File {
    /// Its path below the export, or the number of its node for those who may not know.
    pub name: String,
    /// Reads and writes.
    pub requests: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// A batch that left. Sent as three numbers, since there are many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u32, u64)", into = "(u64, u32, u64)")]
pub struct Issue {
    /// When, in nanoseconds since the epoch.
    pub at_ns: u64,
    /// For which server.
    pub server: u32,
    /// Bytes of it.
    pub bytes: u64,
}

impl From<(u64, u32, u64)> for Issue {
    fn from((at_ns, server, bytes): (u64, u32, u64)) -> Issue {
        Issue { at_ns, server, bytes }
    }
}

impl From<Issue> for (u64, u32, u64) {
    fn from(issue: Issue) -> (u64, u32, u64) {
        (issue.at_ns, issue.server, issue.bytes)
    }
}

/// A setting, as a person reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it means.
    pub meaning: String,
}
