//! The lists: lines of text with what they are sorted by.

use crate::telemetry::show;
use crate::telemetry::snapshot::Export;

use super::history::History;
use super::keys::{List, View};

/// A list as it is shown: a head, and lines.
pub(super) struct Table {
    pub(super) head: String,
    /// Names of the columns that it can be sorted by.
    pub(super) columns: &'static [&'static str],
    pub(super) lines: Vec<Line>,
}

/// One line.
pub(super) struct Line {
    name: String,
    pub(super) text: String,
    /// What the columns are sorted by; names and numbers ascending, amounts the largest first.
    keys: Vec<f64>,
    /// Whether the window of this agent is here.
    pub(super) is_served: bool,
}

/// The list that the view asks for, filtered and sorted.
pub(super) fn build(history: &History, export: &Export, view: &View, width: usize) -> Table {
    let mut table = match view.list {
        List::Servers => servers(history, export, width),
        List::Jobs => jobs(history, export, width),
        List::Files => files(history, export, width),
    };
    table.lines.retain(|line| line.name.contains(&view.filter));
    let column = view.sort % table.columns.len();
    table.lines.sort_by(|a, b| b.keys[column].total_cmp(&a.keys[column]));
    if view.reversed {
        table.lines.reverse();
    }
    table
}

fn servers(history: &History, export: &Export, width: usize) -> Table {
    let spark = width.saturating_sub(SERVER_COLUMNS).min(60);
    let lines = export.servers.iter().enumerate().map(|(number, server)| {
        let change = history.change(export, number);
        let is_served = export.window.is_some_and(|window| window.covers(number));
        let wait = if change.wait.count > 0 { &change.wait } else { &server.wait };
        let service = if change.service.count > 0 { &change.service } else { &server.service };
        let text = format!(
            "{}{:>3} {:<9.9} {:>6} {:>4} {:>10} {:>7} {:>7} {:>4.1} {:>4} {}",
            if is_served { '▶' } else { ' ' },
            number,
            server.name,
            show::count(server.queued as f64),
            server.in_flight,
            show::rate(change.rate()).replace(' ', ""),
            show::time(wait.quantile(990)).replace(' ', ""),
            show::time(service.quantile(990)).replace(' ', ""),
            change.merged,
            show::share(change.idle).replace(' ', ""),
            sparkline(&history.rates(export, number), spark)
        );
        let keys = vec![
            -(number as f64),
            server.queued as f64,
            change.rate(),
            wait.quantile(990) as f64,
            service.quantile(990) as f64,
            change.idle,
        ];
        Line { name: format!("{number} {}", server.name), text, keys, is_served }
    });
    Table {
        head: "   # server    queued  out       rate  wait99  serv99 merg idle last minute".into(),
        columns: &["number", "queued", "rate", "wait99", "serv99", "idle"],
        lines: lines.collect(),
    }
}

fn jobs(history: &History, export: &Export, width: usize) -> Table {
    let name_width = width.saturating_sub(JOB_COLUMNS).clamp(8, 40);
    let lines = export.jobs.iter().map(|job| {
        let moved = job.bytes_read + job.bytes_written;
        let rate = history.rate(moved, |before| {
            let exports = before.exports.iter().filter(|other| other.name == export.name);
            let earlier = exports.flat_map(|other| &other.jobs).find(|old| old.name == job.name)?;
            Some(earlier.bytes_read + earlier.bytes_written)
        });
        let text = format!(
            " {:<name_width$.name_width$} {:>6} {:>8} {:>10} {:>10} {:>10} {:>6}",
            job.name,
            job.queued,
            show::count(job.requests as f64),
            show::bytes(job.bytes_read),
            show::bytes(job.bytes_written),
            show::rate(rate).replace(' ', ""),
            job.failed
        );
        let keys = vec![rate, moved as f64, job.queued as f64, job.requests as f64];
        Line { name: job.name.clone(), text, keys, is_served: false }
    });
    let head = format!(
        " {:<name_width$} {:>6} {:>8} {:>10} {:>10} {:>10} {:>6}",
        "job", "queued", "requests", "read", "written", "rate", "failed"
    );
    Table { head, columns: &["rate", "moved", "queued", "requests"], lines: lines.collect() }
}

fn files(history: &History, export: &Export, width: usize) -> Table {
    let name_width = width.saturating_sub(FILE_COLUMNS).max(8);
    let lines = export.files.iter().map(|file| {
        let moved = file.bytes_read + file.bytes_written;
        let rate = history.rate(moved, |before| {
            let exports = before.exports.iter().filter(|other| other.name == export.name);
            let earlier = exports.flat_map(|other| &other.files).find(|f| f.name == file.name)?;
            Some(earlier.bytes_read + earlier.bytes_written)
        });
        let letters: Vec<char> = file.name.chars().collect();
        let end: String = letters[letters.len().saturating_sub(name_width)..].iter().collect();
        let text = format!(
            " {end:<name_width$} {:>8} {:>10} {:>10} {:>10}",
            show::count(file.requests as f64),
            show::bytes(file.bytes_read),
            show::bytes(file.bytes_written),
            show::rate(rate).replace(' ', "")
        );
        let keys = vec![rate, moved as f64, file.requests as f64];
        Line { name: file.name.clone(), text, keys, is_served: false }
    });
    let head = format!(
        " {:<name_width$} {:>8} {:>10} {:>10} {:>10}",
        "file", "requests", "read", "written", "rate"
    );
    Table { head, columns: &["rate", "moved", "requests"], lines: lines.collect() }
}

/// Rates as blocks of eight heights, the newest at the right.
fn sparkline(rates: &[u64], width: usize) -> String {
    let shown = &rates[rates.len().saturating_sub(width)..];
    let most = shown.iter().copied().max().unwrap_or(0).max(1);
    let block = |rate: &u64| match (*rate as u128 * 8).div_ceil(most as u128) {
        0 => ' ',
        height => BLOCKS[(height as usize - 1).min(7)],
    };
    shown.iter().map(block).collect()
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Letters of a line beside what grows with the terminal.
const SERVER_COLUMNS: usize = 66;
const JOB_COLUMNS: usize = 57;
const FILE_COLUMNS: usize = 43;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_has_the_newest_at_the_right_and_nothing_for_nothing() {
        assert_eq!(sparkline(&[9, 0, 1, 4, 8], 4), " ▁▄█");
        assert_eq!(sparkline(&[], 4), "");
        assert_eq!(sparkline(&[0, 0], 4), "  ");
    }
}
