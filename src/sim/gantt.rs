//! A picture of who used which server when: a row for each sender, time to the right, a bar for each
//! message while the server had it, coloured by server. One look shows what windows do.

use iofwd_scheduler::sim::{Bar, Report, run};
use iofwd_scheduler::time::{Span, Time};

use crate::quantity::show_span;

use super::drawing::{Anchor, Colour, Drawing, Place};
use super::spec::{Case, Spec};

/// The part of a run that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// From when on.
    pub from: Span,
    /// How much.
    pub length: Span,
}

/// The picture of every case of a spec, one below the other.
pub fn of_spec(spec: &Spec, section: Section) -> Result<Drawing, String> {
    let mut pictures = Vec::new();
    for case in spec.cases()? {
        let mut scenario = spec.scenario(&case, 0)?;
        scenario.timeline = true;
        let report = run(&scenario).map_err(|error| error.to_string())?;
        pictures.push(of_report(&report, &title(&case), section));
    }
    Ok(stacked(pictures))
}

/// The picture of one run.
pub fn of_report(report: &Report, title: &str, section: Section) -> Drawing {
    let from = Time::ZERO + section.from;
    let until = from + section.length;
    let shown: Vec<&Bar> =
        report.timeline.iter().filter(|bar| bar.done > from && bar.begun < until).collect();
    let mut senders: Vec<u32> = shown.iter().map(|bar| bar.sender).collect();
    senders.sort_unstable();
    senders.dedup();
    let hidden = senders.len().saturating_sub(ROWS);
    senders.truncate(ROWS);
    let servers = report.servers.len();
    let lanes = servers.min(LANES) as f32;
    let row = (lanes * LANE).max(16.0) + 8.0;
    let mut drawing = Drawing::new(WIDTH, TOP + row * senders.len() as f32 + BOTTOM);
    drawing.heading(Place::at(LEFT, 18.0), title);
    legend(&mut drawing, servers, hidden);
    let scale = (WIDTH - LEFT - RIGHT) / section.length.as_nanos() as f32;
    for (index, sender) in senders.iter().enumerate() {
        let top = TOP + row * index as f32;
        let name = Place::at(LEFT - 8.0, top + row / 2.0 + 2.0);
        drawing.text(name, &format!("agent {sender}"), Anchor::End, Colour::GREY);
        let line = [Place::at(LEFT, top + row - 3.0), Place::at(WIDTH - RIGHT, top + row - 3.0)];
        drawing.line(&line, Colour::FAINT, 1.0);
        for bar in shown.iter().filter(|bar| bar.sender == *sender) {
            let begin = bar.begun.max(from).since(from).as_nanos() as f32 * scale;
            let end = bar.done.min(until).since(from).as_nanos() as f32 * scale;
            let lane = bar.server.index() % LANES;
            let at = Place::at(LEFT + begin, top + lane as f32 * LANE);
            let hint = hint(bar);
            let size = ((end - begin).max(0.8), LANE - 1.0);
            drawing.rectangle(at, size, Colour::of(bar.server.index()), &hint);
        }
    }
    axis(&mut drawing, section, TOP + row * senders.len() as f32);
    drawing
}

/// Pictures one below the other.
pub fn stacked(pictures: Vec<Drawing>) -> Drawing {
    let height = pictures.iter().map(|one| one.height).sum();
    let mut whole = Drawing::new(WIDTH, height);
    let mut y = 0.0;
    for picture in pictures {
        let next = picture.height;
        whole.add(Place::at(0.0, y), picture);
        y += next;
    }
    whole
}

fn title(case: &Case) -> String {
    let load = case.load();
    let window = match case.scheduler.window {
        Some(window) => format!(", windows of {}", show_span(window)),
        None => String::new(),
    };
    let name = &case.scheduler.name;
    format!("{name}{window}: {} {} of {}", load.pattern, load.operation, load.request)
}

fn hint(bar: &Bar) -> String {
    let milliseconds = |time: Time| time.as_nanos() as f64 / 1e6;
    format!(
        "server {}, {} requests, {} bytes, {:.3} to {:.3} ms",
        bar.server.0,
        bar.members,
        bar.bytes,
        milliseconds(bar.begun),
        milliseconds(bar.done)
    )
}

fn legend(drawing: &mut Drawing, servers: usize, hidden: usize) {
    for server in 0..servers.min(8) {
        let x = LEFT + server as f32 * 82.0;
        drawing.rectangle(Place::at(x, 29.0), (12.0, 12.0), Colour::of(server), "");
        let name = Place::at(x + 17.0, 39.0);
        drawing.text(name, &format!("server {server}"), Anchor::Start, Colour::GREY);
    }
    if hidden > 0 {
        let at = Place::at(WIDTH - RIGHT, 39.0);
        drawing.text(at, &format!("{hidden} more senders not shown"), Anchor::End, Colour::GREY);
    }
}

fn axis(drawing: &mut Drawing, section: Section, bottom: f32) {
    let width = WIDTH - LEFT - RIGHT;
    for tick in 0..=TICKS {
        let x = LEFT + width * tick as f32 / TICKS as f32;
        let grid = [Place::at(x, TOP - 4.0), Place::at(x, bottom + 4.0)];
        drawing.dashes(&grid, Colour::FAINT, 1.0);
        let part = section.length.as_nanos() * tick / TICKS;
        let at = (section.from + Span::from_nanos(part)).as_nanos() as f64 / 1e6;
        let label = Place::at(x, bottom + 19.0);
        drawing.text(label, &format!("{at}"), Anchor::Middle, Colour::GREY);
    }
    let middle = Place::at(LEFT + width / 2.0, bottom + 37.0);
    drawing.text(
        middle,
        "time (ms); a bar: the server works on a message",
        Anchor::Middle,
        Colour::GREY,
    );
}

const WIDTH: f32 = 960.0;
const LEFT: f32 = 76.0;
const RIGHT: f32 = 24.0;
const TOP: f32 = 54.0;
const BOTTOM: f32 = 48.0;
const LANE: f32 = 9.0;
/// Servers that have a lane of their own in a row; more share them.
const LANES: usize = 8;
/// Senders that are shown.
const ROWS: usize = 64;
const TICKS: u64 = 8;
