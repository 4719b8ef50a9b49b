//! One frame: what is wrong, the agent in two lines, where the windows are, a list, the keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line as Text;
use ratatui::widgets::Paragraph;

use crate::telemetry::show;
use crate::telemetry::snapshot::{Export, Snapshot, Window};

use super::history::History;
use super::keys::View;
use super::table::{self, Table};

/// Draw a frame.
pub(super) fn draw(frame: &mut Frame<'_>, history: &History, view: &mut View) {
    let problems = history.problems();
    let wrong = problems.len().clamp(1, PROBLEMS) as u16;
    let export = history.export(view.export);
    let windows = u16::from(export.is_some_and(|export| export.window.is_some())) * 2;
    let [top, agent, window, list, bottom] = Layout::vertical([
        Constraint::Length(wrong),
        Constraint::Length(3),
        Constraint::Length(windows),
        Constraint::Min(2),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_problems(frame, top, &problems, view);
    draw_agent(frame, agent, history.now(), export);
    if let Some(export) = export {
        if let Some(now) = export.window {
            draw_windows(frame, window, now);
        }
        let table = table::build(history, export, view, list.width as usize);
        draw_table(frame, list, &table, view);
    }
    draw_keys(frame, bottom, view);
}

fn draw_problems(frame: &mut Frame<'_>, area: Rect, problems: &[String], view: &View) {
    let lines: Vec<Text<'_>> = if problems.is_empty() {
        let paused = if view.paused { "  (paused)" } else { "" };
        let well = format!("{}: well{paused}", view.place);
        vec![Text::styled(well, Style::new().fg(Color::Green))]
    } else {
        let red = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        problems.iter().take(PROBLEMS).map(|what| Text::styled(format!("! {what}"), red)).collect()
    };
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_agent(frame: &mut Frame<'_>, area: Rect, now: &Snapshot, export: Option<&Export>) {
    let mut who =
        format!("iofwd {} on {}, up {}", now.version, now.host, show::time(now.uptime_ns));
    if let Some(service) = &now.service {
        who +=
            &format!(", {} clients, {} held", service.clients, show::bytes(service.memory_bytes));
    }
    if let Some(client) = &now.client {
        who += &format!(", client of {}", client.agent);
    }
    let mut lines = vec![Text::raw(who)];
    if let Some(export) = export {
        let name = if export.name.is_empty() { "mount" } else { &export.name };
        let queued: u64 = export.servers.iter().map(|server| server.queued).sum();
        let out: u64 = export.servers.iter().map(|server| server.in_flight).sum();
        lines.push(Text::raw(format!(
            "{name}: policy {}, depth {}, {queued} queued, {out} out, {} files open",
            export.policy, export.depth, export.open_files
        )));
        let sizes = export.levels.iter().map(|level| show::bytes(level.size()));
        let sizes: Vec<String> = sizes.collect();
        lines.push(Text::raw(format!("request sizes, clients to servers: {}", sizes.join(" → "))));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The windows to come, from the one that is now: which servers each covers.
fn draw_windows(frame: &mut Frame<'_>, area: Rect, now: Window) {
    let groups = now.groups.max(1);
    let each = 4;
    let fit = (area.width as usize).saturating_sub(9) / each;
    let group = |ahead: u32| (now.turn + now.agent + ahead) % groups;
    let name = |group: u32| match now.size {
        0 | 1 => group.to_string(),
        size => format!("{}+", group * size),
    };
    let cells: String =
        (0..groups.min(fit as u32)).map(|ahead| format!("{:^each$}", name(group(ahead)))).collect();
    let title = format!(
        "windows of {}, {} in a round, agent {} of {}; this agent serves server",
        show::time(now.length_ns),
        groups,
        now.agent + 1,
        now.agents.max(1)
    );
    let marked = format!("now ▶ {cells}");
    let lines = vec![Text::raw(title), Text::styled(marked, Style::new().fg(Color::Cyan))];
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, table: &Table, view: &mut View) {
    let height = (area.height as usize).saturating_sub(1);
    view.scroll = view.scroll.min(table.lines.len().saturating_sub(height));
    let head = Style::new().add_modifier(Modifier::REVERSED);
    let width = area.width as usize;
    let mut lines = vec![Text::styled(format!("{:<width$}", table.head), head)];
    for line in table.lines.iter().skip(view.scroll).take(height) {
        let style = if line.is_served { Style::new().fg(Color::Cyan) } else { Style::new() };
        lines.push(Text::styled(line.text.clone(), style));
    }
    if table.lines.is_empty() {
        lines.push(Text::raw(match view.filter.is_empty() {
            true => " nothing yet".to_owned(),
            false => format!(" nothing has '{}' in its name", view.filter),
        }));
    }
    frame.render_widget(Paragraph::new(lines), area);
    let columns = table.columns;
    view.sort %= columns.len();
    view.sorted_by = columns[view.sort];
}

fn draw_keys(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let text = if view.typing || !view.filter.is_empty() {
        format!("filter: {}{}", view.filter, if view.typing { "_" } else { "   (Esc: all)" })
    } else {
        format!(
            "q leave  TAB servers/jobs/files  s sort ({})  r reverse  / filter  e export  p pause",
            view.sorted_by
        )
    };
    frame.render_widget(Paragraph::new(text).style(Style::new().fg(Color::DarkGray)), area);
}

/// Lines for what is wrong, at most.
const PROBLEMS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::snapshot::{Job, Server};
    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    fn busy(uptime: u64) -> Snapshot {
        let server = |number: u64| Server {
            name: format!("ost{number}"),
            queued: 10 * number,
            bytes_read: uptime * number * (1 << 20),
            in_flight: number,
            ..Server::default()
        };
        let window =
            Window { length_ns: 1_000_000, turn: 2, groups: 4, size: 1, ..Window::default() };
        let export = Export {
            policy: "twins".into(),
            window: Some(window),
            servers: (0..4).map(server).collect(),
            jobs: vec![Job { name: "4711".into(), bytes_read: 99, ..Job::default() }],
            ..Export::default()
        };
        let uptime_ns = uptime * 1_000_000_000;
        Snapshot { uptime_ns, exports: vec![export], ..Snapshot::default() }
    }

    fn shown(history: &History, view: &mut View) -> String {
        super::super::frame(history, view).unwrap()
    }

    #[test]
    fn a_frame_shows_servers_windows_and_rates() {
        let mut history = History::new(busy(10));
        history.add(busy(11));
        let mut view = View::new("/mnt".into());
        let text = shown(&history, &mut view);
        assert!(text.starts_with("/mnt: well"), "{text}");
        assert!(text.contains("now ▶  2   3   0   1"), "{text}");
        assert!(text.contains("▶  2 ost2"), "{text}");
        assert!(text.contains("3.00MiB/s"), "{text}");
        assert!(text.lines().count() <= 24 && text.lines().all(|l| l.chars().count() <= 80));
    }

    #[test]
    fn keys_sort_filter_and_turn_to_jobs() {
        let history = History::new(busy(10));
        let mut view = View::new("/mnt".into());
        let place = |text: &str, name: &str| text.find(name).unwrap_or_else(|| panic!("{text}"));
        let text = shown(&history, &mut view);
        assert!(place(&text, "ost0") < place(&text, "ost3"));
        view.press(KeyEvent::from(KeyCode::Char('s')), &history);
        let text = shown(&history, &mut view);
        assert!(place(&text, "ost3") < place(&text, "ost0") && text.contains("sort (queued)"));
        view.filter = "ost1".into();
        let text = shown(&history, &mut view);
        assert!(text.contains("ost1") && !text.contains("ost2"), "{text}");
        view.filter.clear();
        view.press(KeyEvent::from(KeyCode::Tab), &history);
        assert!(shown(&history, &mut view).contains("4711"));
    }

    #[test]
    fn what_is_wrong_is_on_top() {
        let mut history = History::new(busy(10));
        history.lose("the agent is gone".into());
        let text = shown(&history, &mut View::new("/mnt".into()));
        assert!(text.starts_with("! the agent is gone"), "{text}");
    }
}
