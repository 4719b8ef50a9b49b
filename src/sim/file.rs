//! Scenario files: TOML, every field with a meaning, a default and the values it may have.
//!
//! What is wrong is said with the file, the line, the field and what may stand there.

mod fault;
mod field;

use std::path::Path;

use serde::Deserialize;

use iofwd_scheduler::sim::{Congestion, Device, Job, Link, Platform, Rate};
use iofwd_scheduler::time::{Span, Time};

use super::scheduler::Daemon;
use super::spec::{Spec, Sweep};

use fault::located;
use field::{DaemonName, DeviceName, Length, OperationName, PatternName, Size};

/// Reads a scenario from a file.
pub fn read(path: &Path) -> Result<Spec, String> {
    let place = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
    parse(&text, &place)
}

/// Reads a scenario from the text of a file; `place` is what to call the file.
pub fn parse(text: &str, place: &str) -> Result<Spec, String> {
    let file: File = toml::from_str(text).map_err(|error| located(&error, text, place))?;
    let spec = file.spec().map_err(|error| format!("{place}: {error}"))?;
    for case in spec.cases().map_err(|error| format!("{place}: {error}"))? {
        spec.scenario(&case, 0).map_err(|error| format!("{place}: {error}"))?;
    }
    Ok(spec)
}

/// A scenario file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "one")]
    seed: u64,
    #[serde(default = "once")]
    repeat: u32,
    #[serde(default)]
    platform: PlatformTable,
    #[serde(default)]
    forwarding: ForwardingTable,
    job: Vec<JobTable>,
    #[serde(default)]
    sweep: SweepTable,
}

/// The machines.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformTable {
    servers: Option<u32>,
    stripe: Option<Size>,
    device: Option<DeviceName>,
    /// What the device has different from the one named.
    seek_min: Option<Length>,
    seek_max: Option<Length>,
    turn: Option<Length>,
    command: Option<Length>,
    sync: Option<Length>,
    /// Commands among which it chooses.
    depth: Option<u32>,
    read_bytes_per_second: Option<Size>,
    write_bytes_per_second: Option<Size>,
    /// Delay of a read or write for each doubling of the senders.
    crowd_read: Option<Length>,
    crowd_write: Option<Length>,
    network_megabits: Option<u64>,
    network_latency: Option<Length>,
    network_message: Option<Length>,
}

/// The forwarding layer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForwardingTable {
    daemon: Option<DaemonName>,
    policy: Option<String>,
    window: Option<Length>,
    /// Within a window, wait for those that went with the last batch.
    #[serde(default)]
    gather: bool,
    agents: Option<u32>,
}

/// One application.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobTable {
    processes: u32,
    per_node: Option<u32>,
    pattern: PatternName,
    operation: OperationName,
    request: Size,
    /// Bytes that each process moves.
    volume: Size,
    start: Option<Length>,
    stagger: Option<Length>,
    think: Option<Length>,
    jitter: Option<Length>,
}

/// Lists of values to try, in all combinations.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepTable {
    #[serde(default)]
    policy: Vec<String>,
    #[serde(default)]
    window: Vec<Length>,
    #[serde(default)]
    agents: Vec<u32>,
    #[serde(default)]
    pattern: Vec<PatternName>,
    #[serde(default)]
    operation: Vec<OperationName>,
    #[serde(default)]
    request: Vec<Size>,
}

impl File {
    fn spec(self) -> Result<Spec, String> {
        if self.job.is_empty() {
            return Err("there is no [[job]]: nothing would be simulated".into());
        }
        let daemon = self.forwarding.daemon.as_ref().map_or(Daemon::Iofwd, |name| name.0);
        Ok(Spec {
            seed: self.seed,
            repeat: self.repeat,
            platform: self.platform.platform(),
            jobs: self.job.iter().map(JobTable::job).collect(),
            daemon,
            gather: self.forwarding.gather,
            sweep: self.sweep.sweep(self.forwarding),
        })
    }
}

impl PlatformTable {
    fn platform(&self) -> Platform {
        let network = Link {
            rate: Rate::megabits(self.network_megabits.unwrap_or(10_000)),
            latency: or(&self.network_latency, Span::from_micros(20)),
            message: or(&self.network_message, Span::from_micros(5)),
        };
        Platform {
            servers: self.servers.unwrap_or(4),
            unit: self.stripe.as_ref().map_or(64 << 10, |size| size.0),
            device: self.device(),
            congestion: Congestion {
                read: or(&self.crowd_read, Span::ZERO),
                write: or(&self.crowd_write, Span::ZERO),
            },
            front: network,
            back: network,
        }
    }

    fn device(&self) -> Device {
        let like = self.device.as_ref().map_or(Device::HDD, |name| name.0);
        let rate =
            |size: &Option<Size>, like| size.as_ref().map_or(like, |size| Rate::per_second(size.0));
        Device {
            seek_min: or(&self.seek_min, like.seek_min),
            seek_max: or(&self.seek_max, like.seek_max),
            turn: or(&self.turn, like.turn),
            command: or(&self.command, like.command),
            sync: or(&self.sync, like.sync),
            depth: self.depth.map_or(like.depth, |depth| depth.max(1)),
            read: rate(&self.read_bytes_per_second, like.read),
            write: rate(&self.write_bytes_per_second, like.write),
            ..like
        }
    }
}

impl JobTable {
    fn job(&self) -> Job {
        Job {
            processes: self.processes,
            per_node: self.per_node.unwrap_or(1),
            pattern: self.pattern.0,
            operation: self.operation.0,
            request: self.request.0,
            volume: self.volume.0,
            start: Time::ZERO + or(&self.start, Span::ZERO),
            stagger: or(&self.stagger, Span::from_millis(1)),
            think: or(&self.think, Span::ZERO),
            jitter: or(&self.jitter, Span::ZERO),
        }
    }
}

impl SweepTable {
    /// The lists, each of one value if only `[forwarding]` names one.
    fn sweep(self, forwarding: ForwardingTable) -> Sweep {
        let ForwardingTable { policy, window, agents, .. } = forwarding;
        let or_one =
            |list: Vec<String>, one: String| if list.is_empty() { vec![one] } else { list };
        let windows: Vec<Span> = self.window.into_iter().map(|window| window.0).collect();
        let one_window = || window.into_iter().map(|window| window.0).collect();
        Sweep {
            policies: or_one(self.policy, policy.unwrap_or_else(|| "twins".into())),
            windows: if windows.is_empty() { one_window() } else { windows },
            agents: if self.agents.is_empty() { vec![agents.unwrap_or(1)] } else { self.agents },
            patterns: self.pattern.into_iter().map(|name| name.0).collect(),
            operations: self.operation.into_iter().map(|name| name.0).collect(),
            requests: self.request.into_iter().map(|size| size.0).collect(),
        }
    }
}

fn or(given: &Option<Length>, otherwise: Span) -> Span {
    given.as_ref().map_or(otherwise, |length| length.0)
}

const fn one() -> u64 {
    1
}

const fn once() -> u32 {
    1
}

#[cfg(test)]
mod tests;
