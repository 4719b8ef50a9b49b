//! Overload: 64 writers on files of a data server that is far too slow for them, for minutes. They wait,
//! memory stays bounded everywhere, and whoever uses the other server goes on as if they were not there.

mod scene;
mod workers;

use std::time::Duration;

use crate::area::Area;
use crate::program::Program;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};

use scene::Scene;
use workers::{Gate, Quick, Slow};

pub(crate) fn overload(site: &Site) -> Verdict {
    let (Program::Iofwd(program) | Program::Remote { path: program, .. }) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself has agents and servers".into()));
    };
    let area = Area::in_memory(site, "overload")?;
    let scene = Scene::start(site, &program, &area)?;
    let [quick, slow] = scene.files(&area, WRITERS)?;
    let gate = Gate::default();
    let slow = Slow::start(&slow[..WRITERS], &gate)?;
    let quick = Quick::start(&quick[..READERS])?;
    let seconds = site.minutes.unwrap_or(MINUTES) * 60;
    let turns = seconds.div_ceil(BESIDE.as_secs()).max(1);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        gate.close();
        slow.wait_until_idle(PATIENCE)?;
        alone.push(quick.rate_over(ALONE)?);
        gate.open();
        slow.wait_until_busy(PATIENCE)?;
        beside.push(quick.rate_over(BESIDE)?);
        println!(
            "   turn {} of {turns}: {:.0}/s alone, {:.0}/s beside",
            turn + 1,
            last(&alone),
            last(&beside)
        );
    }
    gate.open();
    let written = slow.finish()?;
    quick.finish()?;
    let peaks = scene.peaks_mib()?;
    scene.stop()?;
    area.clear();
    judge(&Found { alone, beside, written, peaks })
}

/// What was seen.
struct Found {
    /// What the others did in a second, without the overload and with it.
    alone: Vec<f64>,
    beside: Vec<f64>,
    /// Mebibytes that the overloaded server took.
    written: u64,
    /// The most memory of the client, the agent and the overloaded server.
    peaks: [u64; 3],
}

fn judge(found: &Found) -> Verdict {
    let [alone, beside] = [&found.alone, &found.beside].map(|rates| median(rates));
    // Of neighbours in time: a machine that is shared is not always as fast.
    let ratios: Vec<f64> = found.beside.iter().zip(&found.alone).map(|(b, a)| b / a).collect();
    let ratio = median(&ratios);
    let [client, agent, server] = found.peaks;
    let minutes = found.beside.len() as u64 * BESIDE.as_secs() / 60;
    let note = format!(
        "{minutes} minutes of {WRITERS} writers: the slow server took {} MiB, others {beside:.0}/s, {alone:.0}/s \
         alone, ratio {ratio:.2}; at most {client} MiB in the client ({CLIENT_MIB}), {agent} MiB in the agent \
         ({AGENT_MIB}), {server} MiB in the server ({AGENT_MIB})",
        found.written
    );
    let is_bounded = client <= CLIENT_MIB && agent <= AGENT_MIB && server <= AGENT_MIB;
    if ratio >= NOT_BELOW && is_bounded && found.written > 0 {
        Ok(Outcome::Passed(note))
    } else {
        Err(note)
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn last(values: &[f64]) -> f64 {
    values.last().copied().unwrap_or(f64::NAN)
}

const MINUTES: u64 = 10;
const WRITERS: usize = 64;
const READERS: usize = 4;
const ALONE: Duration = Duration::from_secs(10);
const BESIDE: Duration = Duration::from_secs(60);
/// All writes of the slow server take about eight seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// What SEMANTICS.md promises of a client: writes that wait, copies of those that are under way, buffers.
const CLIENT_MIB: u64 = 256 + 64 + 64;
/// And of an agent: requests and answers of all clients, batches, the program itself.
const AGENT_MIB: u64 = 512 + 128;
/// Two runs of the same differ by as much.
const NOT_BELOW: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(beside: f64, peaks: [u64; 3], written: u64) -> Found {
        Found { alone: vec![100.0], beside: vec![beside], written, peaks }
    }

    #[test]
    fn others_that_are_held_up_and_memory_without_bounds_are_told() {
        assert!(judge(&found(95.0, [300, 400, 50], 9)).is_ok());
        for bad in
            [found(80.0, [1, 1, 1], 9), found(95.0, [400, 1, 1], 9), found(95.0, [1, 1, 1], 0)]
        {
            assert!(judge(&bad).is_err());
        }
    }
}
