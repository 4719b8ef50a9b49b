//! Figures 3.4 to 3.7, 4.1, 4.2, 5.1 and 5.2: how long everything takes with each scheduler.

use iofwd_scheduler::request::Operation;

use super::measure::{Key, Laboratory, Load, PATTERNS, REQUESTS};
use super::published::{Improvement, Thesis};
use super::{Chart, Section, Table, shorter, signed};
use crate::quantity::{self, show_bytes};
use crate::sim::chart::{Bars, Column, Group};
use crate::sim::spec::{OPERATIONS, PATTERNS as PATTERN_NAMES, pattern_name};

pub(super) fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    for operation in [Operation::Read, Operation::Write] {
        for load in loads(operation) {
            keys.extend(ALL.iter().map(|scheduler| Key::new(load, scheduler)));
        }
    }
    keys
}

pub(super) fn chapter_three(lab: &Laboratory, thesis: &Thesis) -> Result<Vec<Section>, String> {
    let first = ["unforwarded", "fifo", "hbrr"];
    let more = ["unforwarded", "fifo", "hbrr", "to", "sjf", "mlf"];
    Ok(vec![
        Figure {
            number: "3.4",
            operation: Operation::Read,
            schedulers: &first,
            published: "Forwarding alone makes small reads shorter: by 35.80 % with a file for each process, \
                31.70 % strided, 23.73 % contiguous; less with large requests. FIFO and HBRR do not differ.",
            ours: "Direction and order are right. The file for each process was not used for the calibration and \
                comes out as published: an I/O node has a thread for only half of its 32 processes, and four \
                senders disturb a server less than 32 nodes. Without forwarding, contiguous reads and \
                large requests suffer too much in the model: it makes every doubling of the senders cost the \
                same, and processes that begin at the same server stay together.",
        }
        .section(lab, thesis)?,
        Figure {
            number: "3.5",
            operation: Operation::Write,
            schedulers: &first,
            published: "Forwarding does not help writes: small ones to a shared file take 8.05 % (strided) and \
                17.33 % (contiguous) longer, large ones the same; large ones to a file for each process take \
                165 % longer.",
            ours: "The times without forwarding (strided) were used for the calibration. In the model forwarded \
                writes take the same time: the disk is the bottleneck, and what a hop adds is hidden behind it. \
                The published loss with a file for each process (69.8 s to 185 s) is not explained by anything \
                the model has: without forwarding those writes are faster than to a shared file, which points to \
                the file system's own handling of files, not to scheduling.",
        }
        .section(lab, thesis)?,
        Figure {
            number: "3.6",
            operation: Operation::Read,
            schedulers: &more,
            published: "TO, SJF and MLF change little. MLF improves small strided reads by 14.17 % over FIFO, TO \
                small contiguous reads by up to 9.87 % over HBRR; large reads and a file for each process do \
                not change.",
            ours: "The same: small gains for small requests to a shared file, largest for MLF with strided reads; \
                none for large ones or a file for each process. They come from somewhat larger lists. MLF \
                loses a little with contiguous reads, where published is a little gain: it waits for \
                neighbours that do not come.",
        }
        .section(lab, thesis)?,
        Figure {
            number: "3.7",
            operation: Operation::Write,
            schedulers: &more,
            published: "No scheduler makes a significant difference for writes.",
            ours: "Nor does one in the model. Numbers over the bars of 3.7(a) are not in the text of the thesis.",
        }
        .section(lab, thesis)?,
    ])
}

pub(super) fn chapter_four(lab: &Laboratory, thesis: &Thesis) -> Result<Vec<Section>, String> {
    let schedulers = ["unforwarded", "fifo", "hbrr", "to", "sjf", "mlf", "sw"];
    Ok(vec![
        Figure {
            number: "4.1",
            operation: Operation::Read,
            schedulers: &schedulers,
            published: "SW (windows of 1 s) brings nothing over the others, and costs nothing.",
            ours: "The same, for the published reason: its order is undone in the dispatch queue, where requests \
                for different servers join one list. From the numbers of chapter 5 one can work out that SW was 6 % \
                (strided) and 4 % (contiguous) shorter than FIFO; here it gains as much with contiguous reads and \
                hardly anything with strided ones.",
        }
        .section(lab, thesis)?,
        Figure {
            number: "4.2",
            operation: Operation::Write,
            schedulers: &schedulers,
            published: "Nothing changes for writes.",
            ours: "Nothing does.",
        }
        .section(lab, thesis)?,
    ])
}

pub(super) fn chapter_five(lab: &Laboratory, thesis: &Thesis) -> Result<Vec<Section>, String> {
    let schedulers = ["unforwarded", "fifo", "hbrr", "sw", "twins"];
    Ok(vec![
        Figure {
            number: "5.1",
            operation: Operation::Read,
            schedulers: &schedulers,
            published: "TWINS (windows of 1 ms) makes reads of a shared file shorter than any other: small strided \
                ones by 24.03 % over FIFO, 46.93 % over no forwarding; contiguous ones by 19.85 % and 43.68 %; \
                large ones by 18 to 21 % over HBRR. A file for each process does not gain.",
            ours: "Two of these numbers were used for the calibration (small strided reads, over FIFO and over no \
                forwarding). The order is right in all cases, and a file for each process gains nothing, as \
                published. Large requests gain less than published: in the model TWINS can only \
                make their lists larger, and lists of 256 KB are large already. Compared with no forwarding \
                they gain too much (see figure 3.4).",
        }
        .section(lab, thesis)?,
        Figure {
            number: "5.2",
            operation: Operation::Write,
            schedulers: &schedulers,
            published: "TWINS does not change writes, but for small contiguous ones, which lose a little.",
            ours: "It does not change them here either. That forwarded small writes take 8 to 17 % longer is not \
                in the model (see figure 3.5).",
        }
        .section(lab, thesis)?,
    ])
}

