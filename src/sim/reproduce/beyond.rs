//! Beyond the thesis: what iofwd's own agents would do in front of the same servers, and a picture of windows.

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::preset::{Published, thesis, thesis_job};
use iofwd_scheduler::sim::{Forwarding, Job, Pattern, Scenario, run};
use iofwd_scheduler::time::Span;

use super::measure::{Key, Laboratory, small};
use super::{Chart, Effort, Section, Table, shorter};
use crate::sim::chart::{Bars, Column, Group};
use crate::sim::gantt::{self, Section as Part};
use crate::sim::scheduler::{Daemon, Scheduler};

pub(super) fn sections(
    effort: Effort,
    seed: u64,
    lab: &Laboratory,
) -> Result<Vec<Section>, String> {
    Ok(vec![picture(effort, seed)?, ours(effort, seed, lab)?])
}

/// Small strided reads with FIFO and with TWINS, as published and as in iofwd.
fn picture(effort: Effort, seed: u64) -> Result<Section, String> {
    let window = Span::from_millis(8);
    let ours = Scheduler::with_window("twins", Some(window));
    let ours = ours.forwarding(Daemon::Iofwd, 4)?;
    let ways = [
        ("FIFO in IOFSL: every I/O node is at every server", Some(Published::Fifo.forwarding(4))),
        (
            "TWINS in IOFSL, windows of 8 ms: one server after the other, but the nodes are not in step",
            Some(Published::Twins(window).forwarding(4)),
        ),
        ("TWINS in iofwd, windows of 8 ms on a common clock: no two agents at one server", ours),
    ];
    let part = Part { from: Span::from_millis(200), length: Span::from_millis(80) };
    let mut pictures = Vec::new();
    for (title, forwarding) in ways {
        let report =
            run(&scenario(effort.max_share(), seed, forwarding)).map_err(|e| e.to_string())?;
        pictures.push(gantt::of_report(&report, title, part));
    }
    let chart = Chart { file: "windows".into(), drawing: gantt::stacked(pictures) };
    Ok(Section {
        id: "windows".into(),
        title: "What windows do: a picture".into(),
        published: "Section 4.2 states the aim: at any moment an I/O node is at one server, and different I/O \
            nodes are at different servers."
            .into(),
        ours: "Small strided reads, 80 ms of the run; each row is an I/O node, each colour a server, each bar a \
            message while the server has it. With FIFO all colours overlap in every row. With TWINS each row \
            shows one colour after the other. In iofwd windows lie on a common clock and end when they should, \
            so that at any moment the four rows have four different colours."
            .into(),
        tables: Vec::new(),
        charts: vec![chart],
    })
}

/// iofwd's agents in front of the thesis's servers.
fn ours(effort: Effort, seed: u64, lab: &Laboratory) -> Result<Section, String> {
    let load = small(Operation::Read, Pattern::SharedStrided);
    let published = [
        ("none", Key::new(load, "unforwarded")),
        ("fifo", Key::new(load, "fifo")),
        ("twins 1ms", Key::new(load, "twins")),
        ("twins 8ms", Key::new(load, "twins").window(Span::from_millis(8))),
    ];
    let mut iofsl = Vec::new();
    for (name, key) in published {
        let ours = lab.makespan(&key)?;
        iofsl.push(Column { name: name.into(), ours, ..Column::default() });
    }
    let mut own = Vec::new();
    for (name, scheduler, window) in OURS {
        let scheduler = Scheduler::with_window(scheduler, window);
        let forwarding = scheduler.forwarding(Daemon::Iofwd, 4)?;
        let scenario = scenario(effort.share(), seed, forwarding);
        let report = run(&scenario).map_err(|error| error.to_string())?;
        let ours = report.makespan.as_nanos() as f64 / 1e9 * effort.share() as f64;
        own.push(Column { name: name.into(), ours, ..Column::default() });
    }
    let mut table = Table::new(&["agents", "policy", "makespan s", "shorter than FIFO in IOFSL"]);
    let fifo = iofsl[1].ours;
    for (agents, columns) in [("IOFSL", &iofsl), ("iofwd", &own)] {
        for column in columns {
            let gain = format!("{:.1} %", shorter(column.ours, fifo)).replace('-', "−");
            let name = column.name.clone();
            table.row(vec![agents.into(), name, format!("{:.1}", column.ours), gain]);
        }
    }
    let groups = vec![
        Group { name: "IOFSL, as published".into(), columns: iofsl },
        Group { name: "iofwd".into(), columns: own },
    ];
    let bars = Bars {
        title: "Small strided reads, 4 agents: IOFSL and iofwd".into(),
        values: "makespan (s)".into(),
        published: String::new(),
        groups,
    };
    Ok(Section {
        id: "iofwd".into(),
        title: "Beyond the thesis: iofwd's own agents in front of the same servers".into(),
        published: "Nothing: iofwd did not exist.".into(),
        ours: "iofwd's agents have no dispatch queue behind the policy: a batch is one message to one server, and \
            leaves when the policy says so. Its TWINS counts windows on a common clock and gives a server no \
            more than it can finish in one. Policies without windows have every request under way at once, \
            and join only neighbours."
            .into(),
        tables: vec![table],
        charts: vec![Chart { file: "iofwd".into(), drawing: bars.drawing() }],
    })
}

fn scenario(share: u64, seed: u64, forwarding: Option<Forwarding>) -> Scenario {
    let whole = thesis_job(Pattern::SharedStrided, Operation::Read, 32 << 10);
    let job = Job { volume: whole.volume / share, ..whole };
    Scenario { seed, timeline: true, ..thesis(job, forwarding) }
}

impl Effort {
    /// A share that is enough for a picture.
    const fn max_share(self) -> u64 {
        32
    }
}

const OURS: [(&str, &str, Option<Span>); 5] = [
    ("fifo", "fifo", None),
    ("to-agg", "to-agg", None),
    ("hbrr", "hbrr", None),
    ("twins 1ms", "twins", Some(Span::from_millis(1))),
    ("twins 8ms", "twins", Some(Span::from_millis(8))),
];
