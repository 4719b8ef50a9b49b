//! What a simulation found out, and how it is printed: integers and fixed columns, so that two reports
//! can be compared byte by byte.

use std::fmt;

use super::server::Measured;
use super::tally::{Mean, Spread};
use crate::request::{JobId, ServerId};
use crate::time::{Span, Time};

/// The outcome of one simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// From the first start of a job to the last answer.
    pub makespan: Span,
    /// Each job, in the order of the scenario.
    pub jobs: Vec<JobReport>,
    /// Each server.
    pub servers: Vec<Measured>,
    /// Sizes of requests at each level, in bytes.
    pub sizes: Sizes,
    /// Distance between the starts of consecutive requests of one sender, in bytes of the file.
    pub distance: Mean,
    /// How long the pieces of requests were queued at the agents, in nanoseconds.
    pub waits: Spread,
    /// How long processes waited for their answers, in nanoseconds.
    pub latencies: Spread,
    /// Every batch, in the order in which they were answered, if the scenario asked for it.
    pub timeline: Vec<Bar>,
    /// How many events the simulation took: what it cost, not what it found.
    pub events: u64,
}

/// What became of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobReport {
    /// Which one.
    pub job: JobId,
    /// When it started.
    pub start: Time,
    /// When its last process had its last answer.
    pub end: Time,
    /// When the first of its processes was done.
    pub first_end: Time,
    /// Requests answered.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Number of processes.
    pub processes: u32,
}

/// Request sizes on the way from the clients to the disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// What processes ask for.
    pub leaving_clients: Mean,
    /// What agents queue: requests split at the ends of stripes. Nothing without agents.
    pub queued: Mean,
    /// What leaves the agents at a time: batches, or lists for one server or more. Nothing without agents.
    pub leaving_agents: Mean,
    /// What leaves the agents, or the clients where there are no agents, for one server.
    pub arriving_servers: Mean,
}

/// One batch, for a picture of who used which server when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Who sent it: an agent, or a process where there are no agents.
    pub sender: u32,
    /// Where it went.
    pub server: ServerId,
    /// When it was issued.
    pub issued: Time,
    /// When the server's device began with it.
    pub begun: Time,
    /// When the device had finished it.
    pub done: Time,
    /// Its size.
    pub bytes: u64,
    /// Requests in it.
    pub members: u32,
}

impl JobReport {
    /// From its start to its end.
    pub const fn makespan(&self) -> Span {
        self.end.since(self.start)
    }

    /// Bytes per second.
    pub const fn bandwidth(&self) -> u64 {
        per_second(self.bytes, self.makespan())
    }
}

impl Report {
    /// Bytes per second over the whole run.
    pub fn bandwidth(&self) -> u64 {
        per_second(self.jobs.iter().map(|job| job.bytes).sum(), self.makespan)
    }

    /// How much of the run the server's device worked, in thousandths.
    pub fn utilisation(&self, server: ServerId) -> u64 {
        permille(self.servers[server.index()].busy, self.makespan)
    }

    /// How much of the run the server's device was idle, in thousandths.
    pub fn idle(&self, server: ServerId) -> u64 {
        1000 - self.utilisation(server)
    }

    /// Batches that reached a server while another sender had work there.
    pub fn collisions(&self) -> u64 {
        self.servers.iter().map(|server| server.collisions).sum()
    }

    /// How evenly the jobs were served: Jain's index of their bandwidths per process, in thousandths.
    /// A thousand is perfectly even; one job that gets all makes it a thousand divided by the jobs.
    pub fn fairness(&self) -> u64 {
        let shares = self.jobs.iter().map(|job| job.bandwidth() / u64::from(job.processes));
        jain(&shares.collect::<Vec<_>>())
    }
}