/// A figure with bars for each scheduler, in groups for each pattern, twice: small and large requests.
struct Figure<'a> {
    number: &'a str,
    operation: Operation,
    schedulers: &'a [&'a str],
    published: &'a str,
    ours: &'a str,
}

impl Figure<'_> {
    fn section(&self, lab: &Laboratory, thesis: &Thesis) -> Result<Section, String> {
        let what = if self.operation == Operation::Read { "reads" } else { "writes" };
        let charts: Result<Vec<_>, _> =
            REQUESTS.into_iter().map(|request| self.chart(lab, thesis, request, what)).collect();
        let mut tables = vec![self.improvements(lab, thesis)?, self.times(lab, thesis)?];
        tables.retain(|table| !table.rows.is_empty());
        Ok(Section {
            id: format!("figure-{}", self.number),
            title: format!("Figure {}: execution time of {what}", self.number),
            published: self.published.into(),
            ours: self.ours.into(),
            tables,
            charts: charts?,
        })
    }

    fn chart(
        &self,
        lab: &Laboratory,
        thesis: &Thesis,
        request: u64,
        what: &str,
    ) -> Result<Chart, String> {
        let mut groups = Vec::new();
        for pattern in PATTERNS {
            let load = Load { operation: self.operation, pattern, request };
            let none = lab.makespan(&Key::new(load, "unforwarded"))?;
            let mut columns = Vec::new();
            for scheduler in self.schedulers {
                let numbers = &lab.get(&Key::new(load, scheduler))?.numbers;
                let names = load.names();
                let names = [&*names[0], &*names[1], &*names[2]];
                let printed = thesis.time(names, scheduler).map(|(seconds, _)| seconds);
                let worked_out = || thesis.relative(names, scheduler).map(|part| part * none);
                let derivable = thesis.relative(names, "fifo").is_some()
                    || thesis.relative(names, "hbrr").is_some();
                let published = match self.operation {
                    Operation::Write => printed,
                    Operation::Read if derivable => worked_out(),
                    Operation::Read => None,
                };
                let name = scheduler.replace("unforwarded", "none");
                let (ours, margin) = (numbers.makespan, numbers.margin);
                columns.push(Column { name, published, ours, margin });
            }
            groups.push(Group { name: pattern_name(pattern).into(), columns });
        }
        let published = match self.operation {
            Operation::Read => "published, as far as printed, relative to no forwarding",
            Operation::Write => "published, as far as printed",
        };
        let size = show_bytes(request);
        Ok(Chart {
            file: format!("figure-{}-{size}", self.number),
            drawing: Bars {
                title: format!("Figure {}: {what}, requests of {size}B, 4 I/O nodes", self.number),
                values: "makespan (s)".into(),
                published: published.into(),
                groups,
            }
            .drawing(),
        })
    }

    /// The improvements that are printed in the text about this figure.
    fn improvements(&self, lab: &Laboratory, thesis: &Thesis) -> Result<Table, String> {
        let mut table =
            Table::new(&["load", "makespan of", "shorter than", "published", "ours", "difference"]);
        let about = |one: &&Improvement| one.place.contains(&format!("figure {})", self.number));
        for one in thesis.improvement.iter().filter(about) {
            let load = load(one)?;
            let ours = shorter(
                lab.makespan(&Key::new(load, &one.of))?,
                lab.makespan(&Key::new(load, &one.over))?,
            );
            table.row(vec![
                format!("{} {} {}B", one.pattern, one.operation, one.request),
                one.of.clone(),
                one.over.clone(),
                format!("{:.2} %", one.percent).replace('-', "−"),
                format!("{ours:.2} %").replace('-', "−"),
                signed(ours - one.percent, 1) + " points",
            ]);
        }
        Ok(table)
    }

    /// The times that are printed.
    fn times(&self, lab: &Laboratory, thesis: &Thesis) -> Result<Table, String> {
        let mut table = Table::new(&["load", "scheduler", "published s", "ours s", "difference"]);
        for load in loads(self.operation) {
            for scheduler in self.schedulers {
                let numbers = &lab.get(&Key::new(load, scheduler))?.numbers;
                let names = load.names();
                let printed = thesis.time([&names[0], &names[1], &names[2]], scheduler);
                let Some((seconds, _)) = printed else { continue };
                let margin = numbers.margin.map_or(String::new(), |one| format!(" ± {one:.1}"));
                table.row(vec![
                    format!("{} {} {}B", names[1], names[0], names[2]),
                    (*scheduler).into(),
                    format!("{seconds:.1}"),
                    format!("{:.1}{margin}", numbers.makespan),
                    signed((numbers.makespan / seconds - 1.0) * 100.0, 1) + " %",
                ]);
            }
        }
        Ok(table)
    }
}

fn load(one: &Improvement) -> Result<Load, String> {
    let unknown = || format!("thesis.toml: {one:?} names no known load");
    let operation = OPERATIONS.iter().find(|(name, _)| *name == one.operation);
    let pattern = PATTERN_NAMES.iter().find(|(name, _)| *name == one.pattern);
    Ok(Load {
        operation: operation.ok_or_else(unknown)?.1,
        pattern: pattern.ok_or_else(unknown)?.1,
        request: quantity::bytes(&one.request)?,
    })
}

fn loads(operation: Operation) -> Vec<Load> {
    let each = |request| PATTERNS.map(|pattern| Load { operation, pattern, request });
    REQUESTS.into_iter().flat_map(each).collect()
}

const ALL: [&str; 8] = ["unforwarded", "fifo", "hbrr", "to", "sjf", "mlf", "sw", "twins"];
