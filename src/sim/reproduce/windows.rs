//! Figures 4.3, 4.4, 5.3 and 5.4: what the length of the windows does.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::Pattern;
use iofwd_scheduler::time::Span;

use super::measure::{Key, Laboratory, Load, PATTERNS, REQUESTS};
use super::{Chart, Section, Table};
use crate::quantity::{show_bytes, show_span};
use crate::sim::chart::{Lines, Series};
use crate::sim::spec::pattern_name;

pub(super) fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    for operation in [Operation::Read, Operation::Write] {
        for request in REQUESTS {
            for pattern in PATTERNS {
                let load = Load { operation, pattern, request };
                keys.push(Key::new(load, "fifo"));
                keys.extend(SW.map(|window| Key::new(load, "sw").window(window)));
                keys.extend(TWINS.map(|window| Key::new(load, "twins").window(window)));
            }
        }
    }
    keys
}

pub(super) fn chapter_four(lab: &Laboratory) -> Result<Vec<Section>, String> {
    let published = "Longer windows of SW, from 1 to 16 s, change nothing.";
    let ours = "They change nothing here either: a second is longer than any request waits, so that within one \
        window requests are sorted by server only, and the dispatch queue undoes that.";
    Ok(vec![
        Sweep { number: "4.3", operation: Operation::Read, scheduler: "sw", windows: &SW }
            .section(lab, published, ours)?,
        Sweep { number: "4.4", operation: Operation::Write, scheduler: "sw", windows: &SW }
            .section(lab, published, ours)?,
    ])
}

pub(super) fn chapter_five(lab: &Laboratory) -> Result<Vec<Section>, String> {
    let reads = "Small strided reads are best with 8 ms, the others with 1 ms. Too short a window does not \
        coordinate, too long a one waits for requests that do not come. At best TWINS is 28 % shorter than the \
        other schedulers.";
    let best = best(lab)?;
    let ours = format!(
        "The same shape: short windows do little, long ones lose again. Small strided reads are best with {} \
         here. Why long windows lose: the daemons' windows begin at moments of their own, so that two I/O nodes \
         may aim at one server while another has nothing to do, and the longer the window the longer that lasts.",
        show_span(best)
    );
    let writes = "Windows change nothing for writes, unless they are very long.";
    let ours_writes =
        "The same; 16 ms is not long beside the 6 ms of a single write, so little is lost.";
    Ok(vec![
        Sweep { number: "5.3", operation: Operation::Read, scheduler: "twins", windows: &TWINS }
            .section(lab, reads, &ours)?,
        Sweep { number: "5.4", operation: Operation::Write, scheduler: "twins", windows: &TWINS }
            .section(lab, writes, ours_writes)?,
    ])
}

/// The best window for small strided reads.
pub(super) fn best(lab: &Laboratory) -> Result<Span, String> {
    let mut best = (f64::INFINITY, TWINS[0]);
    for window in TWINS {
        let makespan = lab.makespan(&strided(window))?;
        if makespan < best.0 {
            best = (makespan, window);
        }
    }
    Ok(best.1)
}

/// Small strided reads with windows of this length.
pub(super) fn strided(window: Span) -> Key {
    let (operation, pattern) = (Operation::Read, Pattern::SharedStrided);
    Key::new(Load { operation, pattern, request: REQUESTS[0] }, "twins").window(window)
}

struct Sweep<'a> {
    number: &'a str,
    operation: Operation,
    scheduler: &'a str,
    windows: &'a [Span],
}

impl Sweep<'_> {
    fn section(&self, lab: &Laboratory, published: &str, ours: &str) -> Result<Section, String> {
        let what = if self.operation == Operation::Read { "reads" } else { "writes" };
        let name = self.scheduler.to_uppercase();
        let mut section = Section {
            id: format!("figure-{}", self.number),
            title: format!("Figure {}: windows of {name}, {what}", self.number),
            published: format!("{published} (The figure has no printed numbers.)"),
            ours: ours.into(),
            ..Section::default()
        };
        let mut table = Table::new(&["load", "FIFO s"]);
        table.head.extend(self.windows.iter().map(|window| show_span(*window)));
        for request in REQUESTS {
            let lines = self.lines(lab, request, what, &mut table)?;
            let file = format!("{}-{}", section.id, show_bytes(request));
            section.charts.push(Chart { file, drawing: lines.drawing() });
        }
        section.tables.push(table);
        Ok(section)
    }

    fn lines(
        &self,
        lab: &Laboratory,
        request: u64,
        what: &str,
        table: &mut Table,
    ) -> Result<Lines, String> {
        let mut series = Vec::new();
        for pattern in PATTERNS {
            let load = Load { operation: self.operation, pattern, request };
            let key = Key::new(load, self.scheduler);
            let values: Result<Vec<f64>, String> = self
                .windows
                .iter()
                .map(|window| lab.makespan(&key.clone().window(*window)))
                .collect();
            let (values, fifo) = (values?, lab.makespan(&Key::new(load, "fifo"))?);
            let mut cells = vec![format!("{} {}B", pattern_name(pattern), show_bytes(request))];
            cells.push(format!("{fifo:.1}"));
            cells.extend(values.iter().map(|value| format!("{value:.1}")));
            table.row(cells);
            series.push(Series { name: pattern_name(pattern).into(), values, reference: false });
            let name = format!("{}, FIFO", pattern_name(pattern));
            series.push(Series { name, values: vec![fifo; self.windows.len()], reference: true });
        }
        let name = self.scheduler.to_uppercase();
        Ok(Lines {
            title: format!(
                "Figure {}: {name}, {what} of {}B, 4 I/O nodes",
                self.number,
                show_bytes(request)
            ),
            settings: "length of a window".into(),
            values: "makespan (s)".into(),
            ticks: self.windows.iter().map(|window| show_span(*window)).collect(),
            series,
        })
    }
}

/// The windows of SW in the thesis.
pub(super) const SW: [Span; 5] = [
    Span::from_secs(1),
    Span::from_secs(2),
    Span::from_secs(4),
    Span::from_secs(8),
    Span::from_secs(16),
];

/// The windows of TWINS, and one that is too long for certain.
pub(super) const TWINS: [Span; 9] = [
    Span::from_micros(125),
    Span::from_micros(250),
    Span::from_micros(500),
    Span::from_millis(1),
    Span::from_millis(2),
    Span::from_millis(4),
    Span::from_millis(8),
    Span::from_millis(16),
    Span::from_millis(32),
];
