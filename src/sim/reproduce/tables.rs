//! Tables 3.1 to 3.3, 4.1 and 5.1: how large requests are on their way, and how far apart.

use iofwd_scheduler::time::Span;

use super::measure::{COLUMNS, Key, Laboratory};
use super::published::{Size, Thesis};
use super::{Chart, Section, Table, signed};
use crate::quantity;
use crate::sim::chart::{Bars, Column, Group};

pub(super) fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    for load in COLUMNS {
        for scheduler in ["fifo", "hbrr", "to", "sjf", "mlf", "sw", "twins"] {
            keys.push(Key::new(load, scheduler));
        }
        keys.push(Key::new(load, "twins").window(Span::from_millis(8)));
    }
    keys
}

pub(super) fn sections(laboratory: &Laboratory, thesis: &Thesis) -> Result<Vec<Section>, String> {
    Ok(vec![sizes(laboratory, thesis)?, distances(laboratory, thesis)?])
}

fn sizes(laboratory: &Laboratory, thesis: &Thesis) -> Result<Section, String> {
    let mut leaving = table("leaving I/O nodes, KB");
    let mut arriving = table("arriving at servers, KB");
    let mut groups = TITLES.map(|name| Group { name: name.into(), columns: Vec::new() });
    for size in &thesis.size {
        let name = name(size);
        let mut cells = [vec![name.clone()], vec![name.clone()]];
        for (at, load) in COLUMNS.into_iter().enumerate() {
            let found = laboratory.get(&key(size, Key::new(load, &size.scheduler))?)?;
            let ours = [found.numbers.leaving, found.numbers.arriving].map(|bytes| bytes / 1024.0);
            let published = [size.leaving[at], size.arriving[at]];
            for (cells, (published, ours)) in cells.iter_mut().zip(published.into_iter().zip(ours))
            {
                cells.extend(compared(published, ours));
            }
            let column = Column {
                name: name.replace("twins ", "tw ").replace("sw 1s", "sw"),
                published: Some(published[0]),
                ours: ours[0],
                margin: None,
            };
            groups[at].columns.push(column);
        }
        let [left, arrived] = cells;
        leaving.row(left);
        arriving.row(arrived);
    }
    let charts = groups.chunks(2).zip(["strided", "contiguous"]).map(|(groups, pattern)| Chart {
        file: format!("tables-sizes-{pattern}"),
        drawing: Bars {
            title: format!("Mean size of what leaves the I/O nodes, {pattern}, requests of 32 KB"),
            values: "KB".into(),
            published: "published (table 5.1)".into(),
            groups: groups.to_vec(),
        }
        .drawing(),
    });
    Ok(Section {
        id: "tables-3.1-3.3-4.1-5.1".into(),
        title: "Tables 3.1, 3.3, 4.1 and 5.1: request sizes on the way".into(),
        published: "Clients ask for 32 KB. FIFO and HBRR let 57.7 KB leave the I/O nodes, whatever the load; \
            through AGIOS it is more, because requests are slightly delayed; TWINS holds them back and \
            aggregates most, more in longer windows. At the servers, requests are smaller again, because a \
            list is divided among them."
            .into(),
        ours: "Three of these numbers were used for the calibration (strided reads leaving with FIFO, TO and TWINS \
            at 1 ms); the others follow. The order is right everywhere. Lists of MLF stay smaller than published: \
            iofwd's MLF keeps a queue for each server's part of a file, AGIOS one for the whole file. With \
            TWINS, lists reach the servers nearly whole here; published are half of that: there, requests of \
            several windows met in the dispatch queue. Writes through AGIOS leave in larger lists than published: \
            in the model nothing but the disks slows writes down, and processes answered together come back \
            together."
            .into(),
        tables: vec![leaving, arriving],
        charts: charts.collect(),
    })
}

fn distances(laboratory: &Laboratory, thesis: &Thesis) -> Result<Section, String> {
    let mut table = table("distance, MB");
    for distance in &thesis.distance {
        let mut cells = vec![distance.scheduler.clone()];
        for (load, published) in COLUMNS.into_iter().zip(distance.megabytes) {
            let ours = laboratory.get(&Key::new(load, &distance.scheduler))?.distance;
            cells.extend(compared(published, ours));
        }
        table.row(cells);
    }
    Ok(Section {
        id: "table-3.2".into(),
        title: "Table 3.2: distance between consecutive requests".into(),
        published: "The offsets of consecutive requests leaving an I/O node lie 42 to 48 MB apart for strided \
            access, 1.35 GB for contiguous access; FIFO and HBRR hardly differ."
            .into(),
        ours: "For strided reads the distance says how far processes run apart, and comes out as published. For \
            strided writes they run apart less here. For contiguous access it says which processes share an I/O \
            node: published is a third of the whole file, which is what processes from all over the file give; \
            the model gives an I/O node 32 neighbours, and so a third of a quarter of the file. FIFO and HBRR do \
            the same, as published."
            .into(),
        tables: vec![table],
        charts: Vec::new(),
    })
}

fn key(size: &Size, key: Key) -> Result<Key, String> {
    match &size.window {
        Some(window) => Ok(key.window(quantity::span(window)?)),
        None => Ok(key),
    }
}

fn name(size: &Size) -> String {
    match &size.window {
        Some(window) => format!("{} {window}", size.scheduler),
        None => size.scheduler.clone(),
    }
}

fn table(what: &str) -> Table {
    let mut table = Table::new(&[what]);
    for title in TITLES {
        table.head.extend([format!("{title}, published"), "ours".into()]);
    }
    table
}

/// A published number, and ours with its difference.
fn compared(published: f64, ours: f64) -> [String; 2] {
    let difference = signed((ours / published - 1.0) * 100.0, 0);
    [format!("{published:.2}"), format!("{ours:.2} ({difference} %)")]
}

const TITLES: [&str; 4] = ["strided read", "strided write", "contiguous read", "contiguous write"];
