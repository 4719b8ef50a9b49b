//! Leads one run: opens the gates when all processes of an application have reached them, starts
//! applications at their time, and takes down how long each step took.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::Stop;
use super::board::Board;
use super::crew::Crew;
use super::interrupt;
use super::latency::Latency;
use super::plan::Plan;
use super::progress::Progress;
use super::step::{Step, Task};
use super::worker::{Site, Worker};

/// An application's part of a run.
pub(super) struct Part {
    pub(super) application: usize,
    /// How long after all were ready it starts.
    pub(super) start: Duration,
    pub(super) steps: Vec<Step>,
}

/// How an application read or wrote in a run, all periods together.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which application of the plan.
    pub application: usize,
    /// `read` or `write`.
    pub operation: &'static str,
    /// From the start to the end of the slowest process, computing included.
    pub makespan_ns: u64,
    /// The part of it in which there was I/O; what bandwidth is counted by.
    pub io_ns: u64,
    /// Each process for itself.
    pub processes: Vec<Process>,
}

/// How one process fared.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// From its first request to its last answer.
    pub io_ns: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// How long its requests took.
    pub latency: Latency,
}

impl Measured {
    /// All processes as one.
    pub fn total(&self) -> Process {
        let mut total = Process { io_ns: self.io_ns, ..Process::default() };
        for one in &self.processes {
            total.bytes += one.bytes;
            total.latency.add(&one.latency);
        }
        total
    }
}

/// Does one run.
pub(super) fn conduct(
    plan: &Plan,
    site: &Site,
    parts: &[Part],
    progress: &mut Progress,
) -> Result<Vec<Measured>, Stop> {
    let clock = Instant::now();
    let mut lanes = lanes(plan, parts);
    let processes = lanes.last().map_or(0, |lane| lane.slots.end);
    let board = Board::new(parts.len(), processes)
        .map_err(|error| format!("no memory to share between {processes} processes: {error}"))?;
    let workers = workers(plan, site, &board, clock, &lanes);
    let mut crew = Crew::start(&board, &workers)?;
    lead(&mut lanes, &board, &mut crew, clock, progress)?;
    crew.finish()?;
    Ok(lanes.into_iter().flat_map(|lane| lane.measured).collect())
}

/// One for each process of each lane, in the order of their slots.
fn workers<'a>(
    plan: &'a Plan,
    site: &'a Site,
    board: &'a Board,
    clock: Instant,
    lanes: &[Lane<'a>],
) -> Vec<Worker<'a>> {
    let mut workers = Vec::new();
    for lane in lanes {
        let Part { application, steps, .. } = lane.part;
        let (application, gate) = (*application, lane.number);
        for (rank, slot) in (0..).zip(lane.slots.clone()) {
            workers.push(Worker { plan, site, board, clock, steps, application, gate, rank, slot });
        }
    }
    workers
}

