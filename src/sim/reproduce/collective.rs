//! Figure 5.6: TWINS against collective operations, which the application itself would have to use.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::preset::{Published, thesis, thesis_job};
use iofwd_scheduler::sim::{Job, Pattern, Scenario, run};

use super::measure::{Key, Laboratory, small};
use super::{Chart, Effort, Section, Table};
use crate::sim::chart::{Bars, Column, Group};

pub(super) fn section(effort: Effort, seed: u64, lab: &Laboratory) -> Result<Section, String> {
    let collective = collective(effort, seed)?;
    let mut columns = Vec::new();
    for scheduler in ["unforwarded", "fifo", "hbrr", "twins"] {
        let load = small(Operation::Read, Pattern::SharedStrided);
        let ours = lab.makespan(&Key::new(load, scheduler))?;
        let name = scheduler.replace("unforwarded", "none");
        columns.push(Column { name, ours, ..Column::default() });
    }
    columns.push(Column { name: "collective".into(), ours: collective, ..Column::default() });
    let mut table = Table::new(&["", "ours s"]);
    for column in &columns {
        table.row(vec![column.name.clone(), format!("{:.1}", column.ours)]);
    }
    let groups = vec![Group { name: "strided read 32KB".into(), columns }];
    let bars = Bars {
        title: "Figure 5.6: TWINS and collective operations, small strided reads".into(),
        values: "makespan (s)".into(),
        published: String::new(),
        groups,
    };
    Ok(Section {
        id: "figure-5.6".into(),
        title: "Figure 5.6: TWINS and collective operations".into(),
        published: "TWINS gives small strided reads as much as collective operations do, without a change to the \
            application. (The figure has no printed numbers.)"
            .into(),
        ours: "The collective operation is modelled as its two phases are usually done: one process of each node \
            reads 4 MiB at a time from a part of the file that is its own, through the same I/O nodes with FIFO; \
            handing the data to the other processes takes no time here. Both are far better than no \
            forwarding. The model finds collective operations clearly better than TWINS, where the thesis finds \
            them equal: exchange and synchronisation, which cost time in reality, are left out."
            .into(),
        tables: vec![table],
        charts: vec![Chart { file: "figure-5.6".into(), drawing: bars.drawing() }],
    })
}

/// The makespan of the reading phase in seconds.
fn collective(effort: Effort, seed: u64) -> Result<f64, String> {
    let every = thesis_job(Pattern::SharedContiguous, Operation::Read, 4 << 20);
    let one =
        Job { processes: 32, per_node: 1, volume: every.volume * 4 / effort.share(), ..every };
    let forwarding = Some(Published::Fifo.forwarding(4));
    let scenario = Scenario { seed, ..thesis(one, forwarding) };
    let report = run(&scenario).map_err(|error| error.to_string())?;
    Ok(report.makespan.as_nanos() as f64 / 1e9 * effort.share() as f64)
}
