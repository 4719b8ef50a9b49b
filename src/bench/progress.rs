//! A line on the terminal that says how far everything is, how fast, and how long it will take.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The line; nothing is shown where nobody watches.
pub(super) struct Progress {
    line: Option<Line>,
}

struct Line {
    total: u64,
    /// Bytes of the runs that are over.
    before: u64,
    run: String,
    started: Instant,
    shown: Instant,
    recent: Rate,
}

impl Progress {
    /// For so many bytes in all.
    pub(super) fn new(total: u64) -> Progress {
        let now = Instant::now();
        let line = || Line {
            total,
            before: 0,
            run: String::new(),
            started: now,
            shown: now,
            recent: Rate::default(),
        };
        Progress { line: std::io::stderr().is_terminal().then(line) }
    }

    /// The next run begins.
    pub(super) fn begin(&mut self, run: &str) {
        if let Some(line) = &mut self.line {
            line.run = run.into();
            line.recent = Rate::default();
            line.recent.note(line.started.elapsed(), 0);
        }
    }

    /// A run is over that moved so many bytes.
    pub(super) fn end(&mut self, bytes: u64) {
        if let Some(line) = &mut self.line {
            line.before += bytes;
        }
    }

    /// Shows the bytes moved in this run and what is being done.
    pub(super) fn show(&mut self, state: impl FnOnce() -> (u64, String)) {
        let now = Instant::now();
        if let Some(line) = self.line.as_mut().filter(|line| now - line.shown >= INTERVAL) {
            line.shown = now;
            let (moved, doing) = state();
            line.recent.note(now - line.started, moved);
            let mut text = text(line, now - line.started, moved, &doing);
            // A line that the terminal breaks could not be written over.
            text.truncate(WIDTH);
            // That a terminal cannot be written to is not what this is about.
            let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.line.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn text(line: &Line, elapsed: Duration, moved: u64, doing: &str) -> String {
    let done = line.before + moved;
    let share = if line.total == 0 { 1.0 } else { (done as f64 / line.total as f64).min(1.0) };
    let filled = (share * BAR as f64) as usize;
    let left = remaining(elapsed, share).map_or("?".into(), clock_time);
    format!(
        "[{}{}] {:3.0} %  {:.0} MiB/s  {left} left  {} {doing}",
        "#".repeat(filled),
        "-".repeat(BAR - filled),
        share * 100.0,
        line.recent.per_second() / f64::from(1 << 20),
        line.run
    )
}

/// As long again as it took so far, in proportion.
fn remaining(elapsed: Duration, share: f64) -> Option<Duration> {
    let total = (share > 0.0).then(|| elapsed.as_secs_f64() / share)?;
    Duration::try_from_secs_f64((total - elapsed.as_secs_f64()).max(0.0)).ok()
}

fn clock_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// Bytes a second over the last moments.
#[derive(Default)]
struct Rate {
    seen: std::collections::VecDeque<(Duration, u64)>,
}

impl Rate {
    fn note(&mut self, time: Duration, bytes: u64) {
        self.seen.push_back((time, bytes));
        while self.seen.len() > SAMPLES {
            self.seen.pop_front();
        }
    }

    fn per_second(&self) -> f64 {
        let (Some(first), Some(last)) = (self.seen.front(), self.seen.back()) else { return 0.0 };
        let time = (last.0 - first.0).as_secs_f64();
        if time > 0.0 { last.1.saturating_sub(first.1) as f64 / time } else { 0.0 }
    }
}

const INTERVAL: Duration = Duration::from_millis(200);
const SAMPLES: usize = 10;
const BAR: usize = 24;
const WIDTH: usize = 79;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_share_rate_and_rest() {
        let now = Instant::now();
        let mut line = Line {
            total: 400 << 20,
            before: 60 << 20,
            run: "2/4 fifo".into(),
            started: now,
            shown: now,
            recent: Rate::default(),
        };
        line.recent.note(Duration::from_secs(8), 20 << 20);
        line.recent.note(Duration::from_secs(10), 40 << 20);
        let text = text(&line, Duration::from_secs(25), 40 << 20, "A write");
        assert_eq!(text, "[######------------------]  25 %  10 MiB/s  1:15 left  2/4 fifo A write");
    }

    #[test]
    fn nothing_is_known_before_something_is_done() {
        assert_eq!(remaining(Duration::from_secs(3), 0.0), None);
        assert_eq!(Rate::default().per_second(), 0.0);
        assert_eq!(clock_time(Duration::from_secs(3_725)), "1:02:05");
    }
}