/// Until all have done everything, somebody failed, or the user wants the end.
fn lead(
    lanes: &mut [Lane<'_>],
    board: &Board,
    crew: &mut Crew<'_>,
    clock: Instant,
    progress: &mut Progress,
) -> Result<(), Stop> {
    // When everybody was ready: start times count from here.
    let mut zero: Option<Duration> = None;
    while !lanes.iter().all(Lane::is_done) && !board.is_stopped() && crew.watch() {
        if interrupt::came() {
            return Err(Stop::Interrupted);
        }
        let events = board.events();
        let now = clock.elapsed();
        if zero.is_none() && lanes.iter().all(|lane| lane.is_ready_to_start(board)) {
            zero = Some(now);
        }
        let waits = lanes.iter_mut().map(|lane| lane.advance(board, zero, now));
        let wait = waits.min().unwrap_or(TICK).min(TICK);
        progress.show(|| moved(lanes, board));
        board.wait(events, wait);
    }
    // Whoever had ended before that was seen has arrived too.
    for lane in lanes {
        lane.advance(board, zero, clock.elapsed());
    }
    if interrupt::came() { Err(Stop::Interrupted) } else { Ok(()) }
}

/// Bytes moved so far, and by whom doing what.
fn moved(lanes: &[Lane<'_>], board: &Board) -> (u64, String) {
    let slots = lanes.iter().flat_map(|lane| lane.slots.clone());
    let bytes = slots.map(|slot| board.slot(slot).moved.load(Relaxed)).sum();
    let doing = lanes.iter().filter_map(Lane::doing).collect::<Vec<_>>().join(", ");
    (bytes, doing)
}

/// Where an application stands.
struct Lane<'a> {
    number: usize,
    name: &'a str,
    part: &'a Part,
    request: u64,
    slots: Range<usize>,
    /// Gates opened so far; each step has two, see the worker.
    opened: u32,
    /// When the last one was.
    released: Duration,
    measured: Vec<Measured>,
}

fn lanes<'a>(plan: &'a Plan, parts: &'a [Part]) -> Vec<Lane<'a>> {
    let mut first = 0;
    let lane = |(number, part): (usize, &'a Part)| {
        let application = &plan.applications[part.application];
        let slots = first..first + application.shape.processes() as usize;
        first = slots.end;
        Lane {
            number,
            name: &application.name,
            part,
            request: application.shape.request(),
            slots,
            opened: 0,
            released: Duration::ZERO,
            measured: Vec::new(),
        }
    };
    parts.iter().enumerate().map(lane).collect()
}

impl Lane<'_> {
    /// Whether all of its processes have their files open and wait for the first step to begin.
    fn is_ready_to_start(&self, board: &Board) -> bool {
        self.opened > 0 && self.have_reached(board, 2)
    }

    /// Whether all gates were opened and what came behind the last one is taken down.
    fn is_done(&self) -> bool {
        self.opened as usize > 2 * self.part.steps.len()
    }

    fn have_reached(&self, board: &Board, gates: u32) -> bool {
        self.slots.clone().all(|slot| board.arrived(slot) >= gates)
    }

    /// Opens the next gate if it is time; otherwise how long to wait for that.
    fn advance(&mut self, board: &Board, zero: Option<Duration>, now: Duration) -> Duration {
        if self.is_done() || !self.have_reached(board, self.opened + 1) {
            return Duration::MAX;
        }
        if self.opened == 1 {
            match zero.map(|zero| zero + self.part.start) {
                None => return Duration::MAX,
                Some(start) if now < start => return start - now,
                Some(_) => {}
            }
        }
        if self.opened > 0 && self.opened.is_multiple_of(2) {
            self.take_down(board, self.opened as usize / 2 - 1);
        }
        self.opened += 1;
        if !self.is_done() {
            self.released = now;
            board.open(self.number);
        }
        Duration::MAX
    }

    /// Notes what the processes did in a step that is over.
    fn take_down(&mut self, board: &Board, step: usize) {
        let released = self.released.as_nanos() as u64;
        let task = self.part.steps[step].task;
        let slots = self.slots.clone().map(|number| board.slot(number));
        let (mut first, mut last) = (u64::MAX, 0);
        let mut processes = Vec::with_capacity(self.slots.len());
        for slot in slots {
            let (begin, end) = (slot.begin.load(Relaxed), slot.end.load(Relaxed));
            (first, last) = (first.min(begin), last.max(end));
            let latency = slot.latency.take();
            let bytes = latency.count() * self.request;
            processes.push(Process { io_ns: end.saturating_sub(begin), bytes, latency });
        }
        if task.is_measured() {
            let (makespan, io) = (last.saturating_sub(released), last.saturating_sub(first));
            self.add(task, makespan, io, processes);
        }
    }

    /// Periods of the same kind are one result.
    fn add(&mut self, task: Task, makespan: u64, io: u64, processes: Vec<Process>) {
        match self.measured.last_mut().filter(|last| last.operation == task.name()) {
            Some(last) => {
                last.makespan_ns += makespan;
                last.io_ns += io;
                for (sum, more) in last.processes.iter_mut().zip(&processes) {
                    sum.io_ns += more.io_ns;
                    sum.bytes += more.bytes;
                    sum.latency.add(&more.latency);
                }
            }
            None => self.measured.push(Measured {
                application: self.part.application,
                operation: task.name(),
                makespan_ns: makespan,
                io_ns: io,
                processes,
            }),
        }
    }

    fn doing(&self) -> Option<String> {
        let step = self.part.steps.get((self.opened.checked_sub(1)? / 2) as usize)?;
        Some(format!("{} {}", self.name, step.task.name()))
    }
}

/// How often the progress is shown and the processes are looked after.
const TICK: Duration = Duration::from_millis(100);
