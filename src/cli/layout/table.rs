//! A layout as it is shown: in words for people, and with the same names as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Serialize;

use iofwd_scheduler::layout::{Layout, Piece};
use iofwd_scheduler::request::Extent;

use crate::layout::{Description, Servers, Shape, Stripes, Told};
use crate::quantity::show_bytes;

/// The layout of one file, as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    file: String,
    size: u64,
    provider: &'static str,
    generation: u64,
    cost_ns: u64,
    servers: Vec<Held>,
    ranges: Vec<Dealt>,
    /// The first pieces of the file.
    pieces: Vec<Stretch>,
    more_pieces: bool,
}

/// A server of the file.
#[derive(Debug, Serialize)]
struct Held {
    name: String,
    /// The number of its queue in the agent, if one was asked.
    queue: Option<usize>,
}

/// A range, and how it is dealt out.
#[derive(Debug, Serialize)]
struct Dealt {
    start: u64,
    /// `null` is the end of the file.
    end: Option<u64>,
    /// `null` where all is on one server.
    stripe: Option<u64>,
    object_size: Option<u64>,
    count: u64,
    servers: Vec<String>,
}

/// Bytes that follow one another on one server.
#[derive(Debug, Serialize)]
struct Stretch {
    offset: u64,
    length: u64,
    /// `null` while nobody is known to have them.
    server: Option<String>,
}

impl Shown {
    pub(super) fn new(path: &Path, size: u64, told: &Told, pieces: usize) -> Result<Shown, String> {
        let Told { description, cost, queues } = told;
        let servers = Servers::new(u32::MAX);
        let layout = description.layout(&|server| servers.number(server));
        let layout = layout.map_err(|error| error.to_string())?;
        let names: Vec<String> = servers.names().iter().map(ToString::to_string).collect();
        let mut split = layout.split(Extent::new(0, size.min(Layout::LIMIT)));
        let stretches = split.by_ref().take(pieces).map(|piece| stretch(&piece, &names)).collect();
        let queue: BTreeMap<String, usize> = queues
            .iter()
            .enumerate()
            .map(|(number, server)| (server.to_string(), number))
            .collect();
        let held =
            names.iter().map(|name| Held { name: name.clone(), queue: queue.get(name).copied() });
        Ok(Shown {
            file: path.display().to_string(),
            size,
            provider: description.engine.name(),
            generation: description.generation,
            cost_ns: *cost,
            servers: held.collect(),
            ranges: ranges(description),
            pieces: stretches,
            more_pieces: split.next().is_some(),
        })
    }
}

fn stretch(piece: &Piece, names: &[String]) -> Stretch {
    let server = piece.server.and_then(|server| names.get(server.index()).cloned());
    Stretch { offset: piece.extent.offset, length: piece.extent.length, server }
}

fn ranges(description: &Description) -> Vec<Dealt> {
    let whole = |stripe, object_size, count, servers| {
        vec![Dealt { start: 0, end: None, stripe, object_size, count, servers }]
    };
    match &description.shape {
        Shape::Whole(server) => whole(None, None, 1, vec![server.to_string()]),
        Shape::Stripes(stripes) => vec![dealt(0, u64::MAX, stripes)],
        Shape::Ranges(ranges) => {
            ranges.iter().map(|range| dealt(range.start, range.end, &range.stripes)).collect()
        }
        Shape::Objects(objects) => {
            let mut servers: Vec<String> =
                objects.known.iter().map(|(_, server)| server.to_string()).collect();
            if servers.is_empty() {
                servers.push(objects.pool_server().to_string());
            }
            whole(Some(objects.unit), Some(objects.object_size), objects.count, servers)
        }
    }
}

fn dealt(start: u64, end: u64, stripes: &Stripes) -> Dealt {
    Dealt {
        start,
        end: (end < Layout::LIMIT).then_some(end),
        stripe: Some(stripes.unit),
        object_size: None,
        count: stripes.servers.len() as u64,
        servers: stripes.servers.iter().map(ToString::to_string).collect(),
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown { file, size, provider, generation, cost_ns, .. } = self;
        writeln!(f, "{file}")?;
        writeln!(f, "  size        {}", show_bytes(*size))?;
        writeln!(
            f,
            "  provider    {provider}, generation {generation}, asked in {} us",
            cost_ns / 1_000
        )?;
        for held in &self.servers {
            let queue = held.queue.map(|queue| format!(", queue {queue}")).unwrap_or_default();
            writeln!(f, "  server      {}{queue}", held.name)?;
        }
        for range in &self.ranges {
            writeln!(f, "  range       {range}")?;
        }
        for Stretch { offset, length, server } in &self.pieces {
            let server = server.as_deref().unwrap_or("not known yet");
            writeln!(f, "  {offset:>15} {length:>12}  {server}")?;
        }
        if self.more_pieces {
            writeln!(f, "  {:>15} {:>12}  more with --pieces", "...", "...")?;
        }
        Ok(())
    }
}

impl fmt::Display for Dealt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.end.map_or_else(|| "end".into(), |end| end.to_string());
        write!(f, "{}..{end}: ", self.start)?;
        if let Some(stripe) = self.stripe {
            write!(f, "{} each, {} in turn: ", show_bytes(stripe), self.count)?;
        }
        if let Some(size) = self.object_size {
            write!(f, "objects of {}: ", show_bytes(size))?;
        }
        f.write_str(&self.servers.join(" "))
    }
}
