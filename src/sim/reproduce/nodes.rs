//! Figures 5.7 to 5.9: what the number of I/O nodes does.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::Pattern;

use super::measure::{Key, Laboratory, small};
use super::windows::{SW, TWINS};
use super::{Chart, Section, Table};
use crate::quantity::show_span;
use crate::sim::chart::{Lines, Series};

pub(super) fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    for (_, pattern, ..) in FIGURES {
        keys.push(Key::new(small(Operation::Read, pattern), "unforwarded"));
        for nodes in NODES {
            keys.extend(settings(pattern).into_iter().map(|(_, key)| key.agents(nodes)));
        }
    }
    keys
}

pub(super) fn sections(lab: &Laboratory) -> Result<Vec<Section>, String> {
    FIGURES
        .into_iter()
        .map(|(number, pattern, published, ours)| {
            let mut section = Section {
                id: format!("figure-{number}"),
                title: format!("Figure {number}: number of I/O nodes, {}", name(pattern)),
                published: format!("{published} (The figure has no printed numbers.)"),
                ours: ours.into(),
                ..Section::default()
            };
            let none = lab.makespan(&Key::new(small(Operation::Read, pattern), "unforwarded"))?;
            let settings = settings(pattern);
            let mut table = Table::new(&["scheduler"]);
            table.head.extend(NODES.map(|nodes| format!("{nodes} I/O nodes, s")));
            let mut series = vec![Series {
                name: "none".into(),
                values: vec![none; settings.len()],
                reference: true,
            }];
            for nodes in NODES {
                let values: Result<Vec<f64>, String> = settings
                    .iter()
                    .map(|(_, key)| lab.makespan(&key.clone().agents(nodes)))
                    .collect();
                series.push(Series {
                    name: format!("{nodes} I/O nodes"),
                    values: values?,
                    reference: false,
                });
            }
            for (at, (name, _)) in settings.iter().enumerate() {
                let mut cells = vec![name.clone()];
                cells.extend(series[1..].iter().map(|one| format!("{:.1}", one.values[at])));
                table.row(cells);
            }
            let drawing = Lines {
                title: format!("Figure {number}: reads of 32KB, {}", name(pattern)),
                settings: "scheduler and window".into(),
                values: "makespan (s)".into(),
                ticks: settings
                    .into_iter()
                    .map(|(name, _)| name.replace("sw ", "SW").replace("twins ", ""))
                    .collect(),
                series,
            }
            .drawing();
            section.charts.push(Chart { file: section.id.clone(), drawing });
            section.tables.push(table);
            Ok(section)
        })
        .collect()
}

/// Every scheduler, those with windows with each of them.
fn settings(pattern: Pattern) -> Vec<(String, Key)> {
    let key = |scheduler: &str| Key::new(small(Operation::Read, pattern), scheduler);
    let mut all: Vec<_> =
        ["fifo", "hbrr", "to", "sjf", "mlf"].map(|name| (name.to_string(), key(name))).to_vec();
    all.extend([SW[0], SW[4]].map(|one| (format!("sw {}", show_span(one)), key("sw").window(one))));
    all.extend(TWINS.map(|one| (format!("twins {}", show_span(one)), key("twins").window(one))));
    all
}

fn name(pattern: Pattern) -> &'static str {
    crate::sim::spec::pattern_name(pattern)
}

const NODES: [u32; 4] = [1, 2, 4, 8];

/// Number, pattern, what was published, what the model says.
const FIGURES: [(&str, Pattern, &str, &str); 3] = [
    (
        "5.7",
        Pattern::FilePerProcess,
        "The number of I/O nodes and the scheduler change the time of a file for each process much.",
        "The fewer I/O nodes, the shorter: fewer senders at the servers. With a file for each process nothing can \
         join a list, so that schedulers hardly differ, except that long windows lose.",
    ),
    (
        "5.8",
        Pattern::SharedStrided,
        "With one I/O node FIFO and HBRR are best; with four, TWINS with windows of more than 1 ms; with eight, \
         TWINS with the shortest window, 0.125 ms.",
        "With one I/O node FIFO and windows up to 4 ms are a tie: one sender cannot disturb itself, and servers have work for 25 ms \
         waiting, so that they are never idle; windows of 8 ms and more lose. With four, TWINS. With eight, TWINS too, but windows of some milliseconds stay best: the model's servers gain \
         as much from large lists there as anywhere; why 0.125 ms was best is not explained.",
    ),
    (
        "5.9",
        Pattern::SharedContiguous,
        "With one I/O node FIFO and HBRR are best, with four TWINS.",
        "With one I/O node a tie but for long windows, which lose; with four TWINS.",
    ),
];