/// Jain's index of these shares, in thousandths; a thousand if nobody has anything.
pub fn jain(shares: &[u64]) -> u64 {
    // Scaled down first if large: the square of a sum must fit, and the index does not depend on scale.
    let scale = shares.iter().max().map_or(0, |max| (64 - max.leading_zeros()).saturating_sub(40));
    let scaled = || shares.iter().map(|&share| u128::from(share >> scale));
    let sum: u128 = scaled().sum();
    let squares: u128 = scaled().map(|share| share * share).sum();
    if squares == 0 { 1000 } else { (sum * sum * 1000 / (squares * shares.len() as u128)) as u64 }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "makespan          {:>14} us", self.makespan.as_nanos() / 1000)?;
        writeln!(f, "bandwidth         {:>14} bytes/s", self.bandwidth())?;
        writeln!(f, "collisions        {:>14} of {}", self.collisions(), self.batches())?;
        writeln!(f, "fairness          {:>14} permille", self.fairness())?;
        writeln!(f, "offset distance   {:>14} bytes", self.distance.mean())?;
        self.write_sizes(f)?;
        write_spread(f, "wait at agent", &self.waits)?;
        write_spread(f, "wait for answer", &self.latencies)?;
        self.write_servers(f)?;
        self.write_jobs(f)
    }
}

impl Report {
    fn batches(&self) -> u64 {
        self.sizes.arriving_servers.count
    }

    fn write_sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { leaving_clients, queued, leaving_agents, arriving_servers } = self.sizes;
        writeln!(f, "\nsize                       count     mean bytes")?;
        let levels = [
            ("leaving clients", leaving_clients),
            ("queued at agents", queued),
            ("leaving agents", leaving_agents),
            ("arriving servers", arriving_servers),
        ];
        for (level, mean) in levels {
            writeln!(f, "{level:<17} {:>14} {:>14}", mean.count, mean.mean())?;
        }
        writeln!(
            f,
            "\nwait (us)                   mean            p50            p99            max"
        )
    }

    fn write_servers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nserver  busy permille  crowded permille       commands     collisions          bytes"
        )?;
        for (index, server) in self.servers.iter().enumerate() {
            let Measured { commands, bytes, collisions, .. } = server;
            let busy = permille(server.busy, self.makespan);
            let crowded = permille(server.crowded, self.makespan);
            writeln!(
                f,
                "{index:>6} {busy:>14} {crowded:>17} {commands:>14} {collisions:>14} {bytes:>14}"
            )?;
        }
        Ok(())
    }

    fn write_jobs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n   job       start us         end us   first end us       requests          bytes"
        )?;
        for job in &self.jobs {
            let JobReport { job: JobId(id), start, end, first_end, requests, bytes, .. } = *job;
            let [start, end, first_end] =
                [start, end, first_end].map(|time| time.as_nanos() / 1000);
            writeln!(
                f,
                "{id:>6} {start:>14} {end:>14} {first_end:>14} {requests:>14} {bytes:>14}"
            )?;
        }
        Ok(())
    }
}

fn write_spread(f: &mut fmt::Formatter<'_>, name: &str, spread: &Spread) -> fmt::Result {
    let [mean, half, most, max] =
        [spread.mean.mean(), spread.quantile(500), spread.quantile(990), spread.max]
            .map(|nanos| nanos / 1000);
    writeln!(f, "{name:<17} {mean:>14} {half:>14} {most:>14} {max:>14}")
}

/// A part of a whole in thousandths, rounded to the nearest.
fn permille(part: Span, whole: Span) -> u64 {
    let whole = u128::from(whole.as_nanos()).max(1);
    ((u128::from(part.as_nanos()) * 1000 + whole / 2) / whole) as u64
}

const fn per_second(bytes: u64, span: Span) -> u64 {
    let nanos = if span.as_nanos() == 0 { 1 } else { span.as_nanos() };
    (bytes as u128 * 1_000_000_000 / nanos as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_of_known_shares() {
        assert_eq!(jain(&[5, 5, 5, 5]), 1000);
        assert_eq!(jain(&[7, 0, 0, 0]), 250);
        assert_eq!(jain(&[1, 3]), 800);
        assert_eq!(jain(&[u64::MAX, u64::MAX / 3]), jain(&[3000, 1000]));
        assert_eq!(jain(&[]), 1000);
        assert_eq!(jain(&[0, 0]), 1000);
    }

    #[test]
    fn parts_and_rates_do_not_divide_by_zero() {
        assert_eq!(permille(Span::from_nanos(1), Span::from_nanos(3)), 333);
        assert_eq!(permille(Span::ZERO, Span::ZERO), 0);
        assert_eq!(per_second(100, Span::from_millis(10)), 10_000);
    }
}
