//! `iofwd top`: an agent live in a terminal: servers with windows moving over them, queues, jobs.

mod history;
mod keys;
mod screen;
mod table;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::watch::{WatchArguments, Watched};
use super::{Failure, say};

use history::History;
use keys::{Command, View};

pub(super) const EXAMPLES: &str = "Example:
  iofwd top /mnt/project
  iofwd top --key-file /etc/iofwd/key ion1:7040
  iofwd top --once unix:/run/iofwd/agent.sock > frame.txt

Keys: s sort by the next column, r the other way round, / filter by name, TAB servers, jobs or
files, e the next export, p pause, q leave. Each server's line shows its last minute, and where its
window is.";

#[derive(Debug, Args)]
pub(super) struct TopArguments {
    #[command(flatten)]
    watch: WatchArguments,
    /// Look so often
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = crate::quantity::span)]
    every: iofwd_scheduler::time::Span,
    /// Print one frame of 80 by 24 letters, and end
    #[arg(long)]
    once: bool,
}

pub(super) fn run(arguments: &TopArguments) -> Result<ExitCode, Failure> {
    let watched = arguments.watch.find()?;
    let every = Duration::from_nanos(arguments.every.as_nanos()).clamp(QUICKEST, SLOWEST);
    let mut history = History::new(watched.look()?);
    let mut view = View::new(arguments.watch.shown());
    if arguments.once {
        std::thread::sleep(every);
        history.add(watched.look()?);
        say(&frame(&history, &mut view)?);
        return Ok(ExitCode::SUCCESS);
    }
    if !std::io::stdout().is_terminal() {
        return Err("this is no terminal: use iofwd top --once, or iofwd status".into());
    }
    let mut terminal = ratatui::init();
    let result = live(&mut terminal, &watched, every, &mut history, &mut view);
    ratatui::restore();
    result.map(|()| ExitCode::SUCCESS)
}

/// Draw, look, and follow the keys until it is enough.
fn live(
    terminal: &mut ratatui::DefaultTerminal,
    watched: &Watched,
    every: Duration,
    history: &mut History,
    view: &mut View,
) -> Result<(), Failure> {
    let explain = |error: std::io::Error| format!("cannot use the terminal: {error}");
    let mut due = Instant::now() + every;
    loop {
        terminal.draw(|frame| screen::draw(frame, history, view)).map_err(explain)?;
        let patience = due.saturating_duration_since(Instant::now());
        if event::poll(patience).map_err(explain)? {
            if let Event::Key(key) = event::read().map_err(explain)?
                && key.kind == KeyEventKind::Press
                && view.press(key, history) == Command::Leave
            {
                return Ok(());
            }
            continue;
        }
        due = Instant::now() + every;
        match watched.look() {
            Ok(seen) if !view.paused => history.add(seen),
            Ok(_) => {}
            // It may come back; what was seen last stays on the screen.
            Err(failure) => history.lose(failure),
        }
    }
}

/// A frame as text.
fn frame(history: &History, view: &mut View) -> Result<String, Failure> {
    let explain = |error| format!("cannot draw: {error}");
    let mut terminal = Terminal::new(TestBackend::new(WIDTH, HEIGHT)).map_err(explain)?;
    terminal.draw(|frame| screen::draw(frame, history, view)).map_err(explain)?;
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let letters = (0..WIDTH).map(|x| buffer[(x, y)].symbol());
        letters.collect::<String>().trim_end().to_owned()
    };
    Ok((0..HEIGHT).map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned())
}

/// The terminal of old, which everything must fit.
const WIDTH: u16 = 80;
const HEIGHT: u16 = 24;
/// Looking is cheap, but not for nothing.
const QUICKEST: Duration = Duration::from_millis(100);
const SLOWEST: Duration = Duration::from_secs(60);
